"""Files that several tests of commands read."""

import pytest

from tests.command_line import run, write_hard_scores


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """Return a folder with tables of CANCER, and with its network, decision graph and scores."""
    made = tmp_path_factory.mktemp("tables")
    hidden = ("--hide", "mcar:0.01", "--seed", 3, "-o", made / "holes.csv")
    run("simulate", "cancer", "--rows", 200, *hidden, "--complete", made / "full.csv")
    run("convert", made / "full.csv", "-o", made / "scores.jkl")
    run("convert", "cancer", "-o", made / "start.bif")
    run("compile", "cancer", "-o", made / "start.pdg.json")
    return made


@pytest.fixture(scope="session")
def hard_scores(tmp_path_factory):
    """Return a file of scores that keep a solver busy for long."""
    return write_hard_scores(tmp_path_factory.mktemp("scores") / "hard.jkl")
