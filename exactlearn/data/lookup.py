"""Variables and states found by their names."""

from collections.abc import Mapping, Sequence

from exactlearn._runtime.did_you_mean import suggestion
from exactlearn.data.column import number
from exactlearn.data.discretisation import interval
from exactlearn.errors import OptionError


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

    A number that is no state stands for the bin that it lies in.

    Raises
    ------
    OptionError
        When the variable has no such state; the message lists near or all states.
    """
    (found,) = find_states([state], states)
    if found is None:
        raise OptionError(
            f"variable {variable!r} has no state {state!r}{suggestion(state, states)}"
        )
    return found


def find_states(labels: Sequence[str], states: Sequence[str]) -> list[int | None]:
    """Return the code of each label: of the state of this name, else of the bin of this number.

    Examples
    --------
    >>> find_states([">2.5", "2.5", "9", "yes"], ("<=2.5", ">2.5"))
    [1, 0, 1, None]
    """
    position = {state: k for k, state in enumerate(states)}
    bins = [(k, *interval(state)) for k, state in enumerate(states)]
    bins = [(k, low, high) for k, low, high in bins if low < high]

    def found(label: str) -> int | None:
        if label in position or not bins:
            return position.get(label)
        value = number(label)
        return next((k for k, low, high in bins if low < value <= high), None)

    return [found(label) for label in labels]
