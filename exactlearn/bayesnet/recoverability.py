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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from exactlearn._runtime.arguments import ParentsLike, checked_arguments
from exactlearn.bayesnet.estimands import (
    Available,
    Estimand,
    Names,
    Stratified,
    Weighted,
    probability,
)
from exactlearn.bayesnet.indexed_missingness import IndexedGraph, SearchLimits
from exactlearn.bayesnet.inverse_probability import weighted_estimand
from exactlearn.bayesnet.ordered_factorisation import FactorisationSearch
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import topological_order

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
    parents: ParentsLike,
    names: Sequence[str],
    missingness: MissingnessGraph,
    *,
    cardinalities: Sequence[int] | None = None,
    limits: SearchLimits | None = None,
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
    graph = IndexedGraph(parents, names, missingness, sizes, limits or SearchLimits())
    return tuple(_recovery(graph, v, tuple(family)) for v, family in enumerate(parents))


def _kind_of(estimand: Estimand) -> RecoveryKind:
    if isinstance(estimand, Available):
        return "available cases" if estimand.observed else "frequencies"
    if isinstance(estimand, Stratified):
        return "separators"
    if isinstance(estimand, Weighted):
        return "pattern odds" if estimand.patterns else "inverse probability"
    return "factorisation"


def _recovery(graph: IndexedGraph, child: int, parents: tuple[int, ...]) -> Recovery:
    """Return the first criterion that applies to a family."""
    found = _decision(graph, child, parents)
    names = graph.names[child], graph.texts(parents)
    if not isinstance(found, str):
        return Recovery(*names, _kind_of(found), found)
    if (proof := _proof(graph, child, parents)) is not None:
        return Recovery(*names, "not recoverable", None, proof)
    return Recovery(*names, "no criterion", None, found)


def _decision(graph: IndexedGraph, child: int, parents: tuple[int, ...]) -> Estimand | str:
    """Return the formula of a family, or an obstacle to all of them in words."""
    if (found := graph.available({child}, parents)) is not None:
        return found
    if (strata := _stratified(graph, child, parents)) is not None:
        return strata
    family = frozenset({child}), frozenset(parents)
    depth = graph.limits.depth
    if (tree := FactorisationSearch(graph, wide=False).tree(*family, depth)) is not None:
        return tree
    weighted = weighted_estimand(graph, child, parents)
    if isinstance(weighted, Weighted) and not weighted.patterns:
        return weighted
    return FactorisationSearch(graph, wide=True).tree(*family, depth) or weighted


def _stratified(graph: IndexedGraph, child: int, parents: Sequence[int]) -> Stratified | None:
    """Return the estimand with separators that every row observes, if there are any."""
    family = {child, *parents}
    lacking = graph.incomplete(family)
    complete = family - lacking
    causes = graph.all_causes(lacking)
    if graph.incomplete(causes):
        causes = graph.ancestors(family, lacking) - graph.indicator.keys()
    separators = {*causes} - family
    if not graph.independent(lacking, lacking, complete | separators):
        return None
    for v in sorted(separators):
        if graph.independent(lacking, lacking, complete | separators - {v}):
            separators.remove(v)
    return Stratified(graph.sorted(lacking), graph.sorted(complete), graph.sorted(separators))


def _proof(graph: IndexedGraph, child: int, parents: Sequence[int]) -> str | None:
    """Return why no formula for a family exists, in words; ``None`` without a proof."""
    name = graph.names[child]
    if child in graph.causes.get(child, ()):
        return f"because {name} masks itself ({name} -> R_{name})"
    for v in sorted(graph.incomplete(parents)):
        if {v, child} <= graph.causes[v]:
            other = graph.names[v]
            return (
                f"because {other} masks itself and its missing cells depend on {name}, too "
                f"({other} -> R_{other} <- {name})"
            )
    return _colluding_proof(graph, child)


def _colluding_proof(graph: IndexedGraph, child: int) -> str | None:
    """Return the proof by a colluder a -> R_b <- R_a with b -> R_a, a and b adjacent."""
    for b in sorted(graph.indicator):
        for a in sorted(graph.causes[b] & graph.before[b]):
            is_parent = a in graph.dag[b]
            if (
                b in graph.causes[a]
                and (is_parent or b in graph.dag[a])
                and (child == b or (child == a and is_parent))
            ):
                one, two = graph.names[a], graph.names[b]
                return f"because of the colluder {one} -> R_{two} <- R_{one}, with {two} -> R_{one}"
    return None
