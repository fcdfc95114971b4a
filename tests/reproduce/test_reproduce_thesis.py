"""Tables and figures of the thesis and of PDG-SEM's dense network, on small tables."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.component_growth import naive_bayes_models
from exactlearn.evaluation import sl_curves
from exactlearn.evaluation.languages import LearntModel
from exactlearn.pdg.compile.compile import compile_network
from exactlearn.pdg.learn.smoothing import tuned_smoothing, validation_curve
from exactlearn.reporting.curves import CurvesFigure
from exactlearn.reproduce import (
    dense_network,
    incomplete,
    thesis,
    thesis_hybrid,
    thesis_languages,
)
from exactlearn.reproduce.rows import NamedFigure, published
from exactlearn.reproduce.runner import Record, Setup
from exactlearn.reproduce.sources import UCI, Split
from exactlearn.reproduce.thesis import drawn


def few_models(language, train, weights, seed):
    """Yield three models of growing size, learnt without a search."""
    growing = naive_bayes_models(train, seed=seed)
    for k in range(3):
        chain = [tuple(range(max(0, v - k), v)) for v in range(train.n_variables)]
        network = fit_complete(train, chain, smoothing=1.0)
        graph = compile_network(network) if language == "pdg" else network
        yield LearntModel(next(growing) if language == "nb" else graph, None, 0.1)


@pytest.fixture
def setup(monkeypatch):
    """Nothing done yet, and small tables to be drawn."""
    monkeypatch.setattr(thesis, "TRAIN_ROWS", 400)
    monkeypatch.setattr(thesis, "TEST_ROWS", 100)
    few = {name: partial(few_models, name) for name in ("bn", "nb", "pdg")}
    monkeypatch.setattr(thesis_languages, "LANGUAGES", few)
    return Setup(record=Record(None, lambda told: None))


@pytest.fixture
def small_abalone(setup, monkeypatch):
    """Rows of a random graph in place of Abalone's."""
    _, split = drawn(setup, "Rnd15")
    few = [replace(rows, codes=rows.codes[:, :8], names=rows.names[:8], states=rows.states[:8])
           for rows in (split.train, split.test)]  # fmt: skip
    for module in (thesis_languages, thesis_hybrid):
        monkeypatch.setattr(module, "uci_split", lambda *_, **__: Split(*few))
    return replace(setup, only="Abalone")


def parted(found):
    """Return rows, and figures by name."""
    found = list(found)
    figures = {f.name: f.figure for f in found if isinstance(f, NamedFigure)}
    return [f for f in found if not isinstance(f, NamedFigure)], figures


def test_published_figures_fit_each_other():
    known = published("thesis")
    assert set(known["data"]) == set(UCI) == set(known["dominance"]) == set(known["slopes"])
    assert set(known["languages"]) == set(known["figures"]) == {*UCI, *known["models"]}
    numbers = [n for kinds in known["figures"].values() for n in kinds.values()]
    assert len(set(numbers)) == len(numbers)
    for points in known["languages"].values():
        assert set(points) == {"BN", "PDG", "NB"}
        assert {len(p) for of in points.values() for p in of} == {3}
    for name, rows in known["queries"].items():
        for label, (size, _, _, _) in rows.items():
            assert size > 0, (name, label)
    sweeps = published("thesis_sweeps")["sweeps"]
    assert list(map(len, sweeps.values())) == [15, 6, 15, 18, 25, 16, 23, 20, 16, 15, 15, 18, 12]
    assert set(sweeps) == set(known["hybrid"])
    for name, rows in sweeps.items():
        for row in known["hybrid"][name]:
            assert any(p[0] == row[0][0] and p[3] == row[1][0] for p in rows), (name, row)


def test_models_that_rows_are_drawn_from(setup):
    rows, _ = parted(thesis.models(replace(setup, only="Logic")))
    assert [row.size for row in rows] == [46, 18, 40]
    assert rows[1].method == "5 variables, 2 to 2 states, mean 2.0"
    assert rows[1].log_likelihood == pytest.approx(rows[1].published, abs=0.1)


def test_public_tables_are_described(data_dir):
    setup = Setup(record=Record(None, lambda told: None), data=data_dir, only="Abalone")
    (row,) = thesis.data(setup)
    assert (row.size, row.published_size) == (4177, 4177)
    assert row.log_likelihood == pytest.approx(row.published, abs=0.05)
    assert row.method.startswith("9 variables, 3 to 5 states")


def test_languages_on_rows_of_a_known_model(setup):
    pytest.importorskip("matplotlib")
    only = replace(setup, only="Logic2")
    rows, figures = parted(thesis_languages.languages_synthetic(only))
    assert [row.method for row in rows] == ["BN"] * 3 + ["PDG"] * 3 + ["NB"] * 3
    assert {row.table for row in rows} == {"languages-synthetic"}
    assert list(figures) == ["figure-5.3a", "figure-5.3b"]
    train, test = figures.values()
    (level,) = train.levels.values()
    assert all(y <= level + 1e-9 for points in train.curves.values() for _, y in points)
    assert list(test.curves) == ["BN", "PDG", "NB"]
    ((size, truth),) = test.marks.values()
    assert size == 18
    assert truth == pytest.approx(-np.log(16), abs=0.1)
    assert not test.levels
    assert b"<svg" in test.drawn(".svg")


