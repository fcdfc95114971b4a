import contextlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.errors import FormatError, InfeasibleError, OptionError
from exactlearn.formats.scores import format_jkl, parse_jkl, read_jkl, write_scores
from exactlearn.solvers.constraints import RequiredAncestor
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
    scores = st.floats(-1e299, 1e299)  # totals of more than 1e300 are refused
    candidates = []
    for child in range(n):
        parents = st.frozensets(
            st.sampled_from([p for p in range(n) if p != child] or [n])
        )
        allowed = parents.filter(lambda s: n not in s)
        sets = draw(st.lists(allowed, min_size=1, max_size=6, unique=True))
        candidates.append({tuple(sorted(s)): draw(scores) for s in sets})
    names = [f"v/{i}<{i}" for i in range(n)]
    return Problem.from_candidates(names, candidates)


def test_names_comments_and_order_are_read():
    problem = parse_jkl(SURVEY)
    assert problem.names == ("A", "R", "<5/x")
    assert table(problem) == [
        {(1,): -10.5, (): -12.25},
        {(): -3.0},
        {(0, 1): -1e-3, (): -7.0},
    ]
    assert problem.parent_set(3) == (0, 1)


@given(problems())
def test_writing_and_reading_gives_the_same_bits(problem):
    again = parse_jkl(format_jkl(problem))
    assert again.names == problem.names
    for name in ("first", "scores", "member_first", "members"):
        np.testing.assert_array_equal(getattr(again, name), getattr(problem, name))


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
        ("", "line 1", "number of variables alone on a line, found the end"),
        ("x\n", "line 1, column 1", "whole number"),
        ("2 2\n", "line 1, column 1", "alone on a line"),
        ("1\na 1 1\n0 0\n", "line 2, column 3", "name count"),
        ("1\na one\n0 0\n", "line 2, column 3", "whole number"),
        ("2\na 1\n-1 0\n", "line 4, column 1", "variable 2 of 2"),
        ("1\na 2\n-1 0\n", "line 4, column 1", "candidate 2 of 2"),
        ("1\na 1\n-1 0\n-2 0\n", "line 4, column 1", "expected the end"),
        ("2\na 1\n-1 0\na 1\n-1 0\n", "line 4, column 1", "'a' stands here twice"),
        ("0\n", "line 1, column 1", "at least one variable"),
        ("# only a comment\n", "line 2", "found the end of the file"),
        ("99999999999\n", "line 1, column 1", "whole number"),
        ("1\na -1\n", "line 2, column 3", "whole number"),
        ("1\na 0\n", "line 2, column 3", "'a' has no candidates"),
        (
            "2\na 1\n-1 0\n-2 0\nb 1\n0 0\n",
            "line 4, column 4",
            "count above is too small",
        ),
        ("1\na 1\nb 0\n", "line 3, column 1", "finite score"),
        ("1\na 2\n-1 0\n-inf 0\n", "line 4, column 1", "finite score"),
        ("1\na 1\n1_0 0\n", "line 3, column 1", "finite score"),
        ("1\na 1\n-1 -1\n", "line 3, column 4", "number of parents"),
        ("\n1\n#\n\na 2\n# two\n  -1 0\n  x 0\n", "line 8, column 3", "finite score"),
        ("2\na 1\n-1 1 z\nb 1\nx 0\n", "line 5, column 1", "finite score"),
        ("2\na 1\nx 0\nb y\n", "line 3, column 1", "finite score"),
        ("1\na 1\nnan 0\n", "line 3, column 1", "finite score"),
        ("1\na 1\n-1\n", "line 3, column 1", "number of parents"),
        ("1\na 1\n-1 x\n", "line 3, column 4", "number of parents"),
        (
            "2\na 1\n-1 2 b\nb 0\n",
            "line 3, column 4",
            "2 parents on this line, found 1",
        ),
        ("1\na 1\n-1 1  z\n", "line 3, column 7", "'z' is not a variable"),
        ("1\na 1\n-1 1 a\n", "line 3, column 6", "own parent"),
        ("2\na 1\n-1 2 b b\nb 1\n0 0\n", "line 3, column 6", "twice"),
        (
            "2\na 2\n-1 1 b\n-2 1 b\nb 1\n0 0\n",
            "line 4, column 6",
            "this parent set stood before",
        ),
    ],
)
def test_errors_name_the_place(text, place, message):
    with pytest.raises(FormatError) as caught:
        parse_jkl(text, "bad.jkl")
    assert f"bad.jkl, {place}" in str(caught.value) or not place
    assert message in str(caught.value)


