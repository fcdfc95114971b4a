"""A missingness graph and the DAG of its variables by index: independences and ancestors."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from exactlearn.bayesnet.estimands import Available, Names
from exactlearn.data.missingness_graph import MissingnessGraph
from exactlearn.graphs.d_separation import active_trail, ancestors
from exactlearn.graphs.dag import children

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


class IndexedGraph:
    """The DAG of some variables and of their indicators, which have the indices behind them.

    Parameters
    ----------
    parents
        Parents of each variable, by index.
    names
        The variables.
    missingness
        What their indicators depend on.
    sizes
        Number of states of each variable.
    limits
        Limits of the search for formulas.

    Attributes
    ----------
    dag
        Parents of the variables and, behind them, of the indicators.
    offspring
        Children of each variable.
    place
        The index of each name.
    indicator
        The indicator of each variable with missing cells.
    causes, before
        The variables that its indicator depends on; those whose indicators it depends on.
    """

    def __init__(
        self,
        parents: Sequence[Collection[int]],
        names: Sequence[str],
        missingness: MissingnessGraph,
        sizes: Sequence[int],
        limits: SearchLimits,
    ) -> None:
        self.names, self.limits, n = tuple(names), limits, len(names)
        self.sizes = sizes
        self.dag = [*map(tuple, parents), *missingness.parents(names)]
        self.offspring = children(self.dag[:n])
        self.missingness, self.place = missingness, {name: v for v, name in enumerate(names)}
        self.indicator = {self.place[name]: n + k for k, name in enumerate(missingness.variables)}
        variable = {r: v for v, r in self.indicator.items()}
        self.causes = {
            v: frozenset(p for p in self.dag[r] if p < n) for v, r in self.indicator.items()
        }
        self.before = {
            v: frozenset(variable[p] for p in self.dag[r] if p >= n)
            for v, r in self.indicator.items()
        }

    def available(self, variables: Collection[int], given: Collection[int]) -> Available | None:
        """Return the estimand of available cases where these are as good as all."""
        lacking = self.incomplete({*variables, *given})
        if not self.independent(variables, lacking, given):
            return None
        return Available(self.sorted(variables), self.texts(given), self.sorted(lacking))

    def is_too_large(self, variables: Indices) -> bool:
        """Whether a table of some variables would be too large for a factor."""
        return prod(self.sizes[v] for v in variables) > self.limits.table

    def ancestors(self, variables: Iterable[int], lacking: Iterable[int]) -> set[int]:
        """Return the variables among the ancestors of some and of indicators."""
        top = ancestors(self.dag, {*variables, *(self.indicator[v] for v in lacking)})
        return {v for v in top if v < len(self.names)}

    def descendants(self, child: int) -> Indices:
        """Return a variable and its descendants in the network."""
        return ancestors(self.offspring, [child])

    def all_causes(self, variables: Iterable[int]) -> set[int]:
        """Return the variables that indicators depend on, by way of other indicators, too."""
        return {*map(self.place.__getitem__, self.missingness.all_causes(self.texts(variables)))}

    def independent(
        self, variables: Collection[int], lacking: Collection[int], given: Collection[int]
    ) -> bool:
        """Whether variables do not depend on the indicators of some, given variables."""
        return self.are_separated(variables, {self.indicator[v] for v in lacking}, given)

    def are_separated(
        self, left: Collection[int], right: Collection[int], given: Collection[int]
    ) -> bool:
        """Whether nodes are d-separated."""
        return not right or active_trail(self.dag, left, right, given) is None

    def incomplete(self, variables: Iterable[int]) -> Indices:
        """Return those variables that have missing cells."""
        return frozenset(v for v in variables if v in self.indicator)

    def texts(self, variables: Iterable[int]) -> Names:
        """Return the names of variables."""
        return tuple(self.names[v] for v in variables)

    def sorted(self, variables: Iterable[int]) -> Names:
        """Return the names of variables in the order of the table."""
        return self.texts(sorted(variables))
