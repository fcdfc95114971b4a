"""A smallest set of constraints that contradict each other.

Smallest by inclusion: without any one of them the rest can be satisfied. Found by halving
(Junker 2004, "QuickXplain"), so that few tests are needed when few of many constraints matter.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def minimal_conflict(
    requirements: Sequence[T], is_feasible: Callable[[Sequence[T]], bool]
) -> tuple[T, ...]:
    """Return requirements that cannot be satisfied together, none of which can be spared.

    Parameters
    ----------
    requirements
        Requirements that cannot be satisfied together; earlier ones are rather kept.
    is_feasible
        Tells whether some of them can be; fewer are never harder to satisfy.

    Examples
    --------
    >>> minimal_conflict([5, 1, 7, 4], lambda some: sum(some) < 11)
    (5, 7)
    """
    return tuple(_needed([], [], list(requirements), is_feasible))


def _needed(
    given: list[T], added: list[T], rest: list[T], is_feasible: Callable[[Sequence[T]], bool]
) -> list[T]:
    """Return which of the rest are needed besides the given ones; ``added`` came last to those."""
    if added and not is_feasible(given):
        return []
    if len(rest) <= 1:
        return rest
    half = len(rest) // 2
    first, second = rest[:half], rest[half:]
    late = _needed([*given, *first], first, second, is_feasible)
    early = _needed([*given, *late], late, first, is_feasible)
    return [*early, *late]
