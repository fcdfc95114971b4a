"""SIGTERM is taken as Ctrl-C, and ends what cannot hear it."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main
from exactlearn._runtime.control import (
    GRACE,
    REPEATED,
    Event,
    SearchControl,
    terminated_as_interrupted,
)
from tests.command_line import ENVIRONMENT


@contextmanager
def handled(handler, sent=signal.SIGINT):
    """Let another handler take a signal."""
    usual = signal.signal(sent, handler)
    try:
        yield
    finally:
        signal.signal(sent, usual)


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
class TestTermination:
    def test_the_first_sigterm_interrupts_and_the_handler_goes(self):
        with pytest.raises(KeyboardInterrupt), terminated_as_interrupted():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def test_it_does_what_ctrl_c_would_do_now(self):
        seen = []
        with (
            handled(lambda number, frame: seen.append(number)),
            terminated_as_interrupted(),
        ):
            signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGINT]

    @pytest.mark.parametrize("heard", [signal.default_int_handler, signal.SIG_IGN])
    def test_a_second_sigterm_raises_but_not_a_duplicate(self, heard):
        with (
            handled(heard),
            terminated_as_interrupted(),
            SearchControl().running() as control,
        ):
            for _ in range(2):
                signal.raise_signal(signal.SIGTERM)
                assert control.is_stopped
            time.sleep(REPEATED)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)

    def test_where_ctrl_c_is_ignored_sigterm_interrupts_all_the_same(self):
        with (
            handled(signal.SIG_IGN),
            pytest.raises(KeyboardInterrupt),
            terminated_as_interrupted(),
        ):
            signal.raise_signal(signal.SIGTERM)

    def test_a_handler_of_the_callers_own_stays(self):
        seen = []
        own = handled(lambda number, frame: seen.append(number), signal.SIGTERM)
        with own, terminated_as_interrupted():
            signal.raise_signal(signal.SIGTERM)
        assert seen == [signal.SIGTERM]

    def test_other_threads_are_left_alone(self):
        def work():
            with terminated_as_interrupted():
                found.append(signal.getsignal(signal.SIGTERM))

        found = []
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert found == [signal.SIG_DFL]

    def test_it_interrupts_a_command_also_while_it_reads(self, monkeypatch):
        monkeypatch.setattr(
            "exactlearn.formats.models.read_model",
            lambda path, **options: signal.raise_signal(signal.SIGTERM),
        )
        done = CliRunner().invoke(main, ["query", "asia"])
        assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Interrupted.\n")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


STUCK = """
import hashlib, signal, sys, time
from pathlib import Path
from exactlearn._runtime import control
from exactlearn._runtime.kernel import MOST_ELEMENTS, kernel

@kernel
def mixed(steps):
    number = 1
    for step in range(steps):
        number = (number ^ step) * 25214903917 + 11
    return number

def loop():
    while True:
        try:
            time.sleep(1e-3)
        except BaseException:
            pass  # as libraries do that call back

def library():
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2 ** 31 - 1)

def compiled():
    mixed(1 << 40)

mixed(MOST_ELEMENTS + 1)  # compiled here: a smaller job runs as plain Python
assert mixed.overloads
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
control.UNFINISHED.add(Path(sys.argv[3]))
with control.terminated_as_interrupted(), control.SearchControl().running():
    with control.ended_by_signal(int(sys.argv[1])):
        print("ready", flush=True)
        globals()[sys.argv[2]]()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("sent", "count", "stuck"),
    [
        ("SIGTERM", 1, "compiled"),
        ("SIGTERM", 2, "compiled"),
        ("SIGTERM", 2, "loop"),
        ("SIGINT", 2, "library"),
        ("SIGINT", 2, "loop"),
    ],
)
def test_a_signal_ends_what_never_hears_it(tmp_path, sent, count, stuck):
    script, unfinished = tmp_path / "stuck.py", tmp_path / "model.tmp"
    script.write_text(STUCK)
    unfinished.write_text("half")
    words = [sys.executable, script, str(count), stuck, unfinished]
    with subprocess.Popen(
        words,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        try:
            assert run.stdout.readline() == "ready\n"
            time.sleep(0.5)  # until it is stuck
            for _ in range(count):
                assert (
                    run.poll() is None
                )  # the first of two leaves time to end with an answer
                run.send_signal(getattr(signal, sent))
                time.sleep(GRACE + 0.5)
            told = run.communicate(timeout=60)[1]
        finally:
            run.kill()
    assert (run.returncode, told) == (130, "Interrupted.\n")
    assert not unfinished.exists()


class TestSearchControl:
    def test_ctrl_c_stops_and_a_second_one_raises(self):
        with SearchControl().running() as control:
            signal.raise_signal(signal.SIGINT)
            assert control.is_over
            assert control.status == "interrupted"
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_sigterm_stops_where_ctrl_c_is_ignored(self):
        outer = SearchControl()
        with handled(signal.SIG_IGN), terminated_as_interrupted(), outer.running():
            with SearchControl().running() as inside:
                signal.raise_signal(signal.SIGTERM)
                assert inside.is_stopped
            assert outer.is_stopped

    def test_another_handler_stays(self):
        heard = []
        control = SearchControl()
        with handled(lambda number, frame: heard.append(number)), control.running():
            signal.raise_signal(signal.SIGINT)
            assert not control.is_stopped
        assert heard == [signal.SIGINT]

    def test_what_runs_inside_stops_with_what_runs_outside(self):
        with (
            SearchControl(60.0).running() as outside,
            SearchControl().running() as inside,
        ):
            part = inside.part(0.5)
            assert inside.remaining is None  # only the wish to stop is passed on
            signal.raise_signal(signal.SIGINT)
            assert outside.is_stopped
            assert inside.is_stopped
            assert part.is_stopped
        assert not SearchControl().is_stopped

    def test_a_part_may_end_alone_but_no_later(self):
        control = SearchControl(60.0)
        part = control.part(0.5)
        assert 29.0 < part.left <= 30.0
        assert SearchControl(100.0, outer=control).left <= 60.0
        part.stop()
        assert part.is_over
        assert not control.is_over

    def test_a_part_of_what_runs_here_ends_no_later(self):
        with SearchControl(60.0).running() as outside:
            with SearchControl.within(100.0).running() as inside:
                assert inside.deadline == outside.deadline
                assert SearchControl.within(1.0).left <= 1.0
                signal.raise_signal(signal.SIGINT)
            assert outside.is_stopped
            assert inside.is_stopped
            assert SearchControl.within().status == "interrupted"
        assert SearchControl.within().remaining is None

    def test_no_signal_is_touched_in_another_thread(self):
        found = []

        def run():
            with SearchControl().running() as control:
                found.append((signal.getsignal(signal.SIGINT), control.is_stopped))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        assert found == [(signal.default_int_handler, False)]

    def test_a_limit_is_no_interrupt(self):
        control = SearchControl(0.0)
        assert control.is_over
        assert control.status == "feasible"

    def test_improvements_are_traced_once_by_the_outer_control(self):
        heard = []
        outer = SearchControl(on_event=heard.append)
        part = outer.part(1.0)
        part.state = lambda: Event(0.5, -3.0, -1.0, 7, ((),))
        part.record()
        part.record()
        assert part.trace == [(0.5, -3.0, -1.0)]
        assert [event.nodes for event in heard] == [7, 7]
        part.aside().record()
        assert len(heard) == 2
