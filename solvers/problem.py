"""The problem of parent-set selection.

Choose one candidate parent set for each variable so that the chosen arcs form no directed cycle
and the sum of the chosen scores is maximal (Bartlett and Cussens 2017, "Integer linear programming
for the Bayesian network structure learning problem").
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import as_names, instance_of, refusal
from exactlearn._runtime.arguments import checked_arguments, named, register
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.offsets import offsets, owners
from exactlearn._runtime.variable_arguments import ArcsLike, parent_set
from exactlearn.errors import InfeasibleError, OptionError
from exactlearn.graphs.dag import topological_order

from .constraints import (
    Constraint,
    MaxParents,
    constraints_by_index,
    minimal_conflict,
    ruled_out_arcs,
    validate,
)

_HOW = "make a problem with Problem.from_candidates(names, tables)"

LARGEST_TOTAL = 1e300
"""Largest sum of the sizes of all variables' scores: sums and differences of some stay finite."""

Arc = tuple[int, int]
"""An arc ``(parent, child)`` of variable indices."""

Requirement = tuple[str, Arc | Constraint]
"""One constraint: its kind (``required``, ``forbidden``, ``constraint``), and what it is about."""


def _as_name_list(value: Any, name: str) -> list[str]:
    """Return a list of names; of a text, each of its letters is one."""
    return as_names(list(value) if isinstance(value, str) else value, name)


def _as_tables(value: Any, name: str) -> list[Any]:
    """Return a mapping of parent set to score for each variable."""
    is_list = isinstance(value, Iterable) and not isinstance(value, str | Mapping)
    tables = list(value) if is_list else [value]
    for table in tables:
        if not is_list or not isinstance(table, Mapping):
            expected = "a mapping of parent sets to scores for each variable"
            raise refusal(
                name, expected, table, "pass [{(): -2.0, (1,): -1.0}, {(): -3.0}], say"
            )
    return tables


