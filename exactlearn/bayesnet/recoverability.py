r"""Recoverability: which families of a network a missingness graph lets incomplete rows estimate.

A distribution is recoverable when a formula computes it from the distribution of what is observed,
for every strictly positive distribution that the graph allows (Mohan, Pearl and Tian 2013,
"Graphical models for inference with missing data"). Every family, a variable and its parents, is
decided alone: the first of these that applies gives the formula of :math:`P(X \mid Pa)`.

1. No member has missing cells: relative frequencies.
2. :math:`X \perp R_{X, Pa} \mid Pa`: the rows that observe the family.
3. :math:`Y_m \perp R_Y \mid Y_o, W` for variables W that every row observes: informed deletion.
4. Inverse probability weighting over the indicators that the family needs; those without X and its
   descendants among their causes cancel.

What none recovers is not recoverable where a theorem on self-masking says so, else no criterion
known here recovers it. ``docs/theory/recoverability.md`` has the theorems and their tests.

With :math:`R_v = ob` for "the cell of v is observed", the formulas are

- :math:`P(X \mid Pa, R = ob)`: frequencies in the available cases;
- :math:`\sum_W P(Y_m \mid Y_o, W, R = ob) P(Y_o, W)`, W and :math:`Y_o` without missing cells:
  informed deletion (DEL, section 3);
- :math:`P(Y, W, R = ob) / P(R = ob \mid Y, W)` summed over W: inverse probability weighting (Mohan,
  Pearl and Tian 2013; DEL, Figure 4).

DEL is Van den Broeck, Mohan, Choi, Darwiche and Pearl, "Efficient algorithms for Bayesian network
parameter learning from incomplete data".
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.variable_arguments import ParentsLike
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import active_trail, ancestors, children, topological_order

Names = tuple[str, ...]


class Propensity(NamedTuple):
    """The probability that a variable is observed given the causes of its indicator.

    Attributes
    ----------
    variable
        The variable.
    causes
        The variables that its indicator depends on.
    observed
        The variables that the rows counted observe: causes, and those of indicators as causes.
    """

    variable: str
    causes: Names
    observed: Names


@dataclass(frozen=True)
class Estimand:
    """A formula that computes the distribution of a family from incomplete rows.

    Parameters
    ----------
    text
        The formula of the distribution: of the child given its parents, or of the family.
    separators
        Of informed deletion: variables that every row observes, given which and its members without
        missing cells the family does not depend on what is observed.
    observed
        Of inverse probability weighting: the variables that rows may lack and must observe.
    propensities
        Probabilities by which these rows are weighted.
    is_joint
        Whether this is the joint distribution of the family, or, by some of the weights, only
        proportional to it given the parents.
    """

    text: str
    separators: Names | None = None
    observed: Names = ()
    propensities: tuple[Propensity, ...] = ()
    is_joint: bool = True


def probability(
    variables: Iterable[str],
    given: Iterable[str] = (),
    ob: Iterable[str] = (),
) -> str:
    """Return the text of a probability, given variables and observed cells.

    Examples
    --------
    >>> probability("y", "x", "xy")
    'P(y | x, R_x = ob, R_y = ob)'
    """
    behind = ", ".join([*given, *map(_indicator, ob)])
    return f"P({', '.join(variables)}{f' | {behind}' if behind else ''})"


def _indicator(name: str) -> str:
    return f"R_{name} = ob"


def _sum_over(names: Names) -> str:
    return f"sum over {', '.join(names)} of " if names else ""


Indices = frozenset[int]


@dataclass(frozen=True)
class Recovery:
    """The decision on a family given a missingness graph.

    Parameters
    ----------
    child, parents
        The family.
    kind
        Which criterion applies: ``frequencies``, ``available cases``, ``separators``, or ``inverse
        probability``. ``no criterion``: none known here; ``not recoverable``: no formula
        exists, which a theorem proves.
    estimand
        The formula, if there is one.
    reason
        Why there is none, in words.
    """

    child: str
    parents: Names
    kind: str
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
            decision = self.kind
            if decision == "no criterion":
                decision = "no criterion known here applies"
            return f"{family}: {decision}, {self.reason}"
        text = self.estimand.text
        # The estimand may be of the joint, which is divided by that of the parents.
        joint = probability((self.child, *self.parents))
        if not self.estimand.is_joint:
            return f"{family} is proportional to {text}"
        if self.kind in ("separators", "inverse probability") and self.parents:
            marginal = probability(self.parents)
            return f"{family} = {joint} / {marginal} with {joint} = {text}"
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
        raise OptionError(
            f"{len(parents)} parent sets for {len(names)} variables: give one each"
        )
    topological_order(parents, names)
    graph = _IndexedGraph(parents, names, missingness)
    return tuple(graph.recovery(v, tuple(family)) for v, family in enumerate(parents))


class _IndexedGraph:
    """The DAG of some variables and of their indicators, which have the indices behind them.

    ``indicator`` has the indicator of each variable with missing cells, ``causes`` the variables
    that it depends on, and ``before`` those whose indicators it depends on.
    """

    def __init__(
        self,
        parents: Sequence[Collection[int]],
        names: Sequence[str],
        missingness: MissingnessGraph,
    ) -> None:
        n = len(names)
        self.names = tuple(names)
        self.dag = [*map(tuple, parents), *missingness.parents(names)]
        self.offspring = children(self.dag[:n])
        self.missingness = missingness
        self.indicator: dict[int, int] = {}
        self.causes: dict[int, Indices] = {}
        self.before: dict[int, Indices] = {}
        # Indicators are numbered after the variables of the table.
        variables = [self.names.index(name) for name in missingness.variables]
        for indicator, v in enumerate(variables, n):
            above = self.dag[indicator]
            self.indicator[v] = indicator
            self.causes[v] = frozenset(p for p in above if p < n)
            self.before[v] = frozenset(variables[p - n] for p in above if p >= n)

    def recovery(self, child: int, parents: tuple[int, ...]) -> Recovery:
        """Return the first criterion that applies to a family."""
        decided = partial(Recovery, self.names[child], self.texts(parents))
        lacking = self.incomplete([child, *parents])
        # Relative frequencies, in the rows that observe the family.
        if self.independent({child}, lacking, parents):
            kind = "available cases" if lacking else "frequencies"
            text = probability(
                self.texts([child]),
                self.texts(parents),
                self.sorted(lacking),
            )
            return decided(kind, Estimand(text))
        # Informed deletion.
        if (strata := self.stratified({child, *parents}, lacking)) is not None:
            return decided("separators", strata)
        # Inverse probability weighting.
        weighted = self.weighted(child, parents)
        if isinstance(weighted, Estimand):
            return decided("inverse probability", weighted)
        proof = self.proof(child, parents)
        kind = "no criterion" if proof is None else "not recoverable"
        return decided(kind, None, proof or weighted)

    def stratified(self, family: set[int], lacking: Indices) -> Estimand | None:
        """Return the estimand with separators that every row observes, if there are any."""
        complete = family - lacking
        names = self.missingness.all_causes(self.texts(lacking))
        causes = {self.names.index(name) for name in names}
        # Where causes have missing cells, all ancestors without are tried in their place.
        if self.incomplete(causes):
            indicators = {self.indicator[v] for v in lacking}
            above = ancestors(self.dag, family | indicators)
            variables = {v for v in above if v < len(self.names)}
            causes = variables - self.indicator.keys()
        separators = causes - family
        if not self.independent(lacking, lacking, complete | separators):
            return None
        for v in sorted(separators):
            if self.independent(lacking, lacking, complete | separators - {v}):
                separators.remove(v)
        incomplete = self.sorted(lacking)
        summed = self.sorted(separators)
        strata = (*self.sorted(complete), *summed)
        inner = probability(incomplete, strata, incomplete)
        outer = f" {probability(strata)}" if strata else ""
        return Estimand(f"{_sum_over(summed)}{inner}{outer}", summed)

    def weighted(self, child: int, parents: Sequence[int]) -> Estimand | str:
        """Return the estimand by inverse probability, or an obstacle to it in words.

        The factor of an indicator without the child and its descendants among its causes cancels:
        given the parents, those causes do not depend on the child.
        """
        # The indicators that are needed, and those whose factors do not cancel.
        family = {child, *parents}
        affected = ancestors(self.offspring, [child])
        needed: set[int] = set()
        weighed: set[int] = set()
        waiting = [*self.incomplete(family)]
        while waiting:
            v = waiting.pop()
            if v not in needed:
                needed.add(v)
                waiting += self.before[v]
                if not affected.isdisjoint(self.causes[v]):
                    weighed.add(v)
                    waiting += self.incomplete(self.causes[v])
        # Their probabilities, in the rows that observe the causes.
        propensities = []
        for v in sorted(weighed):
            name = self.names[v]
            indicator = self.indicator[v]
            if v in self.causes[v]:
                return _masks_itself(name)
            masked = self.incomplete(self.causes[v])
            if not self.independent(
                {indicator},
                masked - self.before[v],
                self.dag[indicator],
            ):
                return f"because R_{name} depends on whether its causes are observed"
            causes = self.sorted(self.causes[v])
            rows = self.sorted(masked | self.before[v])
            propensities.append(Propensity(name, causes, rows))
        # The formula.
        causes_of_weighed = [self.causes[v] for v in weighed]
        over = self.sorted(needed.union(*causes_of_weighed) - family)
        observed = self.sorted(needed)
        cells = (*self.texts([child, *parents]), *over)
        numerator = probability([*cells, *map(_indicator, observed)])
        text = f"{_sum_over(over)}{numerator}"
        denominators = []
        for variable, causes, rows in propensities:
            factor = probability([_indicator(variable)], causes, rows)
            denominators.append(factor)
        if denominators:
            text += f" / [{' '.join(denominators)}]"
        return Estimand(
            text,
            None,
            observed,
            tuple(propensities),
            is_joint=weighed == needed,
        )

    def proof(self, child: int, parents: Sequence[int]) -> str | None:
        """Return why no formula for a family exists, in words; ``None`` without a proof."""
        name = self.names[child]
        if child in self.causes.get(child, ()):
            return _masks_itself(name)
        for v in sorted(self.incomplete(parents)):
            if {v, child} <= self.causes[v]:
                parent = self.names[v]
                return (
                    f"because {parent} masks itself and its missing cells depend on {name}, too "
                    f"({parent} -> R_{parent} <- {name})"
                )
        return None

    def independent(
        self,
        variables: Collection[int],
        lacking: Collection[int],
        given: Collection[int],
    ) -> bool:
        """Whether nodes are d-separated from the indicators of some variables."""
        indicators = {self.indicator[v] for v in lacking}
        return (
            not indicators
            or active_trail(self.dag, variables, indicators, given) is None
        )

    def incomplete(self, variables: Iterable[int]) -> Indices:
        """Return those variables that have missing cells."""
        return frozenset(v for v in variables if v in self.indicator)

    def texts(self, variables: Iterable[int]) -> Names:
        """Return the names of variables."""
        return tuple(self.names[v] for v in variables)

    def sorted(self, variables: Iterable[int]) -> Names:
        """Return the names of variables in the order of the table."""
        return self.texts(sorted(variables))


def _masks_itself(name: str) -> str:
    return f"because {name} masks itself ({name} -> R_{name})"
