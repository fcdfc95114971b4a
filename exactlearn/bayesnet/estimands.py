r"""Estimands: formulas that recover a distribution from the rows that observe some variables.

With :math:`R_v = ob` for "the cell of v is observed", each kind of formula has a class; its text is
:meth:`formula`. :mod:`exactlearn.bayesnet.recoverability` chooses one for each family of a network.

=============== ==================================================================================
Class           Formula
=============== ==================================================================================
`Available`     :math:`P(Y \mid Z, R = ob)`: frequencies in the available cases
`Stratified`    :math:`\sum_W P(Y_m \mid Y_o, W, R = ob) P(Y_o, W)`, W and :math:`Y_o` without
                missing cells: informed deletion (DEL, section 3)
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
    is_joint
        Whether the weighted frequencies are the joint distribution of the family, or only
        proportional to it given its parents.
    """

    child: str
    parents: Names
    over: Names
    observed: Names
    propensities: tuple[Propensity, ...]
    is_joint: bool

    def formula(self) -> str:
        """Return the formula as text."""
        cells = (self.child, *self.parents, *self.over)
        inside = ", ".join([*cells, *map(_indicator, self.observed)])
        below = " ".join(propensity.formula() for propensity in self.propensities)
        return f"{_sum_over(self.over)}P({inside})" + (f" / [{below}]" if below else "")


Estimand = Available | Stratified | Weighted


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