def _sorted_parents(parents: Iterable[int], names: Sequence[str]) -> tuple[int, ...]:
    """Return a parent set as increasing indices."""
    return tuple(sorted(set(parent_set(parents, "candidates", names))))


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Problem(
    ByValue,
    shown="n_variables n_candidates required forbidden constraints stopped",
):
    """Candidate parent sets with their scores, and the constraints.

    All candidates stand in one table sorted by variable: the candidates of variable ``i`` are the
    rows ``first[i]:first[i + 1]``, and the parents of row ``c`` are
    ``members[member_first[c]:member_first[c + 1]]``, in increasing order.

    Parameters
    ----------
    names
        Variable names, all different.
    first
        Where each variable's candidates begin, shape (n + 1,).
    scores
        Score of each candidate, to be maximised, shape (m,). All finite.
    member_first, members
        The parents of each candidate, shapes (m + 1,) and (total,).
    required, forbidden
        Arcs that every solution must, or must not, have. Candidates that break them may still be
        listed: :attr:`allowed` holds which remain.
    constraints
        What else every solution must satisfy (:mod:`exactlearn.solvers.constraints`).
    complete
        Whether every parent set that could be optimal is among the candidates; if not, an optimum
        is one over the candidates only.
    stopped
        How far scoring came when a limit or Ctrl-C stopped it, in words; empty otherwise.

    Raises
    ------
    OptionError
        When the arrays do not fit each other.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> problem = el.candidate_parent_sets(table, "bdeu", max_parents=2, required=[(2, 3)])
    >>> problem
    Problem(variables=8, candidates=53, required=1)
    >>> problem.n_variables, problem.n_candidates, problem.is_feasible
    (8, 53, True)
    """

    names: tuple[str, ...] = ()
    first: NDArray[np.int64] = field(default_factory=lambda: np.zeros(1, np.int64))
    scores: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    member_first: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros(1, np.int64)
    )
    members: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    required: frozenset[Arc] = frozenset()
    forbidden: frozenset[Arc] = frozenset()
    constraints: tuple[Constraint, ...] = ()
    complete: bool = True
    stopped: str = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> "Problem":
        """Refuse candidates in place of their arrays."""
        if args:
            raise refusal("names", "the arrays by keyword", args[0], _HOW)
        return super().__new__(cls)

    def __post_init__(self) -> None:  # noqa: D105
        self._validate()

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.names)

    @property
    def n_candidates(self) -> int:
        """Number of candidates of all variables together."""
        return len(self.scores)

    @cached_property
    def child(self) -> NDArray[np.int32]:
        """Variable that each candidate belongs to, shape (m,).

        Examples
        --------
        >>> problem = Problem.from_candidates(["a", "b"], [{(): -2.0, (1,): -1.0}, {(): -3.0}])
        >>> problem.child.tolist()
        [0, 0, 1]
        """
        return np.repeat(
            np.arange(self.n_variables, dtype=np.int32), np.diff(self.first)
        )

    def parent_set(self, candidate: int) -> tuple[int, ...]:
        """Return the parents of one candidate, in increasing order.

        Examples
        --------
        >>> problem = Problem.from_candidates(["a", "b"], [{(): -2.0, (1,): -1.0}, {(): -3.0}])
        >>> problem.parent_set(1)
        (1,)
        """
        return tuple(
            self.members[
                self.member_first[candidate] : self.member_first[candidate + 1]
            ].tolist()
        )

    def parent_sets(self, selection: NDArray[np.int64]) -> tuple[tuple[int, ...], ...]:
        """Return the parents of each variable, of one candidate for each.

        Examples
        --------
        >>> problem = Problem.from_candidates(["a", "b"], [{(): -2.0, (1,): -1.0}, {(): -3.0}])
        >>> problem.parent_sets(np.array([1, 2]))
        ((1,), ())
        """
        return tuple(map(self.parent_set, selection.tolist()))

    def candidates(self, variable: int) -> Iterator[tuple[tuple[int, ...], float]]:
        """Yield the parent sets of a variable with their scores.

        Examples
        --------
        >>> problem = Problem.from_candidates(["a", "b"], [{(): -2.0, (1,): -1.0}, {(): -3.0}])
        >>> list(problem.candidates(0))
        [((), -2.0), ((1,), -1.0)]
        """
        for c in range(self.first[variable], self.first[variable + 1]):
            yield self.parent_set(c), float(self.scores[c])

    @cached_property
    def allowed(self) -> NDArray[np.bool_]:
        """Which candidates respect what can be judged one candidate at a time, shape (m,).

        These are the required and forbidden arcs, those that other constraints rule out at once,
        and the largest numbers of parents.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> Problem.from_candidates(["a", "b"], sets, forbidden=[(1, 0)]).allowed.tolist()
        [True, False, True]
        """
        n = self.n_variables
        m = self.n_candidates
        ruled_out = ruled_out_arcs(self.forbidden, self.constraints)
        # the arcs of all candidates, against those ruled out and those required
        owner = owners(self.member_first)
        arcs = self.members.astype(np.int64) * n + self.child[owner]
        forbidden = np.array([p * n + c for p, c in ruled_out], np.int64)
        required = np.array([p * n + c for p, c in self.required], np.int64)
        # a forbidden arc, or fewer required ones than the child has
        broken = np.bincount(owner[np.isin(arcs, forbidden)], minlength=m) > 0
        kept = np.bincount(owner[np.isin(arcs, required)], minlength=m)
        n_required = np.bincount(required % max(n, 1), minlength=n)
        allowed: NDArray[np.bool_] = ~broken & (kept == n_required[self.child])
        # the largest numbers of parents
        for c in self.constraints:
            if isinstance(c, MaxParents):
                allowed &= (self.child != c.variable) | (
                    np.diff(self.member_first) <= c.most
                )
        return allowed

    @cached_property
    def best(self) -> NDArray[np.float64]:
        """Score of each variable's best allowed candidate, 0 where it has none, shape (n,).

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> Problem.from_candidates(["a", "b"], sets).best.tolist()
        [-1.0, -3.0]
        """
        best = np.full(self.n_variables, -np.inf)
        np.maximum.at(best, self.child[self.allowed], self.scores[self.allowed])
        return np.where(best > -np.inf, best, 0.0)

    @cached_property
    def relative(self) -> "Problem":
        """The problem with scores relative to :attr:`best`, which are losses with a minus sign.

        Engines solve it in place of the problem: numbers are small, whatever a variable's scores
        have in common, and floating point takes the difference of two near ones exactly (Sterbenz
        1974).

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> Problem.from_candidates(["a", "b"], sets).relative.scores.tolist()
        [-1.0, 0.0, 0.0]
        """
        return replace(self, scores=self.scores - self.best[self.child])

    @cached_property
    def offset(self) -> float:
        """Sum of :attr:`best`: what scores of the relative problem are short of.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> Problem.from_candidates(["a", "b"], sets).offset
        -4.0
        """
        return fsum(self.best.tolist())

    def total(self, parents: Sequence[Sequence[int]]) -> float:
        """Return the score of a network; ``-inf`` where a parent set is no allowed candidate.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> Problem.from_candidates(["a", "b"], sets).total([(1,), ()])
        -4.0
        """
        return fsum(self.family_scores(parents).tolist())

    def family_scores(self, parents: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """Return the best score among the allowed candidates that are each parent set, shape (n,).

        It is ``-inf`` where none is.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> Problem.from_candidates(["a", "b"], sets).family_scores([(), (0,)]).tolist()
        [-2.0, -inf]
        """
        return np.append(self.scores, -np.inf)[self.selection(parents)]

    def selection(self, parents: Sequence[Sequence[int]]) -> NDArray[np.int64]:
        """Return the best allowed candidate that is each parent set, shape (n,).

        It is -1 where none is.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> Problem.from_candidates(["a", "b"], sets).selection([(1,), (0,)]).tolist()
        [1, -1]
        """
        n = self.n_variables
        is_parent = np.zeros((n, n), np.bool_)
        for child, members in enumerate(parents):
            is_parent[child, list(members)] = True
        sizes = np.diff(self.member_first)
        row = owners(self.member_first)
        # a candidate is the parent set if all its members are, and as many
        held = is_parent[self.child[row], self.members]
        inside = np.bincount(row, held, self.n_candidates)
        is_same = (inside == sizes) & (sizes == is_parent.sum(axis=1)[self.child])
        # of equal candidates the best is entered last
        rows = np.flatnonzero(is_same & self.allowed)
        rows = rows[np.argsort(self.scores[rows], kind="stable")]
        selection = np.full(n, -1)
        selection[self.child[rows]] = rows
        return selection

    def sum_by_arc(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the values of the candidates with each arc [parent, child], (n, n).

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> problem = Problem.from_candidates(["a", "b"], sets)
        >>> problem.sum_by_arc(np.array([0.2, 0.8, 1.0])).tolist()
        [[0.0, 0.0], [0.8, 0.0]]
        """
        n = self.n_variables
        row = owners(self.member_first)
        arcs = self.members.astype(np.int64) * n + self.child[row]
        sums = np.zeros(n * n)
        np.add.at(sums, arcs, values[row])
        return sums.reshape(n, n)

    def by_parent_set(
        self, variable: int, values: NDArray[np.float64]
    ) -> dict[tuple[int, ...], float]:
        """Return the values of a variable's candidates by their parents.

        Examples
        --------
        >>> problem = Problem.from_candidates(["a", "b"], [{(): -2.0, (1,): -1.0}, {(): -3.0}])
        >>> problem.by_parent_set(0, np.array([0.2, 0.8, 1.0]))
        {(): 0.2, (1,): 0.8}
        """
        candidates = range(self.first[variable], self.first[variable + 1])
        return {self.parent_set(c): float(values[c]) for c in candidates}

    @property
    def overall_constraints(self) -> tuple[Constraint, ...]:
        """The constraints that :attr:`allowed` does not settle: they concern the whole network.

        Examples
        --------
        >>> sets = [{(): -2.0}, {(): -3.0}]
        >>> problem = Problem.from_candidates(["a", "b"], sets, forbidden=[(1, 0)])
        >>> problem.overall_constraints  # ``allowed`` settles arcs
        ()
        """
        return tuple(c for c in self.constraints if not c.is_local)

    def violations(self, parents: Sequence[Sequence[int]]) -> list[str]:
        """Return the constraints that a network violates, each in words.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> problem = Problem.from_candidates(["a", "b"], sets, forbidden=[(1, 0)])
        >>> problem.violations([(1,), ()])
        ['forbidden b -> a']
        """
        missing = [a for a in sorted(self.required) if a[0] not in parents[a[1]]]
        present = [a for a in sorted(self.forbidden) if a[0] in parents[a[1]]]
        broken = [
            c.describe(self.names)
            for c in self.constraints
            if c.clause(parents) is not None
        ]
        return [
            *(f"required {self.names[p]} -> {self.names[c]}" for p, c in missing),
            *(f"forbidden {self.names[p]} -> {self.names[c]}" for p, c in present),
            *broken,
        ]

    def select(self, keep: NDArray[np.bool_]) -> "Problem":
        """Return the problem with only the candidates where ``keep`` is true.

        Examples
        --------
        >>> problem = Problem.from_candidates(["a", "b"], [{(): -2.0, (1,): -1.0}, {(): -3.0}])
        >>> problem.select(problem.scores > -2.5).n_candidates
        2
        """
        counts = np.bincount(self.child[keep], minlength=self.n_variables)
        return replace(
            self,
            first=offsets(counts),
            scores=self.scores[keep],
            member_first=offsets(np.diff(self.member_first)[keep]),
            members=self.members[np.repeat(keep, np.diff(self.member_first))],
        )

    @classmethod
    @checked_arguments(
        candidates=_as_tables,
        constraints=named(constraints_by_index),
        names=_as_name_list,
    )
    def from_candidates(
        cls,
        names: Sequence[str],
        candidates: Sequence[Mapping[Iterable[int], float]],
        *,
        required: ArcsLike = (),
        forbidden: ArcsLike = (),
        constraints: Iterable[Constraint] = (),
    ) -> "Problem":
        """Build a problem from one mapping of parent set to score for each variable.

        Variables are given by their names or their indices; in parent sets an integer is always an
        index, as in the ``parents`` of results.

        Examples
        --------
        >>> Problem.from_candidates(["a", "b"], [{(): -2.0, (1,): -1.0}, {(): -3.0}]).n_candidates
        3
        """
        families: list[tuple[int, ...]] = []
        scores: list[float] = []
        for name, table in zip(names, candidates, strict=False):
            sets = [_sorted_parents(parents, names) for parents in table]
            if len(set(sets)) < len(sets):
                raise OptionError(
                    f"variable {name!r} has a parent set twice; keep one of the two"
                )
            families += sets
            scores += table.values()
        return cls(
            names=tuple(names),
            first=offsets(list(map(len, candidates))),
            scores=np.array(scores, np.float64),
            member_first=offsets(list(map(len, families))),
            members=np.fromiter(chain.from_iterable(families), np.int32),
            required=frozenset(required),
            forbidden=frozenset(forbidden),
            constraints=tuple(constraints),
        )

    def require_feasible(self) -> None:
        """Raise :class:`InfeasibleError`, naming the constraints, when no network is allowed.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0, (0,): -1.0}]
        >>> problem = Problem.from_candidates(["a", "b"], sets, required=[(0, 1), (1, 0)])
        >>> try:
        ...     problem.require_feasible()
        ... except InfeasibleError as error:
        ...     print(error)
        required arcs: the parents hold the directed cycle a -> b -> a, expected none: remove one of
        its arcs
        """
        if not self.is_feasible:
            raise InfeasibleError(self.conflict_message())

    def placing_order(self) -> NDArray[np.int64] | None:
        """Return an order in which each variable has an allowed candidate among those before it.

        Variables that have a candidate inside the set placed so far are placed, until all are;
        ``None`` when that ends before.

        Examples
        --------
        >>> problem = Problem.from_candidates(["a", "b"], [{(1,): -1.0}, {(): -3.0}])
        >>> problem.placing_order().tolist()
        [1, 0]
        """
        allowed = self.allowed
        placed = np.zeros(self.n_variables, np.bool_)
        order = [np.zeros(0, np.int64)]
        sizes = np.diff(self.member_first)
        owner = owners(self.member_first)
        while not placed.all():
            # candidates with all their parents placed
            inside = np.bincount(
                owner, weights=placed[self.members], minlength=self.n_candidates
            )
            ready = allowed & (inside == sizes)
            new = placed.copy()
            new[self.child[ready]] = True
            if (new == placed).all():
                return None
            order.append(np.flatnonzero(new & ~placed))
            placed = new
        return np.concatenate(order)

    def conflict_message(self) -> str:
        """Name a smallest set of constraints that excludes every network.

        Of constraints on the whole network, only the arcs that they rule out at once count.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0, (0,): -1.0}]
        >>> problem = Problem.from_candidates(["a", "b"], sets, required=[(0, 1), (1, 0)])
        >>> problem.conflict_message().split(",")[0]
        'required arcs: the parents hold the directed cycle a -> b -> a'
        """
        required: list[list[int]] = [[] for _ in self.names]
        for parent, child in self.required:
            required[child].append(parent)
        try:
            topological_order(required, self.names)
        except OptionError as error:
            return f"required arcs: {error}"
        # no acyclic selection even without constraints
        if not self.constrained_by(()).is_feasible:
            return (
                "no acyclic choice of candidate parent sets exists, even without constraints: "
                "give every variable at least the empty parent set"
            )
        # a smallest part of the constraints that leaves nothing
        kept = minimal_conflict(
            self.requirements, lambda some: self.constrained_by(some).is_feasible
        )
        return self.describe_conflict(kept)

    @property
    def requirements(self) -> tuple["Requirement", ...]:
        """All constraints, one by one.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> Problem.from_candidates(["a", "b"], sets, forbidden=[(1, 0)]).requirements
        (('forbidden', (1, 0)),)
        """
        return (
            *(("required", arc) for arc in sorted(self.required)),
            *(("forbidden", arc) for arc in sorted(self.forbidden)),
            *(("constraint", constraint) for constraint in self.constraints),
        )

    def constrained_by(self, requirements: Sequence["Requirement"]) -> "Problem":
        """Return the problem with these constraints only.

        Examples
        --------
        >>> sets = [{(): -2.0, (1,): -1.0}, {(): -3.0}]
        >>> problem = Problem.from_candidates(["a", "b"], sets)
        >>> problem.constrained_by([("required", (1, 0))]).required
        frozenset({(1, 0)})
        """
        arcs: dict[str, list[Arc]] = {"required": [], "forbidden": []}
        constraints: list[Constraint] = []
        for kind, subject in requirements:
            if isinstance(subject, tuple):
                arcs[kind].append(subject)
            else:
                constraints.append(subject)
        return replace(
            self,
            required=frozenset(arcs["required"]),
            forbidden=frozenset(arcs["forbidden"]),
            constraints=tuple(constraints),
        )

    def describe_conflict(self, requirements: Sequence["Requirement"]) -> str:
        """Return the message that these constraints exclude every network.

        Examples
        --------
        >>> problem = Problem.from_candidates(["a", "b"], [{(): -2.0}, {(): -3.0}])
        >>> problem.describe_conflict([("required", (1, 0))]).split(";")[0]
        'no network satisfies these constraints together: required b -> a'
        """
        described = []
        for kind, subject in requirements:
            if isinstance(subject, tuple):
                parent, child = subject
                described.append(f"{kind} {self.names[parent]} -> {self.names[child]}")
            else:
                described.append(subject.describe(self.names))
        listed = ", ".join(described)
        return (
            f"no network satisfies these constraints together: {listed}; drop one of them, or "
            "allow more parents per variable"
        )

    @property
    def is_feasible(self) -> bool:
        """Whether the constraints leave an acyclic selection."""
        return self.placing_order() is not None

    def _validate(self) -> None:
        """Refuse arrays that do not fit each other, scores, arcs or constraints that cannot be."""
        n = self.n_variables
        m = self.n_candidates
        if len(set(self.names)) != n:
            raise OptionError("variable names must be all different")
        shapes_fit = (
            self.first.shape == (n + 1,)
            and self.member_first.shape == (m + 1,)
            and self.first[-1] == m
            and self.member_first[-1] == len(self.members)
        )
        if not shapes_fit:
            raise OptionError(
                f"the candidate arrays of the problem do not fit each other; {_HOW}"
            )
        self._validate_scores()
        self._validate_arcs()
        for constraint in self.constraints:
            validate(constraint, n)

    def _validate_scores(self) -> None:
        """Refuse scores that are not finite, or whose sums may not be."""
        if not np.isfinite(self.scores).all():
            c = int(np.flatnonzero(~np.isfinite(self.scores))[0])
            raise OptionError(
                f"candidate {c} of variable {self.names[self.child[c]]!r} has the score "
                f"{self.scores[c]}; scores must be finite: leave the candidate out instead"
            )
        sizes = np.zeros(self.n_variables)
        np.maximum.at(sizes, self.child, np.abs(self.scores))
        if (sizes / LARGEST_TOTAL).sum() > 1.0:
            v = int(np.argmax(sizes))
            raise OptionError(
                f"variable {self.names[v]!r} has scores of the size {sizes[v]:.3g}; totals over "
                f"all variables of more than {LARGEST_TOTAL:g} may overflow: divide all scores by "
                "a number, or leave out the candidates that are to be impossible"
            )

    def _validate_arcs(self) -> None:
        """Refuse parents, and arcs of constraints, that are no other variables of the problem."""
        n = self.n_variables
        if len(self.members) and (self.members.min() < 0 or self.members.max() >= n):
            raise OptionError("a parent is not a variable of the problem")
        owner = np.repeat(self.child, np.diff(self.member_first))
        if (owner == self.members).any():
            name = self.names[owner[owner == self.members][0]]
            raise OptionError(f"variable {name!r} has itself as a parent")
        for parent, child in self.required | self.forbidden:
            if not (0 <= parent < n and 0 <= child < n) or parent == child:
                raise OptionError(
                    f"the constraint on arc {parent} -> {child} names no arc"
                )


register(
    problem=instance_of(
        Problem,
        "a Problem",
        "make one with candidate_parent_sets(dataset, score) or Problem.from_candidates(names, "
        "tables), or read one with read_scores(path)",
    )
)
