r"""Estimands: formulas that recover a distribution from the rows that observe some variables.

With :math:`R_v = ob` for "the cell of v is observed", each kind of formula has a class; its text is
:meth:`formula`. :mod:`exactlearn.bayesnet.recoverability` chooses one for each family of a network.

=============== ==================================================================================
Class           Formula
=============== ==================================================================================
`Available`     :math:`P(Y \mid Z, R = ob)`: frequencies in the available cases
`Stratified`    :math:`\sum_W P(Y_m \mid Y_o, W, R = ob) P(Y_o, W)`, W and :math:`Y_o` without
                missing cells: informed deletion (DEL, section 3)
`Summed`        :math:`\sum_W P(Y \mid Z, W) P(W \mid Z)` of two other estimands
`Chained`       :math:`P(Y_1 \mid Y_2, Z) P(Y_2 \mid Z)` of two other estimands
`Conditioned`   :math:`P(Y, Z) / P(Z)` of another estimand
`Weighted`      :math:`P(Y, W, R = ob) / P(R = ob \mid Y, W)` summed over W: inverse probability
                weighting (Mohan, Pearl and Tian 2013; DEL, Figure 4)
=============== ==================================================================================

Sources: DEL is Van den Broeck, Mohan, Choi, Darwiche and Pearl, "Efficient algorithms for Bayesian
network parameter learning from incomplete data"; Mohan, Pearl and Tian 2013, "Graphical models for
inference with missing data". The theorems are in ``docs/theory/recoverability.md``.
"""

from collections.abc import Iterable
from dataclasses import dataclass

Names = tuple[str, ...]


@dataclass(frozen=True)
class Available:
    """Frequencies of some variables given others in the rows that observe all of them.

    Parameters
    ----------
    variables, given
        The distribution's variables, and those that it is conditional on.
    observed
        Those of them that rows may lack.

    Examples
    --------
    >>> Available(("income",), ("age",), ("income",)).formula()
    'P(income | age, R_income = ob)'
    """

    variables: Names
    given: Names
    observed: Names

    def formula(self) -> str:
        """Return the formula as text."""
        return probability(self.variables, self.given, self.observed)


@dataclass(frozen=True)
class Stratified:
    """A joint distribution by strata of variables that every row observes (informed deletion).

    Parameters
    ----------
    incomplete
        Variables of the distribution that rows may lack.
    complete
        The others.
    separators
        More variables that every row observes: given these and ``complete``, the incomplete ones do
        not depend on whether they are observed.
    """

    incomplete: Names
    complete: Names
    separators: Names

    def formula(self) -> str:
        """Return the formula as text."""
        strata = (*self.complete, *self.separators)
        inner = probability(self.incomplete, strata, self.incomplete)
        outer = f" {probability(strata)}" if strata else ""
        return f"{_sum_over(self.separators)}{inner}{outer}"


@dataclass(frozen=True)
class Summed:
    """The sum over some variables of one distribution given these times their distribution.

    Parameters
    ----------
    over
        The variables summed over.
    inner
        A distribution given them.
    outer
        Their distribution.
    """

    over: Names
    inner: "Tree"
    outer: "Tree"

    def formula(self) -> str:
        """Return the formula as text."""
        return f"{_sum_over(self.over)}{_factor(self.inner)} {_factor(self.outer)}"


@dataclass(frozen=True)
class Chained:
    """A joint distribution as the product of that of some variables given others and of these."""

    first: "Tree"
    second: "Tree"

    def formula(self) -> str:
        """Return the formula as text."""
        return f"{_factor(self.first)} {_factor(self.second)}"


@dataclass(frozen=True)
class Conditioned:
    """The conditional distribution of some variables in a joint distribution."""

    variables: Names
    joint: "Tree"

    def formula(self) -> str:
        """Return the formula as text."""
        joint = self.joint.formula()
        return f"[{joint}] / [sum over {', '.join(self.variables)} of {joint}]"


Tree = Available | Summed | Chained | Conditioned


