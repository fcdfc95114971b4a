"""``exactlearn verify``: its verdict, exit statuses and messages."""

from dataclasses import replace

import pytest

from exactlearn.formats.scores import parse_jkl
from exactlearn.solvers.prover import certify
from tests.command_line import fails, read_record, run, run_json

SCORES = "2\na 2\n-1.5 1 b\n-3 0\nb 2\n-1 1 a\n-4 0\n"


@pytest.fixture
def words(tmp_path):
    """Return the words of a command on a certificate and the scores it is about."""
    certificate, scores = tmp_path / "c.json", tmp_path / "s.jkl"
    scores.write_text(SCORES)
    certify(parse_jkl(SCORES), [[], [0]], scores=SCORES).write(certificate)
    return "verify", certificate, scores


def test_a_proof_is_accepted(words):
    assert "no network scores more than the one given" in run(*words)
    assert run_json(*words) == {
        "valid": True, "bound": -4.0, "score": -4.0, "gap": 0.0,
        "restrictions": [],
        "statements": ["Proven: no network scores more than the one given."],
    }  # fmt: skip


def test_the_smallest_gap_is_one(words):
    text = f"2\na 2\n-1 0\n-1.{'0' * 400}1 1 b\nb 1\n-2 0\n"
    words[2].write_text(text)
    certify(parse_jkl(text), [[1], []], scores=text).write(words[1])
    printed = run(*words)
    assert "the bound holds" in printed
    assert max(map(len, printed.split())) < 30
    assert run_json(*words)["gap"] > 0


def test_a_gap_and_restrictions_are_named(words):
    problem = replace(parse_jkl(SCORES), forbidden=frozenset({(0, 1)}))
    certify(problem, [[1], []], scores=SCORES).write(words[1])
    assert "among those with: forbidden a -> b" in " ".join(run(*words).split())
    assert run_json(*words)["restrictions"] == ["forbidden a -> b"]
    certify(parse_jkl(SCORES), [[1], []], scores=SCORES).write(words[1])
    assert "1.5" in run(*words)


def test_a_tampered_certificate_is_rejected_with_the_reason(words, tmp_path):
    words[1].write_text(words[1].read_text().replace('"-4"', '"-4.5"'))
    assert "were changed" in fails(*words, status=5)
    found = run_json(*words, "-o", tmp_path / "verdict.json", status=5)
    assert (found["valid"], found["bound"]) == (False, None)
    assert "were changed" in found["reason"]
    assert read_record(tmp_path / "verdict.json") == found


def test_other_scores_are_rejected(words):
    words[2].write_text(SCORES.replace("-1.5", "-1.4"))
    fails(*words, status=5)
    words[2].write_text("2\na b c\n")
    fails(*words)


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"format": 3}'])
def test_what_is_no_certificate_cannot_be_read(words, content):
    words[1].write_text(content)
    assert "c.json" in fails(*words)
