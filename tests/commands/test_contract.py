"""The contract of the command line: exit statuses, keys of the JSON object, files written.

Also what README and every help promise of all commands: exceptions stand here by name.
"""

import json
import os
import re
import signal
import time
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import pytest

from exactlearn.commands import COMMANDS, options_of
from exactlearn.formats.bif import write_bif
from tests.command_line import (
    PATIENCE,
    invoke,
    read_record,
    run,
    started,
    strict_json,
    wait_for,
    write_hard_scores,
)
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
    Case(
        "solve full.csv --require Pollution->Cancer --forbid Pollution->Cancer",
        status=4,
    ),
    Case("augment part.csv -o out", f"{LEARNED} completion", f"{FOLDER} completed.csv"),
    Case(
        "augment part.csv --method t-local -o out.csv",
        f"{LEARNED} completion",
        "out.csv",
    ),
    Case(
        "augment part.csv --method exact -o out.bif", f"{LEARNED} completion", "out.bif"
    ),
    Case("augment part.csv --method mode", f"{LEARNED} completion"),
    Case("augment part.csv --best 2", f"{LEARNED} completion best"),
    Case(
        "augment wide.csv --time-limit 0.2 -o out.csv",
        f"{LEARNED} completion",
        "out.csv",
        3,
    ),
    Case("impute part.csv -o out", "completion seconds", "completed.csv result.json"),
    Case("impute part.csv --network cancer -o out.csv", "completion", "out.csv"),
    Case(
        "missingness part.csv -o out.json", "recommendation tests patterns", "out.json"
    ),
    Case(
        "compare part.csv --methods t-local,mode --truth full.csv -o out.json",
        "rows",
        "out.json",
    ),
    Case("compare full.csv --learners exact,chow-liu --folds 2", "rows"),
    Case(
        "evaluate cancer full.csv --class Cancer --reference cancer -o out.json",
        "log_likelihood_per_row kl_divergence shd cpdag_shd accuracy",
        "out.json",
    ),
    *(
        Case(
            f"fit cancer part.csv --method {method} -o out.bif",
            "log_likelihood",
            "out.bif",
        )
        for method in ("em", "cca", "aca", "d-mcar", "f-mcar")
    ),
    Case("fit cancer full.csv", "log_likelihood seconds"),
    Case(
        "fit cancer part.csv --time-limit 0 -o out.bif",
        "log_likelihood iterations seconds",
        "out.bif",
        3,
    ),
    Case(
        "compile cancer -o out.pdg.json",
        f"{SIZES} clique_tree_size max_error",
        "out.pdg.json",
    ),
    Case(
        "compile cancer --merge-budget 0.01 -o out.json",
        f"{SIZES} max_error loss",
        "out.json",
    ),
    Case(
        "learn-pdg full.csv --size-weight 0.3 -o out.pdg.json",
        f"{SIZES} log_likelihood",
        "out.pdg.json",
    ),
    Case(
        "learn-nb part.csv --components 2 -o out.nb.json",
        f"{SIZES[:14]} score",
        "out.nb.json",
    ),
    Case(
        "query cancer -e Smoker=True -t Cancer -o out.json",
        "posterior probability_of_evidence",
        "out.json",
    ),
    Case("query cancer --best 2 --independences", "explanations independences"),
    Case(
        "graph cancer --variable Cancer --to cpdag -o out.svg",
        "arcs edges blanket",
        "out.svg",
    ),
    Case(
        "simulate cancer --rows 9 --hide mnar:2 -o out.csv --complete all.csv",
        "rows missing_cells",
        "out.csv all.csv",
    ),
    Case(
        "posterior full.csv --max-parents 2 -o out",
        "status log_evidence error best_probability arcs edges ancestors seconds",
        "result.json arcs.csv posterior.svg",
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

FIRST = {case.words.split()[0]: case.words.split() for case in reversed(CASES)}
"""Words of the first call of each command."""

NO_RECORD = {"simulate", "convert", "report", "instances", "run"}
"""Commands whose record is not repeated in this table."""

WITHOUT_SEED = {"query", "graph", "verify", "report", "instances"}
"""Commands without anything random."""

WITHOUT_LIMIT = {
    *(
        "missingness",
        "query",
        "graph",
        "evaluate",
        "verify",
        "simulate",
        "instances",
        "report",
    ),
}
"""Commands without ``--time-limit``: they end soon, or repeat one with its own limit."""

MAKES_A_FOLDER = {"run", "instances"}
"""Commands whose output is a folder, which they make."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Return a folder with the files that the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    write_hard_scores(folder / "hard.jkl")
    write_bif(
        random_network(np.random.default_rng(1), 30, most_states=2),
        folder / "dense.bif",
    )
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
            run(*words.split())
    return folder


def placed(words, inputs):
    """Return the words of a command, its input files with their folder."""
    return [str(inputs / w) if (inputs / w).is_file() else w for w in words]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words)
def test_a_command_keeps_its_contract_and_its_record_is_repeated(
    case, inputs, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    words = case.words.split()
    done = invoke(*placed(words, inputs), "--json", status=case.status)
    if case.keys:
        assert set(case.keys.split()) <= set(strict_json(done.stdout))
    else:
        assert not done.stdout
        assert done.stderr.startswith("Error: ")
    folder = tmp_path / "out"
    written = {p.name for p in (folder if folder.is_dir() else tmp_path).iterdir()}
    assert set(case.files.split()) <= written
    if case.status == 0 and words[0] not in NO_RECORD:
        (tmp_path / "own.json").write_text(done.stdout)
        before = sorted(tmp_path.rglob("*"))
        again = strict_json(run("run", "own.json", "--json"))
        assert again["equal"]
        assert again["compared"]
        assert again["differences"] == again["changes"] == []
        assert sorted(tmp_path.rglob("*")) == before


@pytest.fixture(params=COMMANDS)
def first(request, inputs, tmp_path, monkeypatch):
    """Return the name of each command, and the words of its first call."""
    monkeypatch.chdir(tmp_path)
    return request.param, placed(FIRST[request.param], inputs)


def without_times(value):
    """Return a record without seconds and what it was made by."""
    if isinstance(value, dict):
        kept = (
            k
            for k in value
            if "seconds" not in k and k not in ("made_by", "time", "record")
        )
        return {key: without_times(value[key]) for key in kept}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_all_that_is_printed_is_the_same_where_quiet_or_verbose(first):
    name, words = first
    records = [invoke(*words, "--json", *more).stdout for more in ((), ("-v",))]
    assert all(printed.count("\n") == 1 for printed in records)
    one, other = (without_times(strict_json(printed)) for printed in records)
    assert one == other
    plain, quiet = (invoke(*words, *more) for more in ((), ("-q",)))
    assert quiet.stderr == ""
    one, other = (
        re.sub(r"(?m)^seconds .*$", "", done.stdout) for done in (plain, quiet)
    )
    if name not in ("compare", "learn-nb", "run"):  # they print seconds in each row
        assert one == other
    assert bool(one) == bool(other)


def test_a_file_in_no_folder_is_refused(first):
    name, words = first
    if name not in MAKES_A_FOLDER:
        words = words[: words.index("-o")] if "-o" in words else words
        target = {"simulate": "none/rows.csv", "convert": "none/x.bif"}.get(
            name, "none/x.json"
        )
        done = invoke(*words, "-o", target, status=2)
        assert "none" in done.stderr.splitlines()[-1]
        assert done.stdout == ""


def test_a_time_limit_of_zero_ends_with_an_answer_or_error(first):
    name, words = first
    known = {one.name for one in fields(options_of(name))}
    assert ("seed" in known) == (name not in WITHOUT_SEED)
    assert ("time_limit" in known) == (name not in WITHOUT_LIMIT)
    if name not in WITHOUT_LIMIT:
        done = invoke(*words, "--time-limit", "0", "--json", status=(0, 2, 3))
        if done.exit_code != 2:
            strict_json(done.stdout)
        else:
            assert done.stderr.splitlines()[-1].startswith("Error: ")


INTERRUPTED = [
    ("solve hard.jkl --solver scip -o out.json", "SIGTERM"),
    ("solve hard.jkl --solver scip -o out.json", "SIGKILL"),
    ("solve hard.jkl -o out.json", "SIGINT"),
    ("augment wide.csv -o out.json", "SIGINT"),
    ("fit lucas wide.csv --starts 1000 -o out.bif", "SIGINT"),
    ("compile dense.bif --time-limit 600 -o out.pdg.json", "SIGINT"),
    ("learn-pdg dense.csv --tidy --method direct -o out.pdg.json", "SIGINT"),
]


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(("words", "sent"), INTERRUPTED)
def test_an_interrupt_or_a_kill_leaves_the_incumbent(
    words, sent, inputs, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    target = next(tmp_path / w for w in words.split() if w.startswith("out."))
    with started(*placed(words.split(), inputs), "--json") as process:
        wait_for(target.exists)
        time.sleep(0.5)
        process.send_signal(getattr(signal, sent))
        out, printed = process.communicate(timeout=PATIENCE)
    assert process.returncode == (-9 if sent == "SIGKILL" else 130), printed
    assert "Traceback" not in printed
    assert target.stat().st_size
    if words.startswith("solve"):
        record = read_record(target)
        assert len(record["parents"]) == 40
        assert sent == "SIGKILL" or json.loads(out) | {"made_by": 0} == record | {
            "made_by": 0
        }
    if out:
        assert json.loads(out).get("status", "interrupted") == "interrupted"
