"""A type checker accepts what public functions take: tables, scores, graphs, variables by name."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

CALLS = """
import numpy as np
import pandas as pd
from numpy.typing import NDArray

import exactlearn as el
from exactlearn.bayesnet.row_completion import posterior_cells

frame = pd.DataFrame({"a": ["x", "y"] * 9, "b": ["u", "v"] * 9})
array: NDArray[np.int64] = np.zeros((3, 2), np.int64)
network = el.read_network("asia")
table = el.read_dataset("asia-mnar")

el.learn(frame, required=[("a", "b")], tiers=[["a"], ["b"]], ess=1)
el.learn(array, required=[(0, 1)])
el.learn_naive_bayes(frame)
el.learn_naive_bayes(array)
el.fit_em(frame, el.learn(frame))
el.fit_em(frame, {"b": ["a"]})
el.fit_complete(dataset=array, parents=[[], ["a"]])
el.bootstrap(frame, required=[("a", "b")])
el.cross_validate(frame, ["exact"])
el.candidate_parent_sets(frame, "bdeu", required=[("a", "b")])
el.augment(frame, "bdeu", forbidden=[("a", "b")])
el.structural_em(array, "bic")
el.query(network, {"smoke": "yes"}, "lung")
el.query(network, {"smoke": "yes"}, ["lung"])
el.classify(network, frame, "lung")
el.graphs.markov_blanket(network, "lung")
el.graphs.d_separated(network, ["asia"], "tub")
el.graphs.cpdag(network).arcs
el.graphs.cpdag(el.learn(frame)).edges
el.graphs.covered_edges(network)
el.graphs.compare_structures(el.learn(frame), network)
el.graphs.structural_hamming_distance(network, network)
el.score_family(frame, "a", ["b"], "bdeu")
el.compile_network(network, steps=10)
el.refine(el.compile_network(network), frame)
el.hide(frame, "mcar:0.1", np.random.default_rng(1))
posterior_cells(network, frame)
el.solve(el.candidate_parent_sets(frame, el.BDeu(1)))
el.query(el.learn(frame), {"a": "x"}, "b")
el.classify(el.learn(frame), frame, "b")
el.compile_network(el.learn(frame))
"""

WRONG = """el.learn(frame).arc
el.learn(frame, max_parents="three")
el.graphs.cpdag(network).directed
el.graphs.cpdag(network.parents).edges
"""


def test_mypy_accepts_what_a_user_may_write_and_nothing_else(tmp_path):
    file = tmp_path / "calls.py"
    file.write_text(CALLS + WRONG)
    command = (sys.executable, "-m", "mypy", "--strict", str(file))
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], capture_output=True, text=True
    )
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    first = CALLS.count("\n") + 1  # a line of WRONG each
    found = {int(line.split(":")[1]) for line in errors}
    assert found == {first + k for k in range(WRONG.count("\n"))}, done.stdout
