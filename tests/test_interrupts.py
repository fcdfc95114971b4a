"""Ctrl-C that comes wrapped is taken as what it is; other errors stay what they are."""

import pytest

from exactlearn.interrupts import interruptible


def wrapped(cause: BaseException) -> None:
    """Raise what Python raises when a compiled function returns with an exception set."""
    raise SystemError("returned a result with an exception set") from cause


def test_a_wrapped_interrupt_is_one() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        wrapped(KeyboardInterrupt())


def test_a_plain_interrupt_stays_one() -> None:
    with pytest.raises(KeyboardInterrupt), interruptible():
        raise KeyboardInterrupt


def test_another_fault_stays_what_it_is() -> None:
    with pytest.raises(SystemError, match="a result"), interruptible():
        wrapped(ValueError())
