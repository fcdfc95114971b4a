"""The public names, each with the module that it lives in; they are loaded on first use."""

from typing import TYPE_CHECKING

__version__: str

if TYPE_CHECKING:  # imports of lower rank: the modules import this package
    from exactlearn import augmentation as augmentation
    from exactlearn import graphs as graphs
    from exactlearn import queries as queries
    from exactlearn.augmentation.augment import augment as augment
    from exactlearn.augmentation.exact import best_solutions as best_solutions
    from exactlearn.bayesnet.complete_data import fit_complete as fit_complete
    from exactlearn.bayesnet.component_growth import (
        learn_naive_bayes as learn_naive_bayes,
    )
    from exactlearn.bayesnet.deletion import fit_deletion as fit_deletion
    from exactlearn.bayesnet.em import fit_em as fit_em
    from exactlearn.bayesnet.graph_deletion import (
        fit_by_missingness_graph as fit_by_missingness_graph,
    )
    from exactlearn.bayesnet.naive_bayes import NaiveBayes as NaiveBayes
    from exactlearn.bayesnet.naive_bayes import fit_naive_bayes as fit_naive_bayes
    from exactlearn.bayesnet.network import BayesianNetwork as BayesianNetwork
    from exactlearn.bayesnet.recoverability import recoverability as recoverability
    from exactlearn.bayesnet.row_completion import (
        most_probable_completion as most_probable_completion,
    )
    from exactlearn.bayesnet.smoothing_choice import (
        choose_smoothing as choose_smoothing,
    )
    from exactlearn.commands.report import report as report
    from exactlearn.data.dataset import Dataset as Dataset
    from exactlearn.data.discretisation import discretise as discretise
    from exactlearn.data.missingness import hide as hide
    from exactlearn.data.missingness import simulate_missingness as simulate_missingness
    from exactlearn.data.missingness_graph import MissingnessGraph as MissingnessGraph
    from exactlearn.errors import ExactlearnError as ExactlearnError
    from exactlearn.evaluation.bootstrap import bootstrap as bootstrap
    from exactlearn.evaluation.cross_validation import cross_validate as cross_validate
    from exactlearn.evaluation.metrics import draw_rows as draw_rows
    from exactlearn.evaluation.metrics import effective_size as effective_size
    from exactlearn.evaluation.sl_curves import sl_curves as sl_curves
    from exactlearn.formats.graph_file import read_graph as read_graph
    from exactlearn.formats.graph_file import write_graph as write_graph
    from exactlearn.formats.models import read_model as read_model
    from exactlearn.formats.models import read_network as read_network
    from exactlearn.formats.models import write_model as write_model
    from exactlearn.formats.scores import read_scores as read_scores
    from exactlearn.formats.scores import write_scores as write_scores
    from exactlearn.formats.table import read_dataset as read_dataset
    from exactlearn.formats.table import write_dataset as write_dataset
    from exactlearn.formats.table_blocks import read_blocks as read_blocks
    from exactlearn.graphs.equivalence import NamedGraph as NamedGraph
    from exactlearn.imputation import Imputer as Imputer
    from exactlearn.imputation import Learning as Learning
    from exactlearn.imputation.methods import impute as impute
    from exactlearn.pdg.compile.compile import compile_network as compile_network
    from exactlearn.pdg.compile.unmerged import unmerged_graph as unmerged_graph
    from exactlearn.pdg.learn.direct import learn_direct as learn_direct
    from exactlearn.pdg.learn.hybrid import smallest_as_likely as smallest_as_likely
    from exactlearn.pdg.learn.methods import learn_pdg as learn_pdg
    from exactlearn.pdg.learn.parameters import refine as refine
    from exactlearn.pdg.learn.structural_em import (
        structural_em_graph as structural_em_graph,
    )
    from exactlearn.pdg.learn.structure_search import learn_on_forest as learn_on_forest
    from exactlearn.pdg.model.decision_graph import DecisionGraph as DecisionGraph
    from exactlearn.pdg.model.node_functions import to_network as to_network
    from exactlearn.queries.explanations import (
        most_probable_explanations as most_probable_explanations,
    )
    from exactlearn.queries.independences import independences as independences
    from exactlearn.queries.information import kl_divergence as kl_divergence
    from exactlearn.queries.posteriors import classify as classify
    from exactlearn.queries.posteriors import query as query
    from exactlearn.queries.posteriors import query_rows as query_rows
    from exactlearn.scoring.candidates import (
        candidate_parent_sets as candidate_parent_sets,
    )
    from exactlearn.scoring.scores import AIC as AIC
    from exactlearn.scoring.scores import BIC as BIC
    from exactlearn.scoring.scores import BDeu as BDeu
    from exactlearn.scoring.scores import PenalisedLikelihood as PenalisedLikelihood
    from exactlearn.scoring.scores import Score as Score
    from exactlearn.scoring.scores import score_family as score_family
    from exactlearn.scoring.sparse_candidates import (
        sparse_candidates as sparse_candidates,
    )
    from exactlearn.solvers import Problem as Problem
    from exactlearn.solvers import solve as solve
    from exactlearn.solvers.enumeration import enumerate_networks as enumerate_networks
    from exactlearn.structure.equivalence_search import (
        equivalence_search as equivalence_search,
    )
    from exactlearn.structure.ess_choice import choose_ess as choose_ess
    from exactlearn.structure.learned_counts import learned_counts as learned_counts
    from exactlearn.structure.learning import learn as learn
    from exactlearn.structure.posterior import posterior as posterior
    from exactlearn.structure.structural_em import structural_em as structural_em
