"""The log that --log writes."""

import logging
import re

import pytest

from tests.command_line import fails, run

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR) +\S.*")


def lines(file):
    found = file.read_text().splitlines()
    assert all(LINE.fullmatch(line) for line in found), found
    return found


def test_each_line_has_its_time_and_the_first_and_last_say_what_ran_and_how_it_ended(tmp_path):
    file = tmp_path / "a.log"
    run("solve", "asia-mnar", "-q", "--log", file, "-o", tmp_path / "n.bif")
    found = lines(file)
    assert "solve asia-mnar -q" in found[0]
    assert any("Cells are missing" in line for line in found)  # though -q keeps it off the screen
    assert any("Wrote" in line for line in found)
    assert found[-1].endswith("INFO Done, exit status 0")
    assert not any("DEBUG" in line for line in found)


def test_improvements_are_logged_when_verbose(tmp_path):
    file = tmp_path / "a.log"
    run("augment", "cancer-mcar", "--method", "t-local", "-v", "--log", file)
    (head,) = (line for line in lines(file) if "incumbent" in line)
    assert head.split()[2:8] == ["seconds", "nodes", "open", "incumbent", "bound", "gap"]
    rows = [line.split() for line in lines(file) if re.search(r"DEBUG +\d+\.\d ", line)]
    assert rows
    assert all(len(row) == 8 for row in rows)
    assert len({tuple(row[5:]) for row in rows}) == len(rows)  # each improvement once


def test_a_log_is_new_and_has_the_error_that_ended_the_command(tmp_path):
    file = tmp_path / "a.log"
    file.write_text("old\n")
    fails("solve", "asia-mnar-complete", "--require", "a->b", "--log", file)
    found = lines(file)
    assert "OptionError: arc 'a->b': no variable 'a'" in found[-1]


def test_what_the_library_logs_is_in_the_log_of_a_command_only(tmp_path, monkeypatch):
    from exactlearn.commands import graph
    from exactlearn.commands.answer import Answer

    def logging_run(*_):
        logging.getLogger("exactlearn.x").info("seen")
        return Answer(record={})

    monkeypatch.setattr(graph, "run", logging_run)
    file = tmp_path / "a.log"
    run("graph", "asia", "--log", file)
    assert "INFO seen" in file.read_text()
    before = file.read_bytes()
    run("graph", "asia")
    logging.getLogger("exactlearn.x").warning("later")
    assert file.read_bytes() == before
    assert logging.getLogger("exactlearn").level == logging.NOTSET


@pytest.mark.parametrize("name", ["", "none/a.log"])
def test_a_log_that_cannot_be_is_refused_before_any_work(tmp_path, name):
    assert "--log" in fails("solve", "asia-mnar-complete", "--log", tmp_path / name)
    assert "--log" in fails("solve", "none.csv", "--log", tmp_path / name)


def test_a_full_disk_ends_the_log_and_not_the_command(tmp_path):
    full = tmp_path / "full.log"
    full.symlink_to("/dev/full")
    assert "asia" in run("graph", "asia", "--log", full)
