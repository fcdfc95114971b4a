"""Search over Markov equivalence classes: GES and KES, the greedy and the k-greedy.

Both begin with the empty network and move to a class of the inclusion boundary that scores more,
until there is none (THESIS 4.3; Meek 1997; Chickering 2002, "Optimal structure identification with
greedy search"; Nielsen, Kočka and Peña 2003, "On local optima in learning Bayesian networks"):

- **GES in two phases** takes the Insert move that gains most until none gains anything, and then
  the Delete move.
- **GES in one phase**, that of the thesis, takes the best of both at each step.
- **KES(k)** (Alg. 4.3) draws ``max(1, floor(k |B|))`` of the set ``B`` of all classes in the
  boundary that score more (4.18), without replacement, and goes to the best of them; so ``k = 1``
  is GES in one phase, and ``k = 0`` a random walk uphill. It is started anew as often as wanted.

``B`` is enumerated exactly, each class once, instead of drawn by reversals of covered arcs until
enough of it has probably been met (Alg. 4.4, 4.30); so a search ends exactly where no class of the
boundary scores more.

An operator joins or parts ``x`` and ``y`` in the member of the class in which ``y`` has the other
parents ``P = Pa_y + C`` (:mod:`exactlearn.graphs.boundary`; docs/theory/equivalence.md): its gain
is ``V(P + x + y) - V(P + x) - V(P + y) + V(P)``, with V of :mod:`exactlearn.scoring.set_sums`, or
that with the other sign.

The gain of an operator depends on the surroundings of ``y`` and on the adjacencies between ``x``
and these: gains are computed anew only for pairs of which a step has changed some of that. Paths
are looked for at each step.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice, permutations
from math import inf
from typing import Literal, NamedTuple, get_args

import numpy as np

from exactlearn._runtime.argument_kinds import one_of
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import Event, OnEvent, SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.progress import counted
from exactlearn.augmentation.solutions import require_score
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    require_complete,
    require_weight,
)
from exactlearn.errors import OptionError
from exactlearn.graphs.boundary import ClassLinks, Operator, members
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.equivalence import Structured, consistent_extension, cpdag
from exactlearn.graphs.partially_directed import Parents, PartiallyDirectedGraph
from exactlearn.scoring.properties import Domain, is_equivalent
from exactlearn.scoring.scores import Score, ScoreLike, total_score
from exactlearn.scoring.set_sums import SetValues

MIN_GAIN = 1e-6
"""Least gain of a move, in nats, so that rounding makes none."""

ROWS_TO_LOOK = 2**26
"""About how many rows are counted between two looks at the clock."""

MIN_BATCH = 64
"""Fewest operators whose sets of variables are counted together."""

EquivalenceMethod = Literal["ges", "kes"]
EquivalenceStatus = Literal["heuristic", "feasible", "interrupted"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EquivalenceSearch(
    Structured, ByValue, shown="status method score classes starts=scores seconds"
):
    """The best class that a search found, and where every start ended.

    Parameters
    ----------
    parents
        A member of the best class; ``None`` when the limit came before any start ended.
    score
        Its score.
    status
        ``heuristic`` (every start ended where no move improves), ``feasible`` (a limit was reached)
        or ``interrupted``.
    method
        ``ges`` or ``kes``.
    classes
        The completed pattern of each class where starts ended, its score and their number, by
        falling score.
    scores, steps
        Score and number of moves of each start, in their order.
    sets
        Sets of variables counted, over all starts.
    seconds
        Wall time.
    trace
        Improvements over time as ``(seconds, score, inf)``.
    message
        How many starts were done, where a limit came before the others.
    names
        Names of the table's variables.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar-complete")
    >>> found = el.equivalence_search(table, "bdeu")
    >>> found.cpdag, len(found.classes)
    (NamedGraph(kind='cpdag', variables=5, edges=3), 1)
    >>> found.check(table, el.BDeu())
    """

    parents: Parents | None
    score: float
    status: EquivalenceStatus
    method: EquivalenceMethod
    classes: tuple[tuple[PartiallyDirectedGraph, float, int], ...] = field(repr=False)
    scores: tuple[float, ...] = field(repr=False)
    steps: tuple[int, ...] = field(repr=False)
    sets: int
    seconds: float = 0.0
    trace: tuple[tuple[float, float, float], ...] = field(default=(), repr=False)
    message: str = ""
    names: tuple[str, ...] = ()

    bound = inf
    """No bound on any score is proven."""
    gap = inf
    values = ()

    def check(self, dataset: Dataset, score: Score) -> None:
        """Recompute the score of the best class from the table, counted another way.

        Raises
        ------
        CheckError
            When it disagrees, or the arcs of the network close a cycle.
        """
        if self.parents is None:
            return
        topological_order(self.parents)
        require_score(self.score, dataset, self.parents, score, "network")


@checked_arguments(method=one_of(get_args(EquivalenceMethod)))
def equivalence_search(
    dataset: DatasetLike,
    score: ScoreLike,
    *,
    method: EquivalenceMethod = "ges",
    phases: int = 2,
    greediness: float = 0.8,
    restarts: int = 100,
    max_parents: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    on_event: OnEvent | None = None,
) -> EquivalenceSearch:
    """Search for the best Markov equivalence class by moves in the inclusion boundary.

    Parameters
    ----------
    dataset
        Complete data.
    score
        A score that is the same for equivalent networks, such as BDeu, BIC and AIC.
    method
        ``ges``, deterministic, or ``kes``.
    phases
        ``ges``: 2 to insert first and delete then, 1 to take the best move of both at each step.
    greediness
        ``kes``: share ``k`` of the improving classes that is drawn at each step, 0 to 1.
    restarts
        ``kes``: number of starts, from the same empty network with other draws.
    max_parents
        Most parents of the families that Insert moves score; equivalent networks may have more.
    time_limit
        Seconds; starts that have not ended then are left out, but for the first.
    seed
        Of the draws.
    on_event
        Called with each improvement and at a steady rate.

    Returns
    -------
    EquivalenceSearch
        Its best class is checked: the score is recomputed.

    Raises
    ------
    DataError
        When a cell is missing.
    OptionError
        When an option is out of range, or the score tells equivalent networks apart.

    Examples
    --------
    >>> import numpy as np
    >>> from exactlearn.scoring.scores import BIC
    >>> rows = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 0]] * 5)
    >>> found = equivalence_search(Dataset(rows, ("a", "b", "c"), (("n", "y"),) * 3), BIC())
    >>> found.status, found.cpdag.edges
    ('heuristic', (('a', 'b'),))
    """
    require_weight(dataset)
    require_complete(
        dataset,
        "a search over equivalence classes needs",
        "`augment`, `structural_em` and `candidate_parent_sets` with `counts` learn from missing "
        "cells",
    )
    if not is_equivalent(score, Domain.of(dataset.cardinalities, dataset.row_weights)):
        raise OptionError(
            f"score {score.name!r} tells Markov equivalent networks apart, so that a class has no "
            "score; use 'bdeu', 'bic', 'aic' or 'penalised', or search networks with solve()"
        )
    # A phase is a pair: whether arcs are inserted, and whether they are deleted.
    phases_of_moves = [(True, True)]
    if method == "ges" and phases == 2:
        phases_of_moves = [(True, False), (False, True)]
    # GES takes the best move; KES draws, so that only it gains by several starts.
    proportion = 1.0 if method == "ges" else float(greediness)
    limit = dataset.n_variables if max_parents is None else int(max_parents)
    search = _Search(
        SetValues(dataset, score),
        dataset.n_rows,
        [Rules(*moves, proportion, limit) for moves in phases_of_moves],
        total_score(dataset, ((),) * dataset.n_variables, score),
        seed,
    )
    control = SearchControl(time_limit, on_event)
    with control.running():
        result = search.run(method, 1 if method == "ges" else restarts, control)
    # The class is recomputed from the table, whatever the search has kept.
    result = replace(result, names=dataset.names)
    result.check(dataset, score)
    return result


class Rules(NamedTuple):
    """The moves of a climb.

    Attributes
    ----------
    inserts, deletes
        Which operators are looked at.
    proportion
        Proportion of the improving classes that is drawn at each step; the best of these is taken.
    max_parents
        Most parents of a family that an insertion scores.
    """

    inserts: bool
    deletes: bool
    proportion: float
    max_parents: int


class Move(NamedTuple):
    """An operator with its gain, and the sets of variables that this is computed from.

    The sets are the parents of the head alone, with the tail, with the head, and with both, as
    bits.
    """

    operator: Operator
    sets: tuple[int, int, int, int]
    gain: float = 0.0


class ClassClimb:
    """A class, and the improving operators of its boundary.

    Parameters
    ----------
    values
        The values of sets of variables.
    n_rows
        Rows of the table.

    Attributes
    ----------
    graph, parents
        The completed pattern of the class, and a member of it.
    gain
        Score of the class less that of the empty network.
    steps
        Number of operators applied.
    """

    def __init__(self, values: SetValues, n_rows: int) -> None:
        self._values = values
        self._batch = max(MIN_BATCH, ROWS_TO_LOOK // max(1, n_rows))
        self.graph = PartiallyDirectedGraph(values.n, frozenset(), frozenset())
        self.parents: Parents = ((),) * values.n
        self.gain = 0.0
        self.steps = 0
        self._links = ClassLinks(self.graph)
        # The improving moves of each pair, by head and tail.
        self._moves: list[dict[int, list[Move]]] = [{} for _ in range(values.n)]
        self._dirty = self._all_pairs()

    def run(
        self, rules: Rules, rng: np.random.Generator, control: SearchControl
    ) -> bool:
        """Apply operators until none improves; return whether that was reached."""
        self._dirty = self._all_pairs()
        while control.goes_on():
            if not self.find_moves(rules, control):
                return False
            move = self._draw(rules.proportion, rng)
            if move is None:
                return True
            self.apply(move)
        return False

    def _all_pairs(self) -> list[tuple[int, int]]:
        return [(x, y) for y, x in permutations(range(self._values.n), 2)]

    def find_moves(self, rules: Rules, control: SearchControl) -> bool:
        """Find the improving operators of all changed pairs; return whether there was time for it.

        Paths that block insertions are not looked for yet.
        """
        # The moves of changed pairs are out of date.
        for x, y in self._dirty:
            self._moves[y].pop(x, None)
        candidates = (
            move for x, y in self._dirty for move in self._operators(x, y, rules)
        )
        while batch := list(islice(candidates, self._batch)):
            # The values of all sets of a batch are counted together; the gain is a sum of four.
            self._values.count(members for move in batch for members in move.sets)
            for move in batch:
                x, y, _, inserts = move.operator
                apart, with_x, with_y, together = map(
                    self._values.known.__getitem__, move.sets
                )
                gain = together - with_x - with_y + apart
                if not inserts:
                    gain = -gain
                if gain > MIN_GAIN:
                    self._moves[y].setdefault(x, []).append(move._replace(gain=gain))
            if not control.goes_on():
                return False
        self._dirty = []
        return True

    def _operators(self, x: int, y: int, rules: Rules) -> Iterator[Move]:
        """Yield the operators of a pair, valid or not."""
        links = self._links
        inserts = not links.adjacent[x] >> y & 1
        if inserts:
            cliques = links.insertions(x, y) if rules.inserts else ()
        else:  # an undirected edge is looked at from one end
            leads = links.onward[x] >> y & 1 and (x < y or not links.onward[y] >> x & 1)
            cliques = links.deletions(x, y) if rules.deletes and leads else ()
        tail = 1 << x
        head = 1 << y
        for clique in cliques:
            parents = (links.parents[y] | clique) & ~tail
            if not inserts or parents.bit_count() < rules.max_parents:
                sets = (parents, parents | tail, parents | head, parents | tail | head)
                yield Move(Operator(x, y, clique, inserts), sets)

    def classes(self) -> Iterator[Move]:
        """Yield the operators to the improving classes, best first, each class once."""
        moves = chain.from_iterable(
            chain.from_iterable(tails.values()) for tails in self._moves
        )
        plain: set[tuple[int, int]] = set()
        # Best first: the paths that block an insertion take the time, one move after the other.
        for move in sorted(moves, key=lambda move: (-move.gain, move.operator)):
            x, y, clique, inserts = move.operator
            if inserts and not self._links.is_valid(x, y, clique):
                continue
            if inserts and self._links.is_plain(x, y, clique):
                if (y, x) in plain:  # which leads to the same class
                    continue
                plain.add((x, y))
            yield move

    def _draw(self, proportion: float, rng: np.random.Generator) -> Move | None:
        """Return the best of a random proportion of the improving classes (4.18)."""
        if proportion >= 1:
            return next(self.classes(), None)
        moves = list(self.classes())
        if not moves:
            return None
        # Classes come by falling gain: the smallest number drawn is the best of the
        # sample.
        size = max(1, int(proportion * len(moves) + 1e-9))
        drawn: list[int] = rng.choice(len(moves), size, replace=False).tolist()
        return moves[min(drawn)]

    def apply(self, move: Move) -> None:
        """Go to the class that an operator leads to; list the pairs whose operators may change."""
        before = self.graph
        x, y = move.operator[:2]
        self.parents = consistent_extension(self._links.after(move.operator))
        self.graph = cpdag(self.parents)
        self._links = links = ClassLinks(self.graph)
        self.gain += move.gain
        self.steps += 1

        # Pairs whose head has other neighbours, or lies between the ends of the operator.
        changed = (before.directed ^ self.graph.directed) | (
            before.undirected ^ self.graph.undirected
        )
        heads = set(chain.from_iterable(changed))
        heads.update(members(links.neighbours[x] & links.neighbours[y]))
        pairs = {(tail, head) for head in heads for tail in range(self._values.n)}
        # Pairs of an end and a variable that the other end is a neighbour or a parent of.
        pairs |= {(x, head) for head in members(links.onward[y])}
        pairs |= {(y, head) for head in members(links.onward[x])}
        self._dirty = sorted((tail, head) for tail, head in pairs if tail != head)


class _End(NamedTuple):
    """Where a start ended: the class and a member, its score, the number of moves."""

    graph: PartiallyDirectedGraph
    parents: Parents
    score: float
    steps: int
    converged: bool


@dataclass
class _Search:
    """All starts of a search, which share the values of sets.

    Parameters
    ----------
    values, n_rows
        The values of sets, and the rows of the table.
    phases
        How each phase of a start moves.
    empty_score
        Score of the empty network.
    seed
        Of the draws.
    climb
        Where the current start is.
    ends, best
        Where the starts ended, and the best of these.
    """

    values: SetValues
    n_rows: int
    phases: Sequence[Rules]
    empty_score: float
    seed: int
    climb: ClassClimb | None = None
    ends: list[_End] = field(default_factory=list)
    best: _End | None = None

    def run(
        self, method: EquivalenceMethod, n_starts: int, control: SearchControl
    ) -> EquivalenceSearch:
        """Run all starts within the limits, and the first in any case."""
        control.state = lambda: self._state(control)
        for number in counted("start", range(n_starts), n_starts):
            if self.best is not None and control.is_over:
                break
            self._keep(self.start(number), control)
            control.look()
        assert self.best is not None
        # A start that a limit cut short does not count as done.
        n_done = sum(end.converged for end in self.ends)
        is_done = n_done == n_starts
        return EquivalenceSearch(
            parents=self.best.parents,
            score=self.best.score,
            status="heuristic" if is_done else control.status,
            method=method,
            classes=_classes(self.ends),
            scores=tuple(end.score for end in self.ends),
            steps=tuple(end.steps for end in self.ends),
            sets=len(self.values.known),
            seconds=control.seconds,
            trace=tuple(control.trace),
            message="" if is_done else f"{n_done} of {n_starts} starts were done",
        )

    def _keep(self, end: _End, control: SearchControl) -> None:
        """Keep the end of a start that was done, or of the first one."""
        if not end.converged and self.best is not None:
            return
        self.ends.append(end)
        # Gains within rounding are no improvements.
        if self.best is None or end.score > self.best.score + MIN_GAIN:
            self.best = end
            control.record()

    def _state(self, control: SearchControl) -> Event:
        """Return the best class so far, of the current start while there is no other."""
        steps = sum(end.steps for end in self.ends)
        shown = self.best
        if shown is None and self.climb is not None:
            shown = self._end(self.climb, converged=False)
        if shown is None:
            return Event(control.seconds, -inf, inf, steps, None)
        return Event(control.seconds, shown.score, inf, steps, shown.parents)

    def start(self, number: int) -> _End:
        """Search once from the empty class."""
        rng = np.random.default_rng((self.seed, number))
        control = SearchControl.within()
        self.climb = climb = ClassClimb(self.values, self.n_rows)
        converged = all(climb.run(rules, rng, control) for rules in self.phases)
        return self._end(climb, converged)

    def _end(self, climb: ClassClimb, converged: bool) -> _End:
        """Return where a climb is."""
        score = self.empty_score + climb.gain
        return _End(climb.graph, climb.parents, score, climb.steps, converged)


def _classes(
    ends: Sequence[_End],
) -> tuple[tuple[PartiallyDirectedGraph, float, int], ...]:
    """Return the classes by falling score, each with its score and the number of its starts.

    Of classes with equal scores, the one that was reached first comes first.
    """
    # Starts that ended in one class have its score, up to rounding: that of the first.
    scores: dict[PartiallyDirectedGraph, float] = {}
    for end in ends:
        scores.setdefault(end.graph, end.score)
    n_starts = Counter(end.graph for end in ends)
    classes = [(graph, score, n_starts[graph]) for graph, score in scores.items()]
    return tuple(sorted(classes, key=lambda ranked: -ranked[1]))
