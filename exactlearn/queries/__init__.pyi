"""The public names, each with the module that it lives in; they are loaded on first use."""

from exactlearn.queries.explanations import most_probable_states as most_probable_states
from exactlearn.queries.information import entropy as entropy
from exactlearn.queries.information import mutual_information as mutual_information
from exactlearn.queries.interventions import mutilated_network as mutilated_network
from exactlearn.queries.posteriors import joint_posterior as joint_posterior
