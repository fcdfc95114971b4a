"""``exactlearn verify``: its verdict, exit statuses and messages."""

import json

import pytest
from click.testing import CliRunner

from exactlearn.__main__ import main
from exactlearn.formats.jkl import parse_jkl
from exactlearn.solvers import Problem
from exactlearn.solvers.certificates.prover import certify

SCORES = "2\na 2\n-1.5 1 b\n-3 0\nb 2\n-1 1 a\n-4 0\n"


def run(*words):
    done = CliRunner().invoke(main, ["verify", *map(str, words)])
    assert "Traceback" not in done.output
    return done


@pytest.fixture
def files(tmp_path):
    """Return a certificate and the scores it is about."""
    certificate, scores = tmp_path / "c.json", tmp_path / "s.jkl"
    scores.write_text(SCORES)
    certify(parse_jkl(SCORES), [[], [0]], scores=SCORES).write(certificate)
    return certificate, scores


def test_a_proof_is_accepted(files):
    done = run(*files)
    assert done.exit_code == 0
    assert "no network scores more than the one given" in done.stdout
    done = run(*files, "--json")
    record = json.loads(done.stdout)
    assert record.pop("made_by")["command"][1] == "verify"
    assert record == {
        "valid": True, "bound": -4.0, "score": -4.0, "gap": 0.0, "leaves": 1, "clusters": 1,
        "restrictions": [],
        "statements": ["Proven: no network scores more than the one given."],
    }  # fmt: skip


def test_the_smallest_gap_is_one(files):
    certificate, scores = files
    text = f"2\na 2\n-1 0\n-1.{'0' * 400}1 1 b\nb 1\n-2 0\n"
    scores.write_text(text)
    certify(parse_jkl(text), [[1], []], scores=text).write(certificate)
    printed = run(*files).stdout
    assert "the bound holds" in printed
    assert max(map(len, printed.split())) < 30
    assert json.loads(run(*files, "--json").stdout)["gap"] > 0


def test_restrictions_are_named(files):
    certificate, _ = files
    plain = parse_jkl(SCORES)
    problem = Problem(
        names=plain.names, first=plain.first, scores=plain.scores,
        member_first=plain.member_first, members=plain.members, forbidden=frozenset({(0, 1)}),
    )  # fmt: skip
    certify(problem, [[1], []], scores=SCORES).write(certificate)
    assert "among those with: forbidden a -> b" in " ".join(run(*files).stdout.split())
    assert json.loads(run(*files, "--json").stdout)["restrictions"] == ["forbidden a -> b"]


def test_a_gap_is_reported(files):
    certificate, _ = files
    certify(parse_jkl(SCORES), [[1], []], scores=SCORES).write(certificate)
    printed = run(*files).stdout
    assert "the bound holds" in printed
    assert "1.5" in printed


def test_a_tampered_certificate_is_rejected_with_the_reason(files):
    certificate, _ = files
    certificate.write_text(certificate.read_text().replace('"-4"', '"-4.5"'))
    done = run(*files)
    assert done.exit_code == 5
    assert done.stdout == ""
    assert "were changed" in done.stderr
    done = run(*files, "--json")
    assert done.exit_code == 5
    printed = json.loads(done.stdout)
    assert (printed["valid"], printed["bound"]) == (False, None)
    assert "were changed" in printed["reason"]
    written = certificate.with_name("verdict.json")
    assert run(*files, "-o", written).exit_code == 5
    assert json.loads(written.read_text())["reason"] == printed["reason"]


def test_other_scores_are_rejected(files):
    _, scores = files
    scores.write_text(SCORES.replace("-1.5", "-1.4"))
    assert run(*files).exit_code == 5


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"format": 3}'])
def test_what_is_no_certificate_cannot_be_read(files, content):
    certificate, _ = files
    certificate.write_text(content)
    done = run(*files, "--json")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "c.json" in done.stderr


def test_files_that_are_missing_or_no_scores(files, tmp_path):
    certificate, scores = files
    assert run(tmp_path / "none.json", scores).exit_code == 2
    assert run(certificate, tmp_path / "none.jkl").exit_code == 2
    scores.write_text("2\na b c\n")
    assert run(certificate, scores).exit_code == 2
