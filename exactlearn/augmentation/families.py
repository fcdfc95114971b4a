"""Families: a child with one of its parent sets, those that rules allow or a problem lists.

Their scores are differences of sums over two sets of variables, which stand in
:mod:`exactlearn.scoring.incremental_tables`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.number_arguments import MAX_WHOLE
from exactlearn._runtime.offsets import offsets, owners
from exactlearn.scoring.incremental_tables import holders
from exactlearn.scoring.prior import Prior, log_prior
from exactlearn.scoring.set_tables import set_sizes
from exactlearn.scoring.terms import Functions, TermTables
from exactlearn.solvers.problem import Arc, Problem

Dag = tuple[tuple[int, ...], ...]
"""Parents of each variable."""


@dataclass(frozen=True)
class FamilyRules:
    """Which parent sets a variable may have.

    Parameters
    ----------
    max_parents
        Largest size of a parent set.
    required, forbidden
        Arcs (parent, child) that must, or must not, be there.
    prior
        Prior over networks, whose logarithm scores hold (:mod:`exactlearn.scoring.prior`).
    """

    max_parents: int
    required: frozenset[Arc] = frozenset()
    forbidden: frozenset[Arc] = frozenset()
    prior: Prior = "uniform"

    @classmethod
    def of(
        cls,
        max_parents: int | None,
        required: Iterable[Arc] = (),
        forbidden: Iterable[Arc] = (),
        prior: Prior = "uniform",
    ) -> "FamilyRules":
        """Build the rules from any iterables of arcs; ``None`` is no limit of the parents."""
        return cls(
            MAX_WHOLE if max_parents is None else max_parents,
            frozenset(required),
            frozenset(forbidden),
            prior,
        )


def parent_sets(n: int, child: int, max_parents: int) -> NDArray[np.int32]:
    """Return the parent sets of a child among ``n`` variables, by size, then lexicographically.

    One set a row in increasing order, padded with -1, shape (sets, largest size).
    """
    k = min(max_parents, n - 1)
    lists = [np.full((1, k), -1, np.int32)]
    for size in range(1, k + 1):
        flat = chain.from_iterable(combinations(range(n - 1), size))
        sets = np.fromiter(flat, np.int32).reshape(-1, size)
        sets += sets >= child
        lists.append(np.pad(sets, ((0, 0), (0, k - size)), constant_values=-1))
    return np.concatenate(lists)


@dataclass(frozen=True, eq=False)
class Families:
    """Some families, sorted by child.

    Parameters
    ----------
    names
        Names of the variables.
    child, members
        Child and parents of each, parents increasing and padded with -1, shapes (m,) and (m, most
        parents).
    prior
        Prior over networks.
    """

    names: tuple[str, ...]
    child: NDArray[np.int32]
    members: NDArray[np.int32]
    prior: Prior

    @classmethod
    def allowed(cls, names: tuple[str, ...], rules: FamilyRules) -> "Families":
        """Return all families that the rules allow."""
        n = len(names)
        lists = [parent_sets(n, child, rules.max_parents) for child in range(n)]
        children = np.repeat(np.arange(n, dtype=np.int32), list(map(len, lists)))
        families = cls(names, children, np.concatenate(lists), rules.prior)
        # without those that break a required or forbidden arc
        required = rules.required
        flat = replace(families.flat, required=required, forbidden=rules.forbidden)
        return families.take(flat.allowed)

    @classmethod
    def listed(cls, problem: Problem, prior: Prior = "uniform") -> "Families":
        """Return the families of a problem, those of a child in the order of their members."""
        sizes = np.diff(problem.member_first)
        width = int(sizes.max(initial=0))
        members = np.full((problem.n_candidates, width), -1, np.int32)
        owner = owners(problem.member_first)
        place = np.arange(len(owner)) - problem.member_first[owner]
        members[owner, place] = problem.members
        order = np.lexsort((*members.T[::-1], problem.child))
        return cls(problem.names, problem.child[order], members[order], prior)

    def __len__(self) -> int:  # noqa: D105
        return len(self.child)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Where each child's families begin, shape (n + 1,)."""
        return offsets(np.bincount(self.child, minlength=self.n_variables))

    @cached_property
    def has(self) -> NDArray[np.bool_]:
        """Which variables each family has, the child among them, shape (m, n)."""
        has = np.zeros((len(self), self.n_variables), np.bool_)
        has[np.arange(len(self)), self.child] = True
        row, column = np.nonzero(self.members >= 0)
        has[row, self.members[row, column]] = True
        return has

    @cached_property
    def flat(self) -> Problem:
        """The selection of one family for each variable, all scores being 0."""
        present = self.members >= 0
        return Problem(
            names=self.names,
            first=self.first,
            scores=np.zeros(len(self)),
            member_first=offsets(present.sum(axis=1)),
            members=self.members[present],
        )

    def take(self, keep: NDArray[np.bool_]) -> "Families":
        """Return some of the families, shape (m,)."""
        return replace(self, child=self.child[keep], members=self.members[keep])

    def problem(self, scores: NDArray[np.float64]) -> Problem:
        """Return the selection of one family for each variable, with their scores."""
        return replace(self.flat, scores=scores)

    def best(self, scores: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the first best family of each child, shape (n,)."""
        return np.array([a + scores[a:b].argmax() for a, b in pairwise(self.first)])


def network_problem(
    names: Sequence[str], parents: Sequence[Sequence[int]], **constraints: Any
) -> Problem:
    """Return the problem whose only candidates are the parent sets of a network, of score 0."""
    candidates: list[dict[Iterable[int], float]] = [{tuple(p): 0.0} for p in parents]
    return Problem.from_candidates(names, candidates, **constraints)


class FamilyTerms(NamedTuple):
    """Some families and what their scores are made of, see :mod:`exactlearn.scoring.terms`.

    Attributes
    ----------
    functions
        The functions of counts.
    cell, configuration, penalty
        The functions of a cell and of a configuration, and the penalty, less the logarithm of the
        prior, of each family, shape (m,).
    columns, size
        Each family's columns, child first, padded with -1, and how many, shapes (m, most) and (m,).
    """

    functions: Functions
    cell: NDArray[np.int64]
    configuration: NDArray[np.int64]
    penalty: NDArray[np.float64]
    columns: NDArray[np.int64]
    size: NDArray[np.int64]

    @classmethod
    def of(
        cls, families: Families, tables: TermTables, cardinalities: NDArray[np.int64]
    ) -> "FamilyTerms":
        """Tabulate the score of some families."""
        states = cardinalities[families.child]
        q = set_sizes(cardinalities, families.members)
        terms = tables.covering(np.unique(np.concatenate([q * states, q])))
        table, parents = np.searchsorted(terms.sizes, [q * states, q])
        columns = np.column_stack([families.child, families.members]).astype(np.int64)
        return cls(
            terms.functions,
            terms.function[table, terms.cell[states]],
            terms.function[parents, terms.configuration[states]],
            terms.penalty[table, states] - log_prior(families.flat, families.prior),
            columns,
            (columns >= 0).sum(axis=1),
        )

    def take(self, keep: NDArray[np.bool_]) -> "FamilyTerms":
        """Return the terms of some of the families."""
        arrays = self._asdict()
        del arrays["functions"]
        return self._replace(**{name: array[keep] for name, array in arrays.items()})


class SetFamilies(NamedTuple):
    """Families, sorted by child, as pairs of sets.

    Attributes
    ----------
    first
        Where each child's families begin, shape (variables + 1,).
    child, family, parents
        Each family's child, and the numbers of the sets of all its variables and of its parents,
        shape (families,).
    penalty
        The penalty of each family, shape (families,).
    holding_first, holding
        The families that hold each variable, shapes (variables + 1,) and (total,).
    """

    first: NDArray[np.int64]
    child: NDArray[np.int32]
    family: NDArray[np.int32]
    parents: NDArray[np.int32]
    penalty: NDArray[np.float64]
    holding_first: NDArray[np.int64]
    holding: NDArray[np.int32]


def paired_sets(
    families: Families, terms: FamilyTerms
) -> tuple[NDArray[np.int32], NDArray[np.int64], SetFamilies]:
    """Return the sets that some families need, and the families as pairs of them.

    Returns the sets, those with several functions several times, the function of each, and the
    families.
    """
    n = families.n_variables
    m, k = families.members.shape
    # the sets of parents, and those with the child, as rows in increasing order
    parents = np.pad(families.members, ((0, 0), (0, 1)), constant_values=-1)
    family = parents.copy()
    family[np.arange(m), (parents >= 0).sum(axis=1)] = families.child
    family[family < 0] = n
    family.sort(axis=1)
    family[family == n] = -1
    sets = np.concatenate([parents, family])
    function = np.concatenate([terms.configuration, terms.cell])
    # equal sets with equal functions are one; texts are sorted sooner than rows
    keys = np.column_stack([sets + 1, function]).astype(">i4")
    names = keys.view(f"S{4 * (k + 2)}").reshape(-1)
    _, first, number = np.unique(names, return_index=True, return_inverse=True)
    place = number.astype(np.int32)
    holding_first, holding, _ = holders(family, n)
    pairs = SetFamilies(
        families.first,
        families.child,
        place[m:],
        place[:m],
        terms.penalty,
        holding_first,
        holding,
    )
    return sets[first], function[first], pairs
