"""What cells to hide, written in a line such as ``mcar:0.1``, ``mar:0.1`` or ``mnar:2``.

A cell's amount P is a share with a decimal point or exponent (``0.1``, ``1e-2``), strictly between
0 and 1; an amount K is a whole number of cells. Cells missing before stay so, and a share counts
observed cells only. States of hidden cells stay declared.

``mcar:P``
    Every cell is hidden with probability P, independently of everything.
``mcar:K``
    K cells of every variable, drawn without replacement. The augmentation paper's "MAR" data.
``mar:P`` or ``mar:P:NAME``
    A driver, NAME or else the first variable without missing cells, stays complete. Every cell of
    the other variables is hidden with a probability set by the driver's state in its row: linear
    in the state's index, three times as high for the last state as for the first, and P on the
    average over the rows.
``mnar:K:S``
    Adel & de Campos' protocol: K cells of every variable, all of them of state index S.
``mnar:K``
    The same, each variable with its own state, drawn among those with more than K cells.
``mnar:P:S``
    A share P of all the cells, of any variables, all of state index S (their SPECT experiment).
``mnar:P``
    The same, with one state index for the whole table drawn among those that have enough cells.

No mechanism hides a whole column. MNAR also leaves a cell of the hidden state in every variable
that had one: of a state with K cells or fewer in a variable, ``mnar:K:S`` hides all but one.
"""

import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from exactlearn._runtime.did_you_mean import suggestion
from exactlearn.errors import OptionError

Mechanism = Literal["mcar", "mar", "mnar"]

MECHANISMS: tuple[Mechanism, ...] = get_args(Mechanism)

GRAMMAR = (
    "expected mcar:P, mcar:K, mar:P, mar:P:NAME, mnar:K, mnar:K:S, mnar:P or mnar:P:S with a share "
    "P as in 0.1, a number of cells per variable K as in 2, a state index S as in 0"
)


@dataclass(frozen=True)
class Spec:
    """What to hide.

    Parameters
    ----------
    mechanism
        ``"mcar"``, ``"mar"`` or ``"mnar"``.
    share
        Share of the observed cells, or ``None``.
    count
        Cells per variable, or ``None``; one of the two is set.
    driver
        Variable that MAR depends on, or ``None`` for the first complete one.
    state
        State index that MNAR hides, or ``None`` for a drawn one.
    """

    mechanism: Mechanism
    share: float | None = None
    count: int | None = None
    driver: str | None = None
    state: int | None = None


def parse_spec(text: str) -> Spec:
    """Read a specification, as the module explains them.

    Raises
    ------
    OptionError
        When it does not follow the grammar, or an amount is out of range.

    Examples
    --------
    >>> parse_spec("mnar:2:1")
    Spec(mechanism='mnar', share=None, count=2, driver=None, state=1)
    """
    mechanism, amount, detail = [*text.split(":", 2), "", ""][:3]
    fault = _fault(mechanism, amount, detail, text.count(":"))
    if fault:
        raise OptionError(f"missingness {text!r}: {fault}; {GRAMMAR}")
    return Spec(
        cast(Mechanism, mechanism),
        share=None if amount.isdecimal() else float(amount),
        count=int(amount) if amount.isdecimal() else None,
        driver=detail if mechanism == "mar" and detail else None,
        state=int(detail) if mechanism == "mnar" and detail else None,
    )


def _fault(mechanism: str, amount: str, detail: str, colons: int) -> str:
    """Return what is wrong with the parts of a specification, or nothing."""
    if mechanism not in MECHANISMS:
        return f"unknown mechanism {mechanism!r}{suggestion(mechanism, MECHANISMS)}"
    if not re.fullmatch(r"\d+|\d*\.\d+(e-?\d+)?|\d+e-\d+", amount):
        return f"the amount {amount!r} is no number"
    if amount.isdecimal() and (int(amount) < 1 or mechanism == "mar"):
        return f"the amount {amount} is no share" if mechanism == "mar" else "nothing to hide"
    if not amount.isdecimal() and not 0 < float(amount) < 1:
        return f"the share {amount} is not between 0 and 1"
    if colons > 1 and not detail:
        return "nothing follows the last colon"
    if detail and mechanism == "mcar":
        return f"mcar depends on nothing, but {detail!r} follows"
    if detail and mechanism == "mnar" and not detail.isdecimal():
        return f"{detail!r} is no state index"
    return ""
