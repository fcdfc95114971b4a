"""The end of an error message about a name that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return near names to offer, or the known ones when none is near.

    Parameters
    ----------
    name
        What was asked for.
    known
        What there is.

    Examples
    --------
    >>> suggestion("smoek", ["smoke", "lung"])
    "; did you mean 'smoke'?"
    >>> suggestion("age", ["smoke", "lung"])
    "; expected one of 'smoke', 'lung'"
    """
    known = list(known)
    near = get_close_matches(name, known, n=3)
    if near:
        return f"; did you mean {' or '.join(map(repr, near))}?"
    shown = ", ".join(map(repr, known[:12]))
    return f"; expected one of {shown}{', ...' if len(known) > 12 else ''}"
