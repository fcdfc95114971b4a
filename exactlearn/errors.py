"""The errors a user can meet.

::

    ExactlearnError
    ├── DataError         (ValueError)         a table or a value in it is unusable
    │   └── FormatError                        a file does not follow its format
    ├── OptionError       (ValueError)         an option, a run file key or a name is wrong
    ├── ArgumentError     (TypeError)          an argument is of a kind that a function cannot use
    ├── TooLargeError     (ValueError)         the exact method would enumerate too much
    ├── InfeasibleError   (ValueError)         the constraints exclude every network
    ├── MissingExtraError (ImportError)        an optional dependency is not installed
    ├── SolverError       (RuntimeError)       a solver failed
    └── CheckError        (RuntimeError)       a result contradicts its own recomputation

    ColumnWarning         (UserWarning)        columns are left out, cut into bins, or of no use
    StateWarning          (UserWarning)        labels are joined, or unseen values count as missing
    TimeLimitWarning      (UserWarning)        a default stands in for a choice that had no time

Every message says what was expected, what was found, where, and what to do. ``exit_status`` is
what the command line exits with.
"""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from enum import IntEnum
from typing import Any


class ExitStatus(IntEnum):
    """The exit statuses of the command line."""

    DONE = 0
    UNEXPECTED = 1
    MISTAKE = 2
    LIMITED = 3
    INFEASIBLE = 4
    FAILED = 5
    INTERRUPTED = 130
    UNREAD = 141
    """Nobody reads the output any more; what a shell reports of a process that SIGPIPE ended."""

    @classmethod
    def of(cls, status: str) -> "ExitStatus":
        """Return the exit status of a command whose search ended so."""
        ends = {
            "feasible": cls.LIMITED,
            "infeasible": cls.INFEASIBLE,
            "interrupted": cls.INTERRUPTED,
            "failed": cls.FAILED,
        }
        return ends.get(status, cls.DONE)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn of the line outside of this package that called it."""
    frame = sys._getframe()
    level = 1
    # each frame of this package adds one to what the warning skips
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("exactlearn"):
        frame = frame.f_back
        level += 1
    warnings.warn(shortened(message), category, stacklevel=level)


_WORD = re.compile(r"(?<!\w)'[^'\n]*'|\S+")
"""A quote or a word of a message."""

_LONG = 300
"""Characters from which on a word loses its middle: more than most paths have."""

MAX_MESSAGE = 10_000
"""Most characters of a message: the names of some hundred columns, which are to be copied."""

MAX_VALUE = 200
"""Most characters of a value that a message quotes."""


def shortened(message: str, max_length: int = MAX_MESSAGE) -> str:
    """Return a message in which long words and quotes lose their middle, but no list does.

    A message may quote a name or a field of any length; what it lists, and what to do, stays,
    unless the list has hundreds of entries: the message keeps ``max_length`` characters of its
    beginning and end.

    Examples
    --------
    >>> shortened("no variable '" + 1000 * "x" + "'")
    "no variable 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx...xxxxxxxxxxxxxxxxxxxxxxxxxxxxx'"
    """
    brief = _WORD.sub(
        lambda word: (
            word[0] if len(word[0]) < _LONG else f"{word[0][:30]}...{word[0][-30:]}"
        ),
        message,
    )
    # what was found stands at the beginning of a message, the cure at its end
    if len(brief) <= max_length:
        return brief
    return f"{brief[: max_length * 2 // 3]} ... {brief[-max_length // 3 :]}"


def shown(value: object) -> str:
    """Return a value as a message quotes it: of a long list or table the beginning and the end.

    Examples
    --------
    >>> shown([1, 2]), len(shown(list(range(100_000))))
    ('[1, 2]', 205)
    """
    return shortened(repr(value), MAX_VALUE)


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def printable(text: str) -> str:
    r"""Return a text with control characters escaped, but for line feeds and tabs.

    Examples
    --------
    >>> printable(f"a{chr(27)}[31m")
    'a\\x1b[31m'
    """
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return the end of a message about an unknown name: near names, or all when none is near.

    Parameters
    ----------
    name
        The unknown name.
    choices
        The names that there are.

    Examples
    --------
    >>> did_you_mean("smoek", ["smoke", "lung"])
    "; did you mean 'smoke'?"
    >>> did_you_mean("age", ["smoke", "lung"])
    "; expected one of 'smoke', 'lung'"
    """
    choices = list(choices)
    # a misspelt name has near ones; all are listed for a name of another kind
    if near := get_close_matches(name, choices):
        return f"; did you mean {' or '.join(map(repr, near))}?"
    listed = ", ".join(map(repr, choices[:12]))
    return f"; expected one of {listed}{', ...' if len(choices) > 12 else ''}"


def as_keyword(parameter: str, value: Any = None) -> str:
    """Return a parameter and its value as they are written in Python.

    Examples
    --------
    >>> as_keyword("drop", ["id"]), as_keyword("states")
    ("drop=['id']", 'states')
    """
    return parameter if value is None else f"{parameter}={value!r}"


_WRITTEN: ContextVar[Callable[[str, Any], str]] = ContextVar(
    "written", default=as_keyword
)
"""The function that writes a parameter as the reader of messages knows it."""

