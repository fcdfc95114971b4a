"""Ctrl-C as the tests press it, and controls that end a search after so many looks at them."""

import os
import signal

import pytest

from exactlearn._runtime.control import SearchControl


def press_ctrl_c(*told: object, **options: object) -> None:
    """Press Ctrl-C, once for each search; takes whatever a listener is told."""
    running = getattr(signal.getsignal(signal.SIGINT), "__self__", None)
    if not isinstance(running, SearchControl) or not running.is_stopped:
        os.kill(os.getpid(), signal.SIGINT)


def press_before(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> None:
    """Let Ctrl-C be pressed whenever a function begins."""
    usual = getattr(owner, name)

    def pressed(*arguments: object, **options: object) -> object:
        press_ctrl_c()
        return usual(*arguments, **options)

    monkeypatch.setattr(owner, name, pressed)


class Looks(SearchControl):
    """A control whose search is over after a number of looks."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    @property
    def is_over(self) -> bool:
        """Count the look."""
        self.looks -= 1
        return self.looks < 0
