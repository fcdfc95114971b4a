import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.jkl import format_jkl, parse_jkl, read_jkl, write_jkl
from exactlearn.solvers.problem import Problem

SURVEY = """# Score function: BIC
3
# a comment between blocks
A 2
-10.5 1 R
-12.25 0

R 1
 -3 0
<5/x 2
-1e-3 2 R A
-7 0
"""


def table(problem):
    return [dict(problem.candidates(v)) for v in range(problem.n_variables)]


@st.composite
def problems(draw):
    n = draw(st.integers(1, 5))
    scores = st.floats(allow_nan=False, allow_infinity=False)
    candidates = []
    for child in range(n):
        parents = st.frozensets(st.sampled_from([p for p in range(n) if p != child] or [n]))
        sets = draw(st.lists(parents.filter(lambda s: n not in s), max_size=6, unique=True))
        candidates.append({tuple(sorted(s)): draw(scores) for s in sets})
    names = [f"v/{i}<{i}" for i in range(n)]
    return Problem.from_candidates(names, candidates)


def test_names_comments_and_order_are_read():
    problem = parse_jkl(SURVEY)
    assert problem.names == ("A", "R", "<5/x")
    assert table(problem) == [{(1,): -10.5, (): -12.25}, {(): -3.0}, {(0, 1): -1e-3, (): -7.0}]
    assert problem.parent_set(3) == (0, 1)


@given(problems())
def test_writing_and_reading_gives_the_same_bits(problem):
    again = parse_jkl(format_jkl(problem))
    assert again.names == problem.names
    for name in ("first", "scores", "member_first", "members"):
        np.testing.assert_array_equal(getattr(again, name), getattr(problem, name))


@pytest.mark.parametrize("suffix", [".jkl", ".jkl.gz"])
def test_files_round_trip(tmp_path, suffix):
    path = tmp_path / f"scores{suffix}"
    write_jkl(parse_jkl(SURVEY), path)
    assert table(read_jkl(path)) == table(parse_jkl(SURVEY))


def test_constraints_are_kept_by_writing_only_what_they_allow():
    problem = Problem.from_candidates(
        "abc",
        [{(1,): 1.0, (): 0.0, (1, 2): 2.0}, {(): 0.0, (0,): 1.0}, {(): 0.0}],
        required=[(1, 0)],
        forbidden=[(2, 0)],
    )
    assert table(parse_jkl(format_jkl(problem)))[0] == {(1,): 1.0}


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "", "number of variables, found nothing"),
        ("x\n", "line 1, column 1", "whole number"),
        ("2 2\n", "line 1, column 1", "alone on a line"),
        ("1\na 1 1\n0 0\n", "line 2, column 3", "name count"),
        ("1\na one\n0 0\n", "line 2, column 3", "whole number"),
        ("2\na 1\n-1 0\n", "line 4, column 1", "variable 2 of 2"),
        ("1\na 2\n-1 0\n", "line 4, column 1", "candidate 2 of 2"),
        ("1\na 1\n-1 0\n-2 0\n", "line 4, column 1", "expected the end"),
        ("2\na 1\n-1 0\na 1\n-1 0\n", "line 4, column 1", "'a' stands here twice"),
        ("1\na 1\nb 0\n", "line 3, column 1", "finite score"),
        ("1\na 1\nnan 0\n", "line 3, column 1", "finite score"),
        ("1\na 1\n-1\n", "line 3, column 1", "number of parents"),
        ("1\na 1\n-1 x\n", "line 3, column 4", "number of parents"),
        ("2\na 1\n-1 2 b\nb 0\n", "line 3, column 4", "2 parents on this line, found 1"),
        ("1\na 1\n-1 1  z\n", "line 3, column 7", "'z' is not a variable"),
        ("1\na 1\n-1 1 a\n", "line 3, column 6", "variable itself"),
        ("2\na 1\n-1 2 b b\nb 0\n", "line 3, column 6", "twice"),
        ("2\na 2\n-1 1 b\n-2 1 b\nb 0\n", "line 4, column 6", "parent set stands here twice"),
    ],
)
def test_errors_name_the_place(text, place, message):
    with pytest.raises(FormatError) as caught:
        parse_jkl(text, "bad.jkl")
    assert f"bad.jkl, {place}" in str(caught.value) or not place
    assert message in str(caught.value)


def test_unreadable_files_are_refused(tmp_path):
    with pytest.raises(OptionError, match=r"none\.jkl"):
        read_jkl(tmp_path / "none.jkl")
    (tmp_path / "cut.jkl.gz").write_bytes(gzip.compress(SURVEY.encode())[:-9])
    with pytest.raises(FormatError, match="gzip"):
        read_jkl(tmp_path / "cut.jkl.gz")
    (tmp_path / "latin.jkl").write_bytes(b"1\n\xe9 0\n")
    with pytest.raises(FormatError, match="line 2, byte 1"):
        read_jkl(tmp_path / "latin.jkl")


@pytest.mark.parametrize("name", ["two words", "", "#a", "a\n"])
def test_names_that_the_format_cannot_hold_are_refused(name):
    with pytest.raises(OptionError, match="rename"):
        format_jkl(Problem.from_candidates([name], [{(): 0.0}]))


def test_choices_are_refused():
    problem = Problem(
        names=("a",),
        first=np.array([0, 1]),
        scores=np.zeros(1),
        member_first=np.zeros(2, np.int64),
        options=np.array([2]),
        literal_first=np.array([0, 1]),
        literals=np.array([0], np.int32),
    )
    with pytest.raises(OptionError, match="choices"):
        format_jkl(problem)


@pytest.mark.parametrize(
    ("name", "n", "m"),
    [("zoo_BIC.txt", 17, 554), ("survey-5000.jkl", 6, 15), ("insurance-5000.jkl", 27, 1454)],
)
def test_public_files_load(data_dir, name, n, m):
    problem = read_jkl(data_dir / "bnsl" / f"{name}.gz")
    assert (problem.n_variables, problem.n_candidates) == (n, m)