def test_languages_on_public_tables(small_abalone):
    rows, figures = parted(thesis_languages.languages(small_abalone))
    assert [row.table for row in rows] == (
        ["languages"] * 9 + ["dominance"] * 2 + ["queries", "times"] * 3
    )
    first = rows[0]
    assert (first.published_size, first.published_microseconds) == (4575, 1223)
    assert first.microseconds > 0
    assert rows[9].verdict.endswith("(thesis: -/-)")
    asked = next(row for row in rows if row.table == "queries")
    assert asked.log_likelihood < 0
    assert asked.published == -2.811
    assert set(figures) == {f"figure-{n}" for n in ("5.6a", "5.6b", "5.8a", "5.9a")}
    again, _ = parted(thesis_languages.languages(small_abalone))
    assert list(map(repr, again)) == list(map(repr, rows))


def test_large_models_are_not_queried(small_abalone, monkeypatch):
    monkeypatch.setattr(sl_curves, "MOST_QUERIED", 0)
    rows, _ = parted(thesis_languages.languages(small_abalone))
    assert {row.table for row in rows} == {"languages", "dominance"}
    assert rows[0].microseconds is None


def test_an_axis_is_cut_where_one_curve_goes_on_alone():
    figure = pytest.importorskip("matplotlib.figure").Figure()
    curves = {"BN": [(9, -3.0), (99, -2.0)], "NB": [(1, -50.0), (9, -2.5)], "PDG": [(9, -np.inf)]}
    shown = CurvesFigure(curves=curves, across="size", up="train", is_cut=True, levels={"-H": -1.0})
    shown._paint(figure)
    bottom, top = figure.axes[0].get_ylim()
    assert -4 < bottom < -3
    assert -1 < top < 1


def test_slopes():
    points = [
        replace(POINT, effective_size=size, query_seconds=1e-6 * (5 + 2 * size))
        for size in (10, 20, 40)
    ]
    assert thesis_languages._slope(points) == "2.0000 ± 0.0000"
    assert thesis_languages._slope(points[:2]) == "too few models"


POINT = thesis_languages.SLPoint(
    language="bn",
    size_weight=0.5,
    effective_size=1,
    representational_size=1,
    train=0.0,
    validation=0.0,
    test=0.0,
    seconds=0.0,
    query_accuracy=0.0,
    query_error=0.0,
    query_seconds=0.0,
)


def test_sweeps_stand_beside_the_nearest_network(setup, monkeypatch):
    monkeypatch.setattr(thesis_hybrid, "SWEEP", (1.0,))
    rows, figures = parted(thesis_hybrid.sweeps(replace(setup, only="Rnd15")))
    network, graph = rows
    assert (network.method, graph.method) == ("BN", "PDG")
    assert network.published_size in {42, 88, 103, 130, 142, 219}
    assert figures["table-a.12"].curves["exactlearn"] == [(network.size, graph.size)]
    assert len(figures["table-a.12"].curves["thesis"]) == 18


def test_paths_of_merges(small_abalone, monkeypatch):
    monkeypatch.setattr(thesis_hybrid, "SWEEP", ())
    monkeypatch.setattr(thesis_hybrid, "PATH", (0.1, 2.0, 100.0))
    _, figures = parted(thesis_hybrid.sweeps(small_abalone))
    assert set(figures) == {"figure-5.10a", "figure-5.10b"}
    sizes = [size for size, _ in figures["figure-5.10a"].curves["merged graphs"]]
    assert sizes == sorted(sizes, reverse=True)


def test_smoothing_is_chosen_at_the_top_of_the_curve(small_abalone):
    rows, figures = parted(thesis_hybrid.smoothing(small_abalone))
    chosen, _, one = (float(row.verdict.split()[1]) for row in rows)
    curve = dict(figures["figure-4.3"].curves["cross-validation"])
    top = max(curve, key=curve.get)
    assert 0.5 < chosen / top < 2
    assert rows[1].log_likelihood >= rows[2].log_likelihood - 1e-3
    assert one == 1


def test_the_validation_curve_is_that_of_the_choice(setup):
    model, split = drawn(setup, "Rnd15")
    chosen = tuned_smoothing(model, split.train, seed=3)
    (value,) = validation_curve(model, split.train, np.array([chosen.smoothing]), seed=3)
    assert value == pytest.approx(chosen.validated)


def test_a_dense_network(monkeypatch):
    monkeypatch.setattr(dense_network, "ROWS", 200)
    monkeypatch.setattr(dense_network, "SHARES", (0.1, 0.2))
    few = dict.fromkeys(dense_network.LANGUAGES, lambda _, test: (np.zeros(test.n_rows), 7))
    few["PDG"] = incomplete.METHODS["PDG"]
    monkeypatch.setattr(incomplete, "METHODS", few)
    setup = Setup(record=Record(None, lambda told: None), repetitions=2)
    rows, figures = parted(dense_network.dense(setup))
    assert [(row.method, row.repetitions) for row in rows] == (
        [(method, 2) for method in dense_network.LANGUAGES] * 2
    )
    assert rows[0].log_likelihood > -14 * np.log(2)
    assert figures["figure-sem-5b"].curves["BN"] == [(10.0, 7.0), (20.0, 7.0)]
    assert [len(f) for f in dense_network.dense_network(0).parents[:6]] == [0, 1, 2, 3, 3, 3]
