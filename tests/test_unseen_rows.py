"""Every stage that makes a model is judged by rows that it has not seen, through its command.

A network draws a table to learn from, whole and with missing cells, and many fresh rows. A model
must come near the network that drew them, must be no worse than the network without arcs, and must
find no fresh row impossible: a model that forbids a row that occurs is infinitely wrong.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from exactlearn.bayesnet.complete_data import fit_complete
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.missingness import hide
from exactlearn.formats.models import read_model
from exactlearn.formats.table import read_dataset, write_dataset
from exactlearn.instances import locate
from exactlearn.queries.model_graphs import Model
from tests.command_line import run_json

ROWS, FRESH = 500, 4000

NETWORK, GRAPH, NAIVE_BAYES = "learned.bif", "learned.pdg.json", "learned.nb.json"

LOST = {NETWORK: 0.15, GRAPH: 0.15, NAIVE_BAYES: 0.4}
"""Nats per row that a model may be behind the network that drew the rows; a naive Bayes model of
few components cannot be that network."""

NOISE = 0.005
"""Nats per row by which a model may be behind the network without arcs."""

STAGES = {
    "solve": ("solve whole.csv", NETWORK),
    "solve with missing cells": ("solve missing.csv", NETWORK),
    "solve by BIC": ("solve whole.csv --criterion bic", NETWORK),
    "augment": ("augment missing.csv --method t-local", NETWORK),
    "impute": ("impute missing.csv --method posterior", NETWORK),
    "fit by EM": ("fit NAME missing.csv", NETWORK),
    "fit by counts": ("fit NAME whole.csv --method complete", NETWORK),
    "compile": ("compile solved.bif", GRAPH),
    "compile and merge": ("compile solved.bif --merge-budget 0.01", GRAPH),
    "compile and merge by rows": (
        "compile solved.bif --merge-budget 0.01 --data whole.csv",
        GRAPH,
    ),
    "fit a graph": ("fit solved.pdg.json missing.csv", GRAPH),
    "learn a graph": ("learn-pdg whole.csv --method direct", GRAPH),
    "learn a graph by EM": ("learn-pdg missing.csv --method em", GRAPH),
    "learn a naive Bayes model": ("learn-nb whole.csv", NAIVE_BAYES),
    "learn a naive Bayes model by EM": ("learn-nb missing.csv", NAIVE_BAYES),
    "hybrid": ("learn-pdg whole.csv --network solved.bif", GRAPH),
    "hybrid with missing cells": ("learn-pdg missing.csv", GRAPH),
}


@dataclass(frozen=True)
class Instance:
    """A network with the folder of its tables."""

    name: str
    folder: Path
    truth: BayesianNetwork

    def per_row(self, model: Model) -> float:
        """Return the log-likelihood per fresh row, none of which may be impossible."""
        states = dict(zip(model.names, model.states, strict=True))
        fresh = read_dataset(self.folder / "fresh.csv", states=states)
        assert fresh.names == model.names
        logs = model.log_likelihood_rows(fresh)
        assert not np.isneginf(logs).any(), (
            f"{np.isneginf(logs).sum()} fresh rows are impossible"
        )
        return float(logs.mean())

    @property
    def without_arcs(self) -> BayesianNetwork:
        states = dict(zip(self.truth.names, self.truth.states, strict=True))
        whole = read_dataset(self.folder / "whole.csv", states=states)
        return fit_complete(whole, ((),) * whole.n_variables)


@pytest.fixture(scope="module", params=["earthquake", "lucas"])
def instance(request, tmp_path_factory) -> Instance:
    folder, rng = tmp_path_factory.mktemp(request.param), np.random.default_rng(1)
    truth = read_model(locate(request.param, ".bif"))
    whole = truth.sample(ROWS, rng)
    write_dataset(whole, folder / "whole.csv")
    write_dataset(hide(whole, "mcar:0.1", rng), folder / "missing.csv")
    write_dataset(truth.sample(FRESH, rng), folder / "fresh.csv")
    run_json("solve", folder / "whole.csv", "-o", folder / "solved.bif")
    run_json("compile", folder / "solved.bif", "-o", folder / "solved.pdg.json")
    return Instance(request.param, folder, truth)


@pytest.mark.parametrize(("command", "output"), STAGES.values(), ids=STAGES)
def test_a_model_predicts_rows_that_it_has_not_seen(
    instance, command, output, monkeypatch
):
    monkeypatch.chdir(instance.folder)
    run_json(*command.replace("NAME", instance.name).split(), "-o", output)
    found = instance.per_row(read_model(Path(output)))
    assert found > instance.per_row(instance.truth) - LOST[output]
    assert found > instance.per_row(instance.without_arcs) - NOISE


def test_more_rows_do_not_make_a_model_worse(instance, monkeypatch):
    monkeypatch.chdir(instance.folder)
    found = []
    for rows in (100, 1000, 10_000):
        table = instance.truth.sample(rows, np.random.default_rng(2))
        write_dataset(table, instance.folder / "more.csv")
        run_json("solve", "more.csv", "-o", "more.bif")
        found.append(instance.per_row(read_model(Path("more.bif"))))
    assert found == sorted(found)
