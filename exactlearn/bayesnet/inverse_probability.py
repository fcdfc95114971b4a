"""Inverse probability weighting: the indicators that a family needs, and their probabilities.

Indicators that depend on each other form components; a component has the propensity of each of its
indicators or, where these are not known, the odds of its missingness patterns. The theorems are in
``docs/theory/recoverability.md``.
"""

from collections.abc import Collection, Sequence
from functools import partial
from itertools import combinations

from exactlearn.bayesnet.estimands import PatternOdds, Propensity, Weighted
from exactlearn.bayesnet.indexed_missingness import IndexedGraph, Indices


def weighted_estimand(
    graph: IndexedGraph, child: int, parents: Sequence[int], also: Indices = frozenset()
) -> Weighted | str:
    """Return the estimand by inverse probability, or an obstacle to it in words.

    Some variables may be given whose indicators have a factor that counts, too.
    """
    family = {child, *parents}
    needed, weighed = _closure(graph, child, family, also)
    for v in sorted(weighed):
        if v in graph.causes[v]:
            name = graph.names[v]
            return f"because {name} masks itself ({name} -> R_{name})"
    propensities: list[Propensity] = []
    patterns: list[PatternOdds] = []
    divided: set[int] = set()
    for component in _components(graph, needed):
        if all(_is_simple(graph, v) for v in component & weighed):
            propensities += map(partial(_propensity, graph), sorted(component & weighed))
            divided |= component & weighed
            continue
        kept = component - _ancestral(graph, component - weighed)
        while last := _last_simple(graph, kept, weighed):
            kept -= last
            propensities += map(partial(_propensity, graph), last & weighed)
            divided |= last & weighed
        if not kept <= weighed:
            return weighted_estimand(graph, child, parents, also | kept)
        if (obstacle := _obstacle(graph, kept)) is not None:
            return obstacle
        patterns.append(_odds(graph, kept))
        divided |= kept
    over = needed.union(*(graph.causes[v] for v in divided)) - family
    return Weighted(
        graph.names[child],
        graph.texts(parents),
        graph.sorted(over),
        graph.sorted(needed),
        tuple(propensities),
        tuple(patterns),
        is_joint=divided == needed,
    )


def _closure(
    graph: IndexedGraph, child: int, family: Collection[int], also: Indices
) -> tuple[Indices, Indices]:
    """Return the variables that rows must observe, and those with a factor that counts.

    The factor of an indicator without the child and its descendants among its causes does not:
    given the parents, those causes do not depend on the child.
    """
    affected = graph.descendants(child)
    needed: set[int] = set()
    weighed: set[int] = set()
    waiting = [*graph.incomplete(family)]
    while waiting:
        v = waiting.pop()
        if v not in needed:
            needed.add(v)
            waiting += graph.before[v]
            if v in also or not affected.isdisjoint(graph.causes[v]):
                weighed.add(v)
                waiting += graph.incomplete(graph.causes[v])
    return frozenset(needed), frozenset(weighed)


def _components(graph: IndexedGraph, needed: Indices) -> list[Indices]:
    """Return the sets of variables whose indicators depend on each other given all causes."""
    found: list[Indices] = []
    for v in sorted(needed):
        joined = frozenset({v, *graph.before[v]}).union(
            *(c for c in found if not c.isdisjoint({v, *graph.before[v]}))
        )
        found = [*(c for c in found if c.isdisjoint(joined)), joined]
    return found


def _is_simple(graph: IndexedGraph, v: int) -> bool:
    """Whether an indicator does not depend on those of its causes, given its parents."""
    parents = graph.dag[graph.indicator[v]]
    indicators = {graph.indicator[u] for u in graph.incomplete(graph.causes[v])} - {*parents}
    return graph.are_separated({graph.indicator[v]}, indicators, parents)


def _last_simple(graph: IndexedGraph, kept: Indices, weighed: Indices) -> Indices:
    """Return an indicator whose factor is known alone, and on which no other one depends."""
    for v in sorted(kept):
        others = kept - {v}
        is_last = all(v not in graph.before[u] | graph.causes[u] for u in others)
        if others and is_last and (v not in weighed or _is_simple(graph, v)):
            return frozenset({v})
    return frozenset()


def _propensity(graph: IndexedGraph, v: int) -> Propensity:
    causes = graph.causes[v]
    observed = graph.incomplete(causes) | graph.before[v]
    return Propensity(graph.names[v], graph.sorted(causes), graph.sorted(observed))


def _ancestral(graph: IndexedGraph, variables: Indices) -> Indices:
    """Return the most of some variables whose indicators depend on none but each other's."""
    while True:
        kept = frozenset(v for v in variables if graph.before[v] <= variables)
        if kept == variables:
            return kept
        variables = kept


def _obstacle(graph: IndexedGraph, dependent: Indices) -> str | None:
    """Return why the odds of patterns of some indicators are not known, in words."""
    for v in sorted(dependent):
        name = graph.names[v]
        for u in sorted(dependent):
            if v in graph.causes[u] and v in graph.before[u]:
                return f"because of the colluder {name} -> R_{graph.names[u]} <- R_{name}"
        if v in graph.causes[v]:
            return f"because {name} masks itself ({name} -> R_{name})"
    if len(dependent) > graph.limits.component:
        return (
            f"because {len(dependent)} indicators depend on each other, more than "
            f"{graph.limits.component}: {', '.join(graph.sorted(dependent))}"
        )
    return None


def _odds(graph: IndexedGraph, variables: Indices) -> PatternOdds:
    scopes = {v: variables & {v, *graph.before[v]} for v in sorted(variables)}
    factors: dict[tuple[int, ...], Indices] = {}
    for v, scope in scopes.items():
        for size in range(1, len(scope) + 1):
            for members in combinations(sorted(scope), size):
                factors[members] = factors.get(members, frozenset()) | graph.causes[v]
    others = graph.incomplete(frozenset().union(*factors.values()))
    others = others.union(*(graph.before[v] for v in variables)) - variables
    ordered = sorted(factors, key=lambda members: (len(members), members))
    return PatternOdds(
        graph.sorted(variables),
        graph.sorted(others),
        tuple((graph.texts(m), graph.sorted(factors[m])) for m in ordered),
    )