HOMES = {
    **dict.fromkeys(
        ("discretise", "drop", "missing", "states", "tidy"),
        "Dataset.from_frame(frame, {})",
    ),
    **dict.fromkeys(
        ("arities", "decimal", "header", "separator"), "read_dataset(path, {})"
    ),
    "ess": "learn(table, {})",
    "smoothing": "fit_em(table, parents, {})",
    "size_weight": "PenalisedLikelihood({})",
}
"""The calls that take a parameter which not every function has that may advise it."""

_TAKEN: ContextVar[frozenset[str] | None] = ContextVar("taken", default=None)
"""The parameters of the public function that was called from outside of the package."""


def as_written(parameter: str, value: Any = None) -> str:
    """Return a parameter and its value as a message advises them.

    The command line has options. In Python, a parameter that the called function lacks is written
    with a call that takes it (:data:`HOMES`).

    Parameters
    ----------
    parameter
        The name of the parameter of public functions.
    value
        What to pass; ``None`` names the parameter alone.

    Examples
    --------
    >>> with parameters_taken({"drop"}):
    ...     as_written("drop", ["id"]), as_written("tidy", True)
    ("drop=['id']", 'Dataset.from_frame(frame, tidy=True)')
    """
    write = _WRITTEN.get()
    taken = _TAKEN.get()
    is_taken = taken is None or parameter in taken
    # the command line has every option; a function without the parameter names one that has it
    if write is as_keyword and parameter in HOMES and not is_taken:
        keyword = f"{parameter}=..." if value is None else write(parameter, value)
        return HOMES[parameter].format(keyword)
    return write(parameter, value)


def name_written(parameter: str) -> str:
    """Return the name of a parameter that was given, as it is written where messages are read."""
    return _WRITTEN.get()(parameter, None)


def parameters_taken(names: Iterable[str]) -> AbstractContextManager[None]:
    """Let messages that are made in the block know the parameters of the function that runs it.

    Those of a function that is called inside of another one do not count.
    """
    # advice is for who called the outermost function
    outer = _TAKEN.get()
    return _assigned(_TAKEN, frozenset(names) if outer is None else outer)


def parameters_written(
    write: Callable[[str, Any], str],
) -> AbstractContextManager[None]:
    """Let messages that are made in the block name parameters otherwise than in Python."""
    return _assigned(_WRITTEN, write)


@contextmanager
def _assigned(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    """Let a context variable have a value within the block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class ExactlearnError(Exception):
    """Base of all errors raised on purpose by this package.

    Examples
    --------
    >>> import exactlearn as el
    >>> try:
    ...     el.read_network("asya")
    ... except el.ExactlearnError as error:
    ...     print(type(error).__name__)
    OptionError
    """

    exit_status = ExitStatus.MISTAKE

    def __str__(self) -> str:
        """Return the message, long words and quotes shortened."""
        return shortened(super().__str__())


class DataError(ExactlearnError, ValueError):
    """Raised when a table, or a cell of it, cannot be used."""


class FormatError(DataError):
    """Raised when a file does not follow its format; names file, line and column."""


class OptionError(ExactlearnError, ValueError):
    """Raised when an option, a key of a run file, a variable or a state name is wrong."""


class ArgumentError(ExactlearnError, TypeError):
    """Raised when an argument is of the wrong kind; says what to pass instead."""


class TooLargeError(ExactlearnError, ValueError):
    """Raised before an enumeration that would not end; names size, limit and alternative."""


class InfeasibleError(ExactlearnError, ValueError):
    """Raised when the constraints exclude every network; names the conflicting constraints."""

    exit_status = ExitStatus.INFEASIBLE


class MissingExtraError(ExactlearnError, ImportError):
    """Raised when an optional dependency is needed and absent; names the extra to install."""


class SolverError(ExactlearnError, RuntimeError):
    """Raised when a solver fails or returns something that is not a solution."""

    exit_status = ExitStatus.FAILED


class CheckError(ExactlearnError, RuntimeError):
    """Raised when a result contradicts what is recomputed from the problem."""

    exit_status = ExitStatus.FAILED


class ColumnWarning(UserWarning):
    """Warned of columns: left out or cut by ``tidy``, read in an unusual way, or without use.

    One warning names all that ``tidy`` leaves out or cuts. Others name columns that another one
    determines, a line that is read as numbers of states, and a separator that was found out.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import exactlearn as el
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = el.learn(np.array([["a", "x"], ["a", "y"]]), tidy=True)
    >>> [str(one.message) for one in caught if one.category is ColumnWarning]
    ["left out: 'X0' (constant, every observed cell is 'a')"]
    >>> found.names, dict(found.left_out)
    (('X1',), {'X0': "constant, every observed cell is 'a'"})
    """


class StateWarning(UserWarning):
    """Warned once for all labels that are one state, and once for all values that are no state.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import exactlearn as el
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     table = el.Dataset.from_frame(np.array([["1", "a"], ["1.0", "b"], ["0", "a"]]))
    >>> [str(one.message) for one in caught if one.category is StateWarning]
    ["labels that denote one value are one state: column 'X0': '1', '1.0' are '1'"]
    >>> table.states
    (('0', '1'), ('a', 'b'))
    """


class TimeLimitWarning(UserWarning):
    """Warned when a time limit was too short for a choice, and the default stands in for it.

    An equal call may have the time, and learn another network.

    Examples
    --------
    >>> import warnings
    >>> import exactlearn as el
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = el.learn(el.read_dataset("cancer-mcar"), ess="auto", time_limit=0.0)
    >>> [one.category for one in caught] == [TimeLimitWarning], found.ess
    (True, 1.0)
    """