@dataclass(frozen=True)
class Propensity:
    """The probability that a variable is observed given the causes of its indicator.

    Parameters
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

    def formula(self) -> str:
        """Return the formula as text."""
        return f"P({conditions(_indicator(self.variable), self.causes, self.observed)})"


@dataclass(frozen=True)
class PatternOdds:
    """The probability that variables are all observed, from the odds of all other patterns.

    The odds of a pattern in which the cells of M are missing, against none, are the product of the
    factors of all sets within M. The factor of a set does not depend on its own variables, so that
    it is a ratio of observed probabilities, once the factors of the smaller sets are known.

    Parameters
    ----------
    variables
        The variables, whose indicators depend on each other.
    others
        Other variables that the rows counted observe.
    factors
        The sets with a factor, the smaller ones first, each with the variables that it depends on.
    """

    variables: Names
    others: Names
    factors: tuple[tuple[Names, Names], ...]

    @property
    def patterns(self) -> tuple[tuple[Names, tuple[int, ...]], ...]:
        """The patterns but the complete one: the missing variables, and the factors of the odds."""
        sets = [frozenset(members) for members, _ in self.factors]
        found = []
        for code in range(1, 1 << len(self.variables)):
            missing = tuple(v for k, v in enumerate(self.variables) if code >> k & 1)
            found.append((missing, tuple(k for k, s in enumerate(sets) if s <= {*missing})))
        return tuple(found)

    def smaller(self, factor: int) -> tuple[int, ...]:
        """Return the factors of the proper subsets of a factor's set."""
        members = {*self.factors[factor][0]}
        return tuple(k for k, (other, _) in enumerate(self.factors) if {*other} < members)

    def formula(self) -> str:
        """Return the formula as text: of the probability, and of each factor."""
        names = [f"O({', '.join(members)})" for members, _ in self.factors]
        odds = " + ".join(" ".join(names[k] for k in factors) for _, factors in self.patterns)
        if len(self.variables) > 2:
            every = f"all nonempty sets M of {', '.join(self.variables)}"
            odds = f"sum over {every} of the product of the O(A) of all sets A within M"
        where = []
        for f, (members, scope) in enumerate(self.factors):
            rest = [v for v in (*self.variables, *self.others) if v not in members]
            missing = [f"R_{v} = mi" for v in members]
            above = ", ".join([*scope, *missing, *map(_indicator, rest)])
            smaller = self.smaller(f)
            more = [v for k in smaller for v in self.factors[k][1] if v not in scope]
            over = tuple(dict.fromkeys(more))
            cells = [*scope, *over, *map(_indicator, (*members, *rest))]
            below = " ".join([f"P({', '.join(cells)})", *(names[k] for k in smaller)])
            below = f"[{_sum_over(over)}{below}]" if smaller else below
            where.append(f"{names[f]} = P({above}) / {below}")
        return f"1 / [1 + {odds}] where {'; '.join(where)}"


@dataclass(frozen=True)
class Weighted:
    """A family in the rows that observe some variables, each weighted by inverse probability.

    Parameters
    ----------
    child, parents
        The family.
    over
        The other variables that the rows have to observe.
    observed
        All those that rows may lack and these rows must observe.
    propensities
        Probabilities that variables are observed.
    patterns
        Probabilities that groups of variables are observed, where a propensity alone is not known.
    is_joint
        Whether the weighted frequencies are the joint distribution of the family, or only
        proportional to it given its parents.
    """

    child: str
    parents: Names
    over: Names
    observed: Names
    propensities: tuple[Propensity, ...]
    patterns: tuple[PatternOdds, ...]
    is_joint: bool

    def formula(self) -> str:
        """Return the formula as text."""
        cells = (self.child, *self.parents, *self.over)
        below = [p.formula() for p in self.propensities]
        names = [", ".join(map(_indicator, p.variables)) for p in self.patterns]
        below += [f"P({name} | causes)" for name in names]
        inside = ", ".join([*cells, *map(_indicator, self.observed)])
        text = f"{_sum_over(self.over)}P({inside})"
        if below:
            text += f" / [{' '.join(below)}]"
        for name, pattern in zip(names, self.patterns, strict=True):
            text += f", with P({name} | causes) = {pattern.formula()}"
        return text


Estimand = Tree | Stratified | Weighted


def probability(variables: Iterable[str], given: Iterable[str] = (), ob: Iterable[str] = ()) -> str:
    """Return the text of a probability, given variables and observed cells.

    Examples
    --------
    >>> probability("y", "x", "xy")
    'P(y | x, R_x = ob, R_y = ob)'
    """
    return f"P({conditions(', '.join(variables), given, ob)})"


def conditions(text: str, given: Iterable[str], ob: Iterable[str]) -> str:
    """Return a text with what it is conditional on."""
    behind = ", ".join([*given, *map(_indicator, ob)])
    return f"{text} | {behind}" if behind else text


def _indicator(name: str) -> str:
    return f"R_{name} = ob"


def _sum_over(names: Names) -> str:
    return f"sum over {', '.join(names)} of " if names else ""


def _factor(tree: Tree) -> str:
    """Return a formula, in brackets where it is no product."""
    text = tree.formula()
    return text if isinstance(tree, Available | Chained) else f"[{text}]"
