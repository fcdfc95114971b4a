"""Learners by name, for bootstraps and comparisons: each makes a model of a table.

A learner is a row of `LEARNERS`. All take missing cells, and end with the search that runs in
their thread.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pprint import pformat
from typing import Any

from exactlearn._runtime.control import SearchControl
from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.component_growth import learn_naive_bayes
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.naive_bayes import NaiveBayes
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset, varying_columns
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.pdg.learn.methods import learn_pdg
from exactlearn.pdg.learn.network_starts import chow_liu_tree
from exactlearn.pdg.model.decision_graph import DecisionGraph
from exactlearn.structure.learning import LearnedNetwork, learn

Learner = Callable[[Dataset], Any]
"""Makes a model, or a graph, of a table."""


def learn_exact(dataset: Dataset, **options: Any) -> LearnedNetwork:
    """Learn the network of the best score, by :func:`exactlearn.learn` with its options.

    A sample may have columns with one state alone, which are left out without a word.
    """
    usable, _ = varying_columns(dataset)
    return learn(usable, time_limit=SearchControl.within().remaining, **options)


def learn_chow_liu(dataset: Dataset) -> BayesianNetwork:
    """Learn the tree of Chow and Liu (1968): the most likely one, by mutual information."""
    return _fitted(dataset, chow_liu_tree(dataset))


def learn_independent(dataset: Dataset) -> BayesianNetwork:
    """Learn the network without arcs."""
    return _fitted(dataset, ((),) * dataset.n_variables)


def learn_mixture(dataset: Dataset, seed: int = 0) -> NaiveBayes:
    """Learn a naive Bayes model with a hidden class; BIC chooses the number of its states."""
    return learn_naive_bayes(dataset, seed=seed).model


def learn_graph(dataset: Dataset, seed: int = 0) -> DecisionGraph:
    """Learn a decision graph, by :func:`exactlearn.learn_pdg`."""
    return learn_pdg(dataset, seed=seed).graph


LEARNERS: Mapping[str, Learner] = {
    "exact": learn_exact,
    "bic": partial(learn_exact, score="bic"),
    "chow-liu": learn_chow_liu,
    "independent": learn_independent,
    "naive-bayes": learn_mixture,
    "pdg": learn_graph,
}


def named_learner(name: str) -> Learner:
    """Return the learner of a name.

    Raises
    ------
    OptionError
        When there is none.
    """
    if name not in LEARNERS:
        raise OptionError(
            f"no learner {name!r}{did_you_mean(name, LEARNERS)}; "
            "in Python a function of a table is one, too"
        )
    return LEARNERS[name]


def described(learner: Learner) -> str:
    """Return the name of a function, with the arguments that a partial one has."""
    if isinstance(learner, partial):
        more = pformat(learner.keywords, width=1, compact=True)  # sorts dictionaries and sets
        return f"{described(learner.func)} {learner.args!r} {more}"
    return f"{learner.__module__}.{getattr(learner, '__qualname__', repr(learner))}"


def _fitted(dataset: Dataset, parents: tuple[tuple[int, ...], ...]) -> BayesianNetwork:
    if dataset.is_complete:
        return fit_complete(dataset, parents)
    return fit_em(dataset, parents, time_limit=SearchControl.within().remaining).model