def read_by_line(text):
    """Read a faultless text as its definition says, line by line."""
    lines = [line.split() for line in text.split("\n")]
    lines = [fields for fields in lines if fields and not fields[0].startswith("#")]
    tables, at = {}, 1
    for _ in range(int(lines[0][0])):
        name, count = lines[at]
        rows = lines[at + 1 : at + 1 + int(count)]
        tables[name] = {frozenset(parents): float(score) for score, _, *parents in rows}
        at += 1 + int(count)
    return tables


@given(problems(), st.data())
def test_arrays_read_what_lines_say(problem, data):
    fillers = st.sampled_from(["", "", "  ", "# a b 3", "\t#"])
    lines = [
        " " * data.draw(st.integers(0, 2))
        + line.replace(" ", data.draw(st.sampled_from(" \t")))
        for line in format_jkl(problem).split("\n")
        for line in (data.draw(fillers), line)
    ]
    read = parse_jkl("\n".join(lines))
    tables = {
        name: {
            frozenset(read.names[p] for p in s): score
            for s, score in read.candidates(v)
        }
        for v, name in enumerate(read.names)
    }
    assert tables == read_by_line("\n".join(lines))


@given(problems(), st.data())
def test_a_damaged_text_is_read_or_refused_with_its_place(problem, data):
    text = format_jkl(problem)
    at = data.draw(st.integers(0, len(text)))
    text = text[:at] + data.draw(st.text("0 a\n-.v#/e_", max_size=3)) + text[at + 1 :]
    with contextlib.suppress(FormatError):
        parse_jkl(text)


def test_a_file_cut_off_anywhere_is_refused():
    text = format_jkl(parse_jkl(SURVEY))
    for end in range(text.rindex("-7.0")):
        with pytest.raises(FormatError):
            parse_jkl(text[:end])


def test_line_ends_of_other_systems(tmp_path):
    for ends in (b"\r\n", b"\r"):
        (tmp_path / "s.jkl").write_bytes(SURVEY.encode().replace(b"\n", ends))
        assert table(read_jkl(tmp_path / "s.jkl")) == table(parse_jkl(SURVEY))


def test_what_no_score_file_holds_is_refused(tmp_path):
    arcs = {"required": [(2, 0)]}
    bare = Problem.from_candidates("abc", [{(1,): 1.0}, {(): 0.0}, {(): 0.0}], **arcs)
    with pytest.raises(InfeasibleError, match="'a' has no candidate"):
        write_scores(bare, tmp_path / "s.jkl")
    with pytest.raises(OptionError, match="needs a variable"):
        write_scores(Problem(), tmp_path / "s.jkl")
    whole = Problem.from_candidates("ab", [{(): 0.0}, {(): 0.0, (0,): 1.0}])
    whole = replace(whole, constraints=(RequiredAncestor(0, 1),))
    with pytest.raises(OptionError, match="concerns the whole network"):
        write_scores(whole, tmp_path / "s.jkl")
    with pytest.raises(OptionError, match=r"found '\.txt'"):
        write_scores(bare, tmp_path / "s.txt")
    with pytest.raises(OptionError, match="without a name"):
        format_jkl(Problem.from_candidates([""], [{(): 0.0}]))


def test_a_zero_byte_is_refused_with_its_line(tmp_path):
    (tmp_path / "zero.jkl").write_bytes(b"1\na 1\n\0 0\n")
    with pytest.raises(FormatError, match="line 3: a zero byte"):
        read_jkl(tmp_path / "zero.jkl")


@pytest.mark.parametrize("name", ["two words", "#a", "a\n", "a\0%20", "\xa0\u2028"])
def test_names_with_blanks_are_encoded(name):
    problem = Problem.from_candidates([name, "b%20"], [{(): 0.0}, {(0,): 0.0}])
    assert parse_jkl(format_jkl(problem)).names == problem.names


@pytest.mark.parametrize(
    ("name", "n", "m"),
    [
        ("zoo_BIC.txt", 17, 554),
        ("survey-5000.jkl", 6, 15),
        ("insurance-5000.jkl", 27, 1454),
    ],
)
def test_public_files_load(data_dir, name, n, m):
    problem = read_jkl(data_dir / "bnsl" / f"{name}.gz")
    assert (problem.n_variables, problem.n_candidates) == (n, m)
