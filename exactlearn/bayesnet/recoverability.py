r"""Recoverability: which families of a network a missingness graph lets incomplete rows estimate.

A distribution is recoverable when a formula computes it from the distribution of what is observed,
for every strictly positive distribution that the graph allows (Mohan, Pearl and Tian 2013,
"Graphical models for inference with missing data"). Every family, a variable and its parents, is
decided alone: the first of these that applies gives the formula of :math:`P(X \mid Pa)`.

1. No member has missing cells: relative frequencies.
2. :math:`X \perp R_{X, Pa} \mid Pa`: the rows that observe the family.
3. :math:`Y_m \perp R_Y \mid Y_o, W` for variables W that every row observes: informed deletion.
4. Sums over variables W with :math:`Y \perp R_{Y,Z,W} \mid Z, W` and chains of such distributions,
   where W may have missing cells itself: ordered factorisation.
5. Inverse probability weighting over the indicators that the family needs; those without X and its
   descendants among their causes cancel.
6. The same with the odds of missingness patterns, where indicators depend on each other.

What none recovers is not recoverable where a theorem says so, else no criterion known here
recovers it. ``docs/theory/recoverability.md`` has the theorems and their tests.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import prod
from typing import Any, Literal

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.estimands import (
    Available,
    Chained,
    Conditioned,
    Estimand,
    Names,
    PatternOdds,
    Propensity,
    Stratified,
    Summed,
    Tree,
    Weighted,
    probability,
)
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph
from exactlearn.errors import OptionError
from exactlearn.graphs.d_separation import active_trail, ancestors
from exactlearn.graphs.dag import children, topological_order

RecoveryKind = Literal[
    "frequencies",
    "available cases",
    "separators",
    "factorisation",
    "inverse probability",
    "pattern odds",
    "no criterion",
    "not recoverable",
]

Indices = frozenset[int]


@dataclass(frozen=True)
class SearchLimits:
    """Limits of the search for formulas.

    Parameters
    ----------
    separator
        Most variables of a sum in an ordered factorisation.
    depth
        Most sums within each other.
    tests
        Most tests of d-separation for a family.
    component
        Most indicators that depend on each other in the odds of missingness patterns.
    table
        Most configurations of the variables of a factor in an ordered factorisation.
    """

    separator: int = 3
    depth: int = 3
    tests: int = 500
    component: int = 10
    table: int = 2**22


@dataclass(frozen=True)
class Recovery:
    """How a family is estimated given a missingness graph.

    Parameters
    ----------
    child, parents
        The family.
    kind
        Which criterion applies. ``no criterion``: none known here; ``not recoverable``: no formula
        exists, which a theorem proves.
    estimand
        The formula, if there is one.
    reason
        Why there is none, in words.
    """

    child: str
    parents: Names
    kind: RecoveryKind
    estimand: Estimand | None = None
    reason: str = ""

    @property
    def is_recoverable(self) -> bool:
        """Whether a formula is known."""
        return self.estimand is not None

    def formula(self) -> str:
        """Return the formula as text, or why there is none.

        Examples
        --------
        >>> recoverability([(), (0,)], ("age", "income"), "income <- age")[1].formula()
        'P(income | age) = P(income | age, R_income = ob)'
        """
        family = probability((self.child,), self.parents)
        if self.estimand is None:
            how = {"no criterion": "no criterion known here applies"}.get(self.kind, self.kind)
            return f"{family}: {how}, {self.reason}"
        text = self.estimand.formula()
        joint = probability((self.child, *self.parents))
        if isinstance(self.estimand, Weighted) and not self.estimand.is_joint:
            return f"{family} is proportional to {text}"
        if isinstance(self.estimand, Stratified | Weighted) and self.parents:
            return f"{family} = {joint} / P({', '.join(self.parents)}) with {joint} = {text}"
        return f"{family} = {text}"

    def to_dict(self) -> dict[str, Any]:
        """Return the decision for JSON."""
        return {
            "recoverable": self.is_recoverable,
            "kind": self.kind,
            "formula": self.formula(),
        }


@checked_arguments(missingness=as_missingness_graph)
def recoverability(
    parents: Sequence[Collection[int]],
    names: Sequence[str],
    missingness: MissingnessGraph,
    *,
    cardinalities: Sequence[int] | None = None,
    limits: SearchLimits = SearchLimits(),
) -> tuple[Recovery, ...]:
    """Decide for each family of a network whether a missingness graph makes it recoverable.

    Parameters
    ----------
    parents
        Parents of each variable, by index.
    names
        The variables.
    missingness
        What the missing cells of each variable depend on, perhaps as text; variables that it does
        not name have none.
    cardinalities
        Number of states of each variable; left out, two.
    limits
        Limits of the search for formulas.

    Returns
    -------
    recoveries
        One for each variable, in their order.

    Raises
    ------
    OptionError
        When the graph names another variable, or the parents hold a directed cycle.

    Examples
    --------
    >>> for family in recoverability([(), (0,)], ("x", "y"), "x <- y; y <- x"):
    ...     print(family.kind)
    inverse probability
    inverse probability
    >>> print(recoverability([()], ("x",), "x <- x")[0].reason)
    because x masks itself (x -> R_x)
    """
    if len(parents) != len(names):
        raise OptionError(f"{len(parents)} parent sets for {len(names)} variables: give one each")
    topological_order(parents, names)
    sizes = [2] * len(names) if cardinalities is None else [int(r) for r in cardinalities]
    criteria = _Criteria(parents, names, missingness, sizes, limits)
    return tuple(criteria.recovery(v, tuple(family)) for v, family in enumerate(parents))


@dataclass
class _Search:
    """A search for ordered factorisations: what it has found and how much it may still test."""

    most_tests: int
    wide: bool
    tests: int = 0
    known: dict[tuple[Indices, Indices, int], Tree | None] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.tests > self.most_tests


def _kind_of(estimand: Estimand) -> RecoveryKind:
    if isinstance(estimand, Available):
        return "available cases" if estimand.observed else "frequencies"
    if isinstance(estimand, Stratified):
        return "separators"
    if isinstance(estimand, Weighted):
        return "pattern odds" if estimand.patterns else "inverse probability"
    return "factorisation"


class _Criteria:
    """The criteria on one graph: variables by index, and after them their indicators."""

    def __init__(
        self,
        parents: Sequence[Collection[int]],
        names: Sequence[str],
        graph: MissingnessGraph,
        sizes: Sequence[int],
        limits: SearchLimits,
    ) -> None:
        self.names, self.limits, n = tuple(names), limits, len(names)
        self.sizes = sizes
        self.dag = [*map(tuple, parents), *graph.parents(names)]
        self.offspring = children(self.dag[:n])
        places = {name: v for v, name in enumerate(names)}
        self.indicator = {places[name]: n + k for k, name in enumerate(graph.variables)}
        variable = {r: v for v, r in self.indicator.items()}
        self.causes = {
            v: frozenset(p for p in self.dag[r] if p < n) for v, r in self.indicator.items()
        }
        self.before = {
            v: frozenset(variable[p] for p in self.dag[r] if p >= n)
            for v, r in self.indicator.items()
        }
        self.search = _Search(0, wide=False)

    def recovery(self, child: int, parents: tuple[int, ...]) -> Recovery:
        """Return the first criterion that applies to a family."""
        found = self._decision(child, parents)
        names = self.names[child], self._texts(parents)
        if not isinstance(found, str):
            return Recovery(*names, _kind_of(found), found)
        if (proof := self._proof(child, parents)) is not None:
            return Recovery(*names, "not recoverable", None, proof)
        return Recovery(*names, "no criterion", None, found)

    def _decision(self, child: int, parents: tuple[int, ...]) -> Estimand | str:
        """Return the formula of a family, or an obstacle to all of them in words."""
        if (found := self._available({child}, parents)) is not None:
            return found
        if (strata := self._stratified(child, parents)) is not None:
            return strata
        family = frozenset({child}), frozenset(parents)
        self.search = _Search(self.limits.tests, wide=False)
        if (tree := self._tree(*family, self.limits.depth)) is not None:
            return tree
        weighted = self._weighted(child, parents)
        if isinstance(weighted, Weighted) and not weighted.patterns:
            return weighted
        self.search = _Search(self.limits.tests, wide=True)
        return self._tree(*family, self.limits.depth) or weighted

    def _available(self, variables: Collection[int], given: Collection[int]) -> Available | None:
        """Return the estimand of available cases where these are as good as all."""
        lacking = self._incomplete({*variables, *given})
        if not self._independent(variables, lacking, given):
            return None
        return Available(self._sorted(variables), self._texts(given), self._sorted(lacking))

    def _stratified(self, child: int, parents: Sequence[int]) -> Stratified | None:
        """Return the estimand with separators that every row observes, if there are any."""
        family = {child, *parents}
        lacking = self._incomplete(family)
        complete = family - lacking
        causes = self._all_causes(lacking)
        if self._incomplete(causes):
            causes = self._ancestors(family, lacking) - self.indicator.keys()
        separators = {*causes} - family
        if not self._independent(lacking, lacking, complete | separators):
            return None
        for v in sorted(separators):
            if self._independent(lacking, lacking, complete | separators - {v}):
                separators.remove(v)
        return Stratified(self._sorted(lacking), self._sorted(complete), self._sorted(separators))

    def _tree(self, variables: Indices, given: Indices, depth: int) -> Tree | None:
        """Return an ordered factorisation with sums, if the search finds one."""
        key = (variables, given, depth)
        if key not in self.search.known:
            self.search.known[key] = self._new_tree(variables, given, depth)
        return self.search.known[key]

    def _new_tree(self, variables: Indices, given: Indices, depth: int) -> Tree | None:
        if self.search.is_over or self._is_too_large(variables | given):
            return None
        self.search.tests += 1
        if (found := self._available(variables, given)) is not None or depth == 0:
            return found
        for over in self._sums(variables, given):
            if self.search.is_over:
                return None
            if self._is_too_large(variables | given | over):
                continue
            self.search.tests += 1
            inner = self._available(variables, given | over)
            outer = inner and self._tree(over, given, depth - 1)
            if inner is not None and outer is not None:
                return Summed(self._sorted(over), inner, outer)
        for v in sorted(variables) if len(variables) > 1 else ():
            rest = variables - {v}
            first = self._tree(frozenset({v}), given | rest, depth - 1)
            second = first and self._tree(rest, given, depth - 1)
            if first is not None and second is not None:
                return Chained(first, second)
        joint = self._tree(variables | given, frozenset(), depth - 1) if given else None
        return joint and Conditioned(self._sorted(variables), joint)

    def _sums(self, variables: Indices, given: Indices) -> Iterator[Indices]:
        """Yield sets of variables to sum over: the causes of indicators, then any small sets."""
        known, lacking = variables | given, self._incomplete(variables | given)
        causes = frozenset(self._all_causes(lacking) - known)
        if causes:
            yield causes
        if self.search.wide:
            pool = sorted(self._ancestors(known, lacking) - known)
            for size in range(1, self.limits.separator + 1):
                yield from map(frozenset, combinations(pool, size))

    def _is_too_large(self, variables: Indices) -> bool:
        return prod(self.sizes[v] for v in variables) > self.limits.table

    def _ancestors(self, variables: Iterable[int], lacking: Iterable[int]) -> set[int]:
        """Return the variables among the ancestors of some and of indicators."""
        top = ancestors(self.dag, {*variables, *(self.indicator[v] for v in lacking)})
        return {v for v in top if v < len(self.names)}

    def _weighted(
        self, child: int, parents: Sequence[int], also: Indices = frozenset()
    ) -> Weighted | str:
        """Return the estimand by inverse probability, or an obstacle to it in words.

        Some variables may be given whose indicators have a factor that counts, too.
        """
        family = {child, *parents}
        needed, weighed = self._closure(child, family, also)
        for v in sorted(weighed):
            if v in self.causes[v]:
                name = self.names[v]
                return f"because {name} masks itself ({name} -> R_{name})"
        propensities: list[Propensity] = []
        patterns: list[PatternOdds] = []
        divided: set[int] = set()
        for component in self._components(needed):
            if all(self._is_simple(v) for v in component & weighed):
                propensities += map(self._propensity, sorted(component & weighed))
                divided |= component & weighed
                continue
            kept = component - self._ancestral(component - weighed)
            while last := self._last_simple(kept, weighed):
                kept -= last
                propensities += map(self._propensity, last & weighed)
                divided |= last & weighed
            if not kept <= weighed:
                return self._weighted(child, parents, also | kept)
            if (obstacle := self._obstacle(kept)) is not None:
                return obstacle
            patterns.append(self._odds(kept))
            divided |= kept
        over = needed.union(*(self.causes[v] for v in divided)) - family
        return Weighted(
            self.names[child],
            self._texts(parents),
            self._sorted(over),
            self._sorted(needed),
            tuple(propensities),
            tuple(patterns),
            is_joint=divided == needed,
        )

    def _closure(
        self, child: int, family: Collection[int], also: Indices
    ) -> tuple[Indices, Indices]:
        """Return the variables that rows must observe, and those with a factor that counts.

        The factor of an indicator without the child and its descendants among its causes does not:
        given the parents, those causes do not depend on the child.
        """
        affected = self._descendants(child)
        needed: set[int] = set()
        weighed: set[int] = set()
        waiting = [*self._incomplete(family)]
        while waiting:
            v = waiting.pop()
            if v not in needed:
                needed.add(v)
                waiting += self.before[v]
                if v in also or not affected.isdisjoint(self.causes[v]):
                    weighed.add(v)
                    waiting += self._incomplete(self.causes[v])
        return frozenset(needed), frozenset(weighed)

    def _descendants(self, child: int) -> set[int]:
        """Return a variable and its descendants in the network."""
        found, waiting = {child}, [child]
        while waiting:
            more = {*self.offspring[waiting.pop()]} - found
            found |= more
            waiting += more
        return found

    def _components(self, needed: Indices) -> list[Indices]:
        """Return the sets of variables whose indicators depend on each other given all causes."""
        found: list[Indices] = []
        for v in sorted(needed):
            joined = frozenset({v, *self.before[v]}).union(
                *(c for c in found if not c.isdisjoint({v, *self.before[v]}))
            )
            found = [*(c for c in found if c.isdisjoint(joined)), joined]
        return found

    def _is_simple(self, v: int) -> bool:
        """Whether an indicator does not depend on those of its causes, given its parents."""
        parents = self.dag[self.indicator[v]]
        indicators = {self.indicator[u] for u in self._incomplete(self.causes[v])} - {*parents}
        return self._are_separated({self.indicator[v]}, indicators, parents)

    def _last_simple(self, kept: Indices, weighed: Indices) -> Indices:
        """Return an indicator whose factor is known alone, and on which no other one depends."""
        for v in sorted(kept):
            others = kept - {v}
            is_last = all(v not in self.before[u] | self.causes[u] for u in others)
            if others and is_last and (v not in weighed or self._is_simple(v)):
                return frozenset({v})
        return frozenset()

    def _propensity(self, v: int) -> Propensity:
        causes = self.causes[v]
        observed = self._incomplete(causes) | self.before[v]
        return Propensity(self.names[v], self._sorted(causes), self._sorted(observed))

    def _ancestral(self, variables: Indices) -> Indices:
        """Return the most of some variables whose indicators depend on none but each other's."""
        while True:
            kept = frozenset(v for v in variables if self.before[v] <= variables)
            if kept == variables:
                return kept
            variables = kept

    def _obstacle(self, dependent: Indices) -> str | None:
        """Return why the odds of patterns of some indicators are not known, in words."""
        for v in sorted(dependent):
            name = self.names[v]
            for u in sorted(dependent):
                if v in self.causes[u] and v in self.before[u]:
                    return f"because of the colluder {name} -> R_{self.names[u]} <- R_{name}"
            if v in self.causes[v]:
                return f"because {name} masks itself ({name} -> R_{name})"
        if len(dependent) > self.limits.component:
            return (
                f"because {len(dependent)} indicators depend on each other, more than "
                f"{self.limits.component}: {', '.join(self._sorted(dependent))}"
            )
        return None

    def _odds(self, variables: Indices) -> PatternOdds:
        scopes = {v: variables & {v, *self.before[v]} for v in sorted(variables)}
        factors: dict[tuple[int, ...], Indices] = {}
        for v, scope in scopes.items():
            for size in range(1, len(scope) + 1):
                for members in combinations(sorted(scope), size):
                    factors[members] = factors.get(members, frozenset()) | self.causes[v]
        others = self._incomplete(frozenset().union(*factors.values()))
        others = others.union(*(self.before[v] for v in variables)) - variables
        ordered = sorted(factors, key=lambda members: (len(members), members))
        return PatternOdds(
            self._sorted(variables),
            self._sorted(others),
            tuple((self._texts(m), self._sorted(factors[m])) for m in ordered),
        )

    def _proof(self, child: int, parents: Sequence[int]) -> str | None:
        """Return why no formula for a family exists, in words; ``None`` without a proof."""
        name = self.names[child]
        if child in self.causes.get(child, ()):
            return f"because {name} masks itself ({name} -> R_{name})"
        for v in sorted(self._incomplete(parents)):
            if {v, child} <= self.causes[v]:
                other = self.names[v]
                return (
                    f"because {other} masks itself and its missing cells depend on {name}, too "
                    f"({other} -> R_{other} <- {name})"
                )
        return self._colluding_proof(child)

    def _colluding_proof(self, child: int) -> str | None:
        """Return the proof by a colluder a -> R_b <- R_a with b -> R_a, a and b adjacent."""
        for b in sorted(self.indicator):
            for a in sorted(self.causes[b] & self.before[b]):
                is_parent = a in self.dag[b]
                if (
                    b in self.causes[a]
                    and (is_parent or b in self.dag[a])
                    and (child == b or (child == a and is_parent))
                ):
                    one, two = self.names[a], self.names[b]
                    return (
                        f"because of the colluder {one} -> R_{two} <- R_{one}, "
                        f"with {two} -> R_{one}"
                    )
        return None

    def _all_causes(self, variables: Iterable[int]) -> set[int]:
        """Return the variables that indicators depend on, by way of other indicators, too."""
        chain, waiting = set[int](), [*variables]
        while waiting:
            v = waiting.pop()
            if v not in chain:
                chain.add(v)
                waiting += self.before[v]
        return {cause for v in chain for cause in self.causes[v]}

    def _independent(
        self, variables: Collection[int], lacking: Collection[int], given: Collection[int]
    ) -> bool:
        """Whether variables do not depend on the indicators of some, given variables."""
        return self._are_separated(variables, {self.indicator[v] for v in lacking}, given)

    def _are_separated(
        self, left: Collection[int], right: Collection[int], given: Collection[int]
    ) -> bool:
        return not right or active_trail(self.dag, left, right, given) is None

    def _incomplete(self, variables: Iterable[int]) -> Indices:
        """Return those variables that have missing cells."""
        return frozenset(v for v in variables if v in self.indicator)

    def _texts(self, variables: Iterable[int]) -> Names:
        return tuple(self.names[v] for v in variables)

    def _sorted(self, variables: Iterable[int]) -> Names:
        return self._texts(sorted(variables))
