"""SIGTERM is taken as Ctrl-C, and ends what cannot hear it."""

import signal
import subprocess
import sys
import threading
import time

import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main
from exactlearn._runtime.interrupts import terminated_as_interrupted
from exactlearn.commands import query


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
class TestTermination:
    def test_the_first_sigterm_interrupts_and_the_handler_goes(self):
        with pytest.raises(KeyboardInterrupt), terminated_as_interrupted():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    def test_it_does_what_ctrl_c_would_do_now(self):
        seen = []
        usual = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
        try:
            with terminated_as_interrupted():
                signal.raise_signal(signal.SIGTERM)
                assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        finally:
            signal.signal(signal.SIGINT, usual)
        assert seen == [signal.SIGINT]

    def test_where_ctrl_c_is_ignored_sigterm_interrupts_all_the_same(self):
        usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with pytest.raises(KeyboardInterrupt), terminated_as_interrupted():
                signal.raise_signal(signal.SIGTERM)
        finally:
            signal.signal(signal.SIGINT, usual)

    def test_a_handler_of_the_callers_own_stays(self):
        seen = []
        signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
        try:
            with terminated_as_interrupted():
                signal.raise_signal(signal.SIGTERM)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
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
        monkeypatch.setattr(query, "read_model", lambda path: signal.raise_signal(signal.SIGTERM))
        done = CliRunner().invoke(main, ["query", "asia"])
        assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Interrupted.\n")
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


STUCK = """
import sys
from pathlib import Path
from exactlearn._runtime import interrupts
from exactlearn._runtime.kernel import kernel

@kernel
def mixed(steps):
    number = 1
    for step in range(steps):
        number = (number ^ step) * 25214903917 + 11
    return number

interrupts.UNFINISHED.add(Path(sys.argv[1]))
with interrupts.terminated_as_interrupted(), interrupts.ended_by_signal():
    mixed(1)
    print("ready", flush=True)
    mixed(1 << 40)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_signal_ends_what_a_kernel_keeps_from_hearing_it(tmp_path):
    script, unfinished = tmp_path / "stuck.py", tmp_path / "model.tmp"
    script.write_text(STUCK)
    unfinished.write_text("half")
    words = [sys.executable, script, unfinished]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "ready\n"
        time.sleep(0.5)  # until the kernel runs
        run.send_signal(signal.SIGTERM)
        told = run.communicate(timeout=60)[1]
    assert run.returncode == 130
    assert told == "Interrupted.\n"
    assert not unfinished.exists()
