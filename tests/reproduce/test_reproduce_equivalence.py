"""The study of equivalence search: the four-cycle's distribution, and the line nobody crosses."""

import json

import numpy as np
import pytest

from exactlearn.reproduce import equivalence
from exactlearn.reproduce.equivalence import TABLES, cycles, four_cycle
from tests.command_line import fails, run_json


def information(joint, *axes):
    """Return the mutual information of two variables given the others named."""
    a, b, *given = axes

    def entropy(kept):
        p = joint.sum(axis=tuple(v for v in range(4) if v not in kept))
        return -float((p * np.log(p)).sum())

    return entropy({a, *given}) + entropy({b, *given}) - entropy({a, b, *given}) - entropy({*given})


@pytest.mark.parametrize("marginals", [(0.22, 0.35), (0.18, 0.44)])
def test_the_four_cycle_has_its_marginals_and_independences(marginals):
    joint = four_cycle(*marginals)
    x_y, y_z = marginals
    assert joint.sum(axis=(2, 3))[:, 0] == pytest.approx([x_y, 0.25 - x_y, x_y, 0.25 - x_y])
    assert joint.sum(axis=(1, 3))[:, 0] == pytest.approx([x_y, x_y, 0.25 - x_y, 0.25 - x_y])
    for axes in ((0, 2), (0, 1)):
        assert joint.sum(axis=axes)[0] == pytest.approx([y_z, 0.5 - y_z])
    x, y, u, z = range(4)
    assert information(joint, x, z, y, u) == pytest.approx(0, abs=1e-9)
    assert information(joint, y, u, x, z) == pytest.approx(0, abs=1e-9)
    assert information(joint, x, z, y) > 0.01
    assert information(joint, y, u, x) > 0.001


def test_the_marginals_decide_which_collider_greedy_search_makes():
    """The thesis's make Y -> X <- U pay, after which Y and U are joined; ours X -> Y <- Z."""
    x, y, u, z = range(4)
    for marginals, start, (a, b, given) in (
        ((0.22, 0.35), (x, u), (x, y, u)),
        ((0.18, 0.44), (u, z), (x, y, z)),
    ):
        joint = four_cycle(*marginals)
        pairs = [(a, b) for a in range(4) for b in range(a)]
        strongest = max(information(joint, *pair) for pair in pairs)
        assert information(joint, *start) == pytest.approx(strongest)
        states = joint.shape
        more = (states[a] - 1) * (states[b] - 1) * (states[given] - 1)  # parameters
        penalty = more * np.log(equivalence.ROWS) / 2 / equivalence.ROWS
        assert information(joint, a, b, given) - information(joint, a, b) > penalty


def test_ges_ends_in_the_worst_class_and_no_start_exceeds_the_optimum(tmp_path, monkeypatch):
    monkeypatch.setattr(equivalence, "COPIES", 3)
    monkeypatch.setattr(equivalence, "STARTS", 40)
    words = ("reproduce", "equivalence", "--tables", "trap", "-o", tmp_path / "out")
    found = run_json(*words)
    rows = {row["method"]: row for row in found["rows"]}
    optimum = found["exact"]["trap"]
    assert optimum["status"] == "optimal"
    assert len(rows) == 13
    assert all(row["best"] <= optimum["score"] + 1e-6 for row in rows.values())
    assert all(row["worst"] >= rows["ges 1"]["best"] - 1e-6 for row in rows.values())
    assert rows["kes 0.0"]["reached"] > 0 == rows["ges 2"]["reached"]
    assert rows["kes 1.0"]["classes"] == 1
    assert (tmp_path / "out" / "figure-4.6-trap-low.svg").is_file()
    done = json.loads((tmp_path / "out" / "repetitions.json").read_text())
    monkeypatch.setattr(equivalence, "equivalence_search", None)  # nothing is left to do
    assert run_json(*words)["rows"] == found["rows"]
    assert json.loads((tmp_path / "out" / "repetitions.json").read_text()) == done


def test_tables_that_are_not_there_are_refused():
    assert "four-cycle" in fails("reproduce", "equivalence", "--tables", "four-cycles")
    assert "--data-dir" in fails("reproduce", "equivalence", "--tables", "alarm")


def test_rows_of_the_copies_are_independent():
    data = cycles(four_cycle(*(0.22, 0.35)), np.random.default_rng(0))
    assert data.n_variables == 4 * equivalence.COPIES == 40
    assert data.n_rows == equivalence.ROWS
    assert set(TABLES) == {"four-cycle", "trap", "alarm", "hailfinder"}
