"""Priors over structures that are products over parent sets: a term for each candidate.

With such a prior the network of the largest sum of score and term is the most probable one, and
sums over all networks stay what they are. ``uniform``: all DAGs are equally likely. ``fair``: each
number of parents is, ``1 / C(n - 1, k)`` for a parent set of ``k`` (Friedman and Koller 2003,
"Being Bayesian about network structure", equation 10). Beliefs: each listed arc is there with its
probability, before acyclicity is asked for, and all other arcs with one half (Heckerman, Geiger and
Chickering 1995; Castelo and Siebes 2000, "Priors on network structures"). A price for size is a
prior, too: one that falls by a factor of ``exp(-weight)`` for each cell of a network's tables.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb, log
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.offsets import owners
from exactlearn._runtime.variable_arguments import arcs_by_index
from exactlearn.errors import OptionError
from exactlearn.solvers.problem import Problem

Prior = Literal["uniform", "fair"] | Mapping[tuple[Any, Any], float] | Any
"""A prior over structures: its name, or probabilities of arcs (parent, child)."""

PRIORS = ("uniform", "fair")
"""The priors that have a name."""

COLUMNS = ["parent", "child", "probability"]
"""Columns of a frame of beliefs."""


@dataclass(frozen=True)
class SizePrior:
    """A prior that falls with the size of a network: ``P(G) exp(-weight cells(G))``.

    Parameters
    ----------
    weight
        Price of a cell in nats. The table of a family has a cell for each state of the child and
        each configuration of its parents.
    cardinalities
        Number of states of each variable.
    base
        The prior ``P`` that is multiplied.
    """

    weight: float
    cardinalities: tuple[int, ...]
    base: Prior = "uniform"


def family_cells(
    problem: Problem, cardinalities: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the number of cells of each candidate's table, shape (m,)."""
    states = np.asarray(cardinalities, np.float64)
    cells = states[problem.child]
    np.multiply.at(cells, owners(problem.member_first), states[problem.members])
    return cells


def priced(prior: Prior, weight: float, cardinalities: Iterable[int]) -> Prior:
    """Return a prior with a price for each cell; the prior itself where the price is 0."""
    if weight == 0:
        return prior
    return SizePrior(weight, tuple(map(int, cardinalities)), prior)


def is_uniform(prior: Any) -> bool:
    """Return whether a prior is the uniform one."""
    return isinstance(prior, str) and prior == "uniform"


def prefers_subsets(prior: Any) -> bool:
    """Return whether no parent set is preferred to its subsets, so that dominated ones may leave.

    Such are the uniform prior, and it with a price: a superset has more cells.
    """
    return is_uniform(prior.base if isinstance(prior, SizePrior) else prior)


def prior_in_words(prior: Any) -> str:
    """Return a remark on scores that hold the logarithm of a prior; empty for the uniform one."""
    if is_uniform(prior):
        return ""
    if not isinstance(prior, SizePrior):
        return "score and bound hold the logarithm of the prior"
    price = f"status, score, bound and gap hold a price of {prior.weight:g} a cell"
    return f"{prior_in_words(prior.base)}; {price}".removeprefix("; ")


def with_prior(problem: Problem, prior: Any) -> Problem:
    """Return a problem whose scores hold the logarithm of a prior, up to a constant.

    Parameters
    ----------
    problem
        The problem. All parent sets must be candidates that the prior might prefer.
    prior
        ``uniform``, ``fair``, a mapping of arcs (parent, child) to probabilities, or a frame with
        the columns ``parent``, ``child`` and ``probability``.

    Raises
    ------
    ArgumentError, OptionError
        When the prior is none of these, or a probability is not between 0 and 1.

    Examples
    --------
    >>> problem = Problem.from_candidates("ab", [{(): 0.0, (1,): 0.0}, {(): 0.0}])
    >>> with_prior(problem, {("b", "a"): 0.8}).scores.round(3).tolist()
    [-1.609, -0.223, 0.0]
    """
    return replace(problem, scores=problem.scores + log_prior(problem, prior))


def log_prior(problem: Problem, prior: Any) -> NDArray[np.float64]:
    """Return the logarithm of a prior for each candidate, shape (m,), up to a constant each."""
    if isinstance(prior, SizePrior):
        cells = family_cells(problem, prior.cardinalities)
        return log_prior(problem, prior.base) - prior.weight * cells
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise refusal("prior", f"one of {', '.join(PRIORS)}, or beliefs", prior)
        if is_uniform(prior):
            return np.zeros(problem.n_candidates)
        return _fair(problem)
    return _of_beliefs(problem, beliefs(prior, problem.names))


def _fair(problem: Problem) -> NDArray[np.float64]:
    """Return ``-log C(n - 1, k)`` for each candidate with ``k`` parents."""
    n_others = max(problem.n_variables - 1, 0)
    by_size = [-log(comb(n_others, k)) for k in range(n_others + 1)]
    return np.array(by_size)[np.diff(problem.member_first)]


def _of_beliefs(
    problem: Problem, probabilities: Mapping[tuple[int, int], float]
) -> NDArray[np.float64]:
    """Return the logarithm of the probability of each candidate's arcs and missing arcs."""
    n = problem.n_variables
    present = np.zeros((n, n))
    absent = np.zeros((n, n))
    for arc, probability in probabilities.items():
        present[arc] = np.log(probability)
        absent[arc] = np.log1p(-probability)
    row = owners(problem.member_first)
    change = (present - absent)[problem.members, problem.child[row]]
    terms: NDArray[np.float64] = absent.sum(axis=0)[problem.child]
    return terms + np.bincount(row, change, problem.n_candidates)


def beliefs(value: Any, names: tuple[str, ...]) -> dict[tuple[int, int], float]:
    """Return the probability of each listed arc, by index.

    Raises
    ------
    ArgumentError
        When ``value`` is neither a mapping of arcs nor a frame of the right columns.
    OptionError
        When an arc is none of the variables, is listed twice, or has no probability between 0 and
        1.
    """
    # Two forms of the same list: arcs and their probabilities.
    if isinstance(value, Mapping):
        arcs = list(value)
        probabilities = list(value.values())
    elif set(COLUMNS) <= set(getattr(value, "columns", ())):
        arcs = list(zip(value["parent"], value["child"], strict=True))
        probabilities = value["probability"].tolist()
    else:
        expected = "probabilities of arcs, or a frame with the columns " + ", ".join(
            COLUMNS
        )
        raise refusal("prior", expected, value, "pass {('smoke', 'lung'): 0.8}, say")
    by_index = arcs_by_index(arcs, "prior", names)
    # A probability of 0 or 1 would be a constraint, with an infinite logarithm.
    for (parent, child), probability in zip(by_index, probabilities, strict=True):
        if not 0.0 < float(probability) < 1.0:
            raise OptionError(
                f"prior: arc {names[parent]} -> {names[child]} has the probability"
                f" {probability!r}; expected a number between 0 and 1: require or forbid the arc"
                " where it is certain"
            )
    if len(set(by_index)) < len(by_index):
        raise OptionError("prior: an arc is listed twice; keep one of the two rows")
    return dict(zip(by_index, map(float, probabilities), strict=True))
