"""Variables and states found by their names."""

from collections.abc import Mapping, Sequence

from exactlearn.errors import OptionError
from exactlearn.suggestion import suggestion


def variable_index(name: str, index: Mapping[str, int]) -> int:
    """Return the index of a variable.

    Raises
    ------
    OptionError
        When there is no such variable; the message suggests near names.
    """
    if name not in index:
        raise OptionError(f"no variable {name!r}{suggestion(name, index)}")
    return index[name]


def state_index(state: str, states: Sequence[str], variable: str) -> int:
    """Return the code of a state of the variable with this name.

    Raises
    ------
    OptionError
        When the variable has no such state; the message lists near or all states.
    """
    if state not in states:
        raise OptionError(
            f"variable {variable!r} has no state {state!r}{suggestion(state, states)}"
        )
    return states.index(state)
