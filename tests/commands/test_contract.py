"""The contract of the command line: exit statuses, keys of the JSON object, files written."""

import json
import os
import time
from typing import NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main
from exactlearn.formats.bif import write_bif
from tests.command_line import PATIENCE, started, wait_for, write_hard_scores
from tests.network_oracle import random_network

LEARNED = "status score bound gap seconds parents"
SIZES = "effective_size representational_size nodes"
FOLDER = "network.bif network.svg result.json"


class Case(NamedTuple):
    """A command line, its exit status, keys that its record has, and files that it writes."""

    words: str
    keys: str = ""
    files: str = ""
    status: int = 0


CASES = [
    Case("solve full.csv -o out", LEARNED, f"{FOLDER} trace.csv"),
    Case("solve full.csv --criterion bic -o out.bif", LEARNED, "out.bif"),
    Case("solve scores.jkl -o out.json", LEARNED, "out.json"),
    Case("solve scores.jkl --certificate proof", f"{LEARNED} certificate", "proof"),
    Case("solve part.csv --ess 1 --max-parents 1 -o out.json", LEARNED, "out.json"),
    Case("solve full.csv --solver ges", LEARNED),
    Case("solve full.csv --solver kes", LEARNED),
    Case("solve full.csv --best 2 --max-parents 1", f"{LEARNED} networks"),
    Case("solve full.csv --bootstrap 2 --max-parents 1", f"{LEARNED} bootstrap"),
    Case("solve hard.jkl --time-limit 0.2 -o out.json", LEARNED, "out.json", 3),
    Case("solve full.csv --require Pollution->Cancer --forbid Pollution->Cancer", status=4),
    Case("augment part.csv -o out", f"{LEARNED} completion", f"{FOLDER} completed.csv"),
    Case("augment part.csv --method t-local -o out.csv", f"{LEARNED} completion", "out.csv"),
    Case("augment part.csv --method exact -o out.bif", f"{LEARNED} completion", "out.bif"),
    Case("augment part.csv --method mode", f"{LEARNED} completion"),
    Case("augment part.csv --best 2", f"{LEARNED} completion best"),
    Case("augment wide.csv --time-limit 0.2 -o out.csv", f"{LEARNED} completion", "out.csv", 3),
    Case("impute part.csv -o out", "completion seconds", "completed.csv result.json"),
    Case("impute part.csv --network cancer -o out.csv", "completion", "out.csv"),
    Case("missingness part.csv -o out.json", "recommendation tests patterns", "out.json"),
    Case(
        "compare part.csv --methods t-local,mode --truth full.csv -o out.json", "rows", "out.json"
    ),
    Case("compare full.csv --learners exact,chow-liu --folds 2", "rows"),
    Case(
        "evaluate cancer full.csv --class Cancer --reference cancer -o out.json",
        "log_likelihood_per_row kl_divergence shd cpdag_shd accuracy",
        "out.json",
    ),
    *(
        Case(f"fit cancer part.csv --method {method} -o out.bif", "log_likelihood", "out.bif")
        for method in ("em", "cca", "aca", "d-mcar", "f-mcar")
    ),
    Case("fit cancer full.csv", "log_likelihood seconds"),
    Case(
        "fit cancer part.csv --time-limit 0 -o out.bif",
        "log_likelihood iterations seconds",
        "out.bif",
        3,
    ),
    Case("compile cancer -o out.pdg.json", f"{SIZES} clique_tree_size max_error", "out.pdg.json"),
    Case("compile cancer --merge-budget 0.01 -o out.json", f"{SIZES} max_error loss", "out.json"),
    Case("learn-pdg full.csv -o out.pdg.json", f"{SIZES} log_likelihood", "out.pdg.json"),
    Case("learn-nb part.csv --components 2 -o out.nb.json", f"{SIZES[:14]} score", "out.nb.json"),
    Case(
        "query cancer -e Smoker=True -t Cancer -o out.json",
        "posterior probability_of_evidence",
        "out.json",
    ),
    Case("query cancer --best 2 --independences", "explanations independences"),
    Case("graph cancer --variable Cancer --to cpdag -o out.svg", "arcs edges blanket", "out.svg"),
    Case(
        "simulate cancer --rows 9 --hide mnar:2 -o out.csv --complete all.csv",
        "rows missing_cells",
        "out.csv all.csv",
    ),
    Case("convert cancer -o out.net", "file", "out.net"),
    Case("convert full.csv -o out.jkl", "file", "out.jkl"),
    Case("report cancer.bif -o out.html", "page", "out.html"),
    Case(
        "run cancer -o out",
        f"{LEARNED} completion decision_graph steps",
        f"{FOLDER} model.pdg.json completed.csv report.html run.toml",
    ),
    Case("verify proof.json scores.jkl -o out.json", "valid bound", "out.json"),
    Case("verify proof.json hard.jkl", "valid bound", status=5),
    Case("instances cancer -o out", "instances", "cancer.bif cancer.toml"),
]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return a folder with the files that the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    write_hard_scores(folder / "hard.jkl")
    write_bif(random_network(np.random.default_rng(1), 30, most_states=2), folder / "dense.bif")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for words in (
            "simulate cancer --rows 100 --hide mcar:0.02 --seed 3 -o part.csv --complete full.csv",
            "simulate lucas --rows 300 --hide mcar:0.1 --seed 1 -o wide.csv",
            f"simulate {folder / 'dense.bif'} --rows 3000 -o dense.csv",
            "convert full.csv -o scores.jkl",
            "solve scores.jkl --certificate proof.json",
            "convert cancer -o cancer.bif",
        ):
            assert CliRunner().invoke(main, words.split()).exit_code == 0
    return folder


def placed(words, inputs):
    """Return the words of a command, its input files with their folder."""
    return [str(inputs / w) if (inputs / w).is_file() else w for w in words.split()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_a_command_keeps_its_contract(case, inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, [*placed(case.words, inputs), "--json"])
    assert done.exit_code == case.status, done.output
    assert "Traceback" not in done.output
    if case.keys:
        record = json.loads(done.stdout)
        assert set(case.keys.split()) <= set(record)
    else:
        assert not done.stdout
        assert done.stderr.startswith("Error: ")
    folder = tmp_path / "out"
    written = {p.name for p in (folder if folder.is_dir() else tmp_path).iterdir()}
    assert set(case.files.split()) <= written


INTERRUPTED = [
    "solve hard.jkl -o out.json",
    "augment wide.csv -o out.json",
    "fit lucas wide.csv --starts 1000 -o out.bif",
    "compile dense.bif --time-limit 600 -o out.pdg.json",
    "learn-pdg dense.csv --tidy --method direct -o out.pdg.json",
]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("words", INTERRUPTED)
def test_an_interrupt_leaves_the_incumbent(words, inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = next(tmp_path / w for w in words.split() if w.startswith("out."))
    with started(*placed(words, inputs), "--json") as process:
        wait_for(target.exists)
        time.sleep(0.5)
        process.send_signal(2)
        out, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, printed
    assert "Traceback" not in printed
    assert target.stat().st_size
    if out:
        assert json.loads(out).get("status", "interrupted") == "interrupted"
