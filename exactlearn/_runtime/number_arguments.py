"""The kinds of numbers that arguments of functions, options and keys of run files may be.

Whole numbers may be given as floats and fractions of that value, as pandas gives them; a truth
value is no number, and NaN is none of any kind.
"""

import sys
from dataclasses import dataclass, replace
from math import inf
from numbers import Integral, Real
from typing import Any

from exactlearn._runtime.argument_kinds import refusal
from exactlearn.errors import OptionError, name_written

MAX_WHOLE = 2**63 - 1
"""Largest whole number: that of the kernels."""

MAX_FINITE = sys.float_info.max
"""Largest number where an infinite one has no meaning."""

MAX_SMOOTHING = 1e300
"""Largest pseudo-count, of which sums and quotients are floats."""


@dataclass(frozen=True)
class NumberKind:
    """A kind of number; called with an argument and its parameter, the check that it is one.

    Parameters
    ----------
    is_whole
        Whether the number has no fraction.
    minimum, maximum
        The range.
    is_open
        Whether the minimum itself is excluded.
    words
        What may stand in place of a number.
    """

    is_whole: bool
    minimum: float = -inf
    maximum: float = inf
    is_open: bool = False
    words: tuple[str | None, ...] = ()

    def or_word(self, *words: str | None) -> "NumberKind":
        """Return the kind in whose place these words may stand."""
        return replace(self, words=words)

    @property
    def expected(self) -> str:
        """The kind in words, for messages."""
        kind = "a whole number" if self.is_whole else "a number"
        if self.maximum == MAX_FINITE:
            kind = "a finite number"
        if self.minimum > -inf:
            kind += f" {'above' if self.is_open else 'from'} {self.minimum:g}"
        if self.maximum not in (MAX_WHOLE, MAX_FINITE, inf):
            kind += f" to {self.maximum:g}"
        return " or ".join((kind, *map(repr, self.words)))

    def __call__(self, value: Any, name: str) -> Any:
        """Return the number as an int or a float, or the word in its place.

        An infinite float stands for a larger one.

        Raises
        ------
        ArgumentError
            When it is neither.
        OptionError
            When the number is NaN or out of range, or has a fraction and should be whole.

        Examples
        --------
        >>> whole_number(1)(2.0, "k"), SECONDS(0.5, "time_limit"), SIZE.or_word("all")("all", "k")
        (2, 0.5, 'all')
        >>> whole_number(1)(1.5, "k")
        Traceback (most recent call last):
        exactlearn.errors.OptionError: argument 'k': expected a whole number from 1, found 1.5
        """
        if (value is None or isinstance(value, str)) and value in self.words:
            return value
        if isinstance(value, bool) or not isinstance(value, Real):
            raise refusal(name, self.expected, value)
        number = _plain(value)
        # The range, and that of whole numbers in kernels.
        if self.is_whole and number > MAX_WHOLE:
            fault = f"expected {self.expected}, below 2**63, found {number}"
        elif number not in self:
            fault = f"expected {self.expected}, found {number}"
        else:
            return int(number) if self.is_whole else number
        raise OptionError(f"argument {name_written(name)!r}: {fault}")

    def __contains__(self, number: float) -> bool:
        """Return whether a number is in the range, and whole where it must be."""
        is_fraction = self.is_whole and number % 1 != 0
        is_excluded = self.is_open and number == self.minimum
        is_in_range = self.minimum <= number <= self.maximum
        return is_in_range and not is_excluded and not is_fraction


def _plain(number: Any) -> float:
    """Return a number as an int where it is one and not too large, else as a float."""
    if isinstance(number, Integral) and abs(int(number)) <= MAX_WHOLE:
        return int(number)
    try:
        return float(number)
    except OverflowError:
        return inf if number > 0 else -inf


def whole_number(minimum: int, maximum: int = MAX_WHOLE) -> NumberKind:
    """Return the kind of whole numbers in a range."""
    return NumberKind(True, minimum, maximum)


def real_number(minimum: float = -inf, maximum: float = inf) -> NumberKind:
    """Return the kind of numbers in a range; an infinite one belongs to it without a maximum."""
    return NumberKind(False, minimum, maximum)


POSITIVE = NumberKind(False, 0, MAX_FINITE, is_open=True)
"""Finite numbers above zero."""

COUNT = whole_number(1)
SIZE = whole_number(0)
SECONDS = real_number(0)
FRACTION = real_number(0, 1)


_NAMES: dict[NumberKind, str] = {
    COUNT: "block_bytes candidate_parents components draws jobs k max_clique max_size memory_limit "
    "n networks replicates restarts starts t threads",
    SIZE: "iterations queries rows seed steps",
    SIZE.or_word(None): "max_parents",
    whole_number(2): "bins folds",
    whole_number(1, 2): "phases",
    SECONDS: "time_limit",
    FRACTION: "greediness significance size_weight",
    POSITIVE.or_word("auto"): "ess",
    real_number(0, MAX_FINITE): "cell_weight gap merge_budget scoring_time tolerance",
    real_number(0, MAX_SMOOTHING): "smoothing",
    real_number(1, MAX_FINITE): "factor",
    real_number(-MAX_FINITE, MAX_FINITE): "least",
}

NUMBERS = {name: kind for kind, names in _NAMES.items() for name in names.split()}
"""The kinds of numbers by the names of parameters, of options and of keys of run files."""
