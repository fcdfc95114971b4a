"""Files of local scores in every format: what one writes, all read alike."""

import gzip
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.errors import (
    FormatError,
    InfeasibleError,
    MissingExtraError,
    OptionError,
)
from exactlearn.formats.scores import is_score_file, read_scores, write_scores
from exactlearn.solvers.constraints import RequiredAncestor
from exactlearn.solvers.problem import Problem

EARTHQUAKE = Problem.from_candidates(
    ["quake", "alarm", "call"],
    [{(): -3.5}, {(0,): -1.25, (): -4.0, (0, 2): -1.0}, {(1,): -0.1, (): -2.0}],
)


@st.composite
def problems(draw):
    n = draw(st.integers(1, 5))
    scores = st.floats(allow_nan=False, allow_infinity=False)
    candidates = []
    for child in range(n):
        others = st.sets(st.integers(0, n - 1).filter(lambda p, own=child: p != own), max_size=3)
        sets = draw(st.lists(others.map(frozenset), min_size=1, max_size=6, unique=True))
        candidates.append({tuple(sorted(s)): draw(scores) for s in sets})
    return Problem.from_candidates([f"v{i}" for i in range(n)], candidates)


@pytest.fixture
def parquet(tmp_path):
    """Return a function that writes columns as a Parquet file."""
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    def write(**columns):
        path = tmp_path / "scores.parquet"
        pq.write_table(pa.table(columns), path)
        return path

    return write


def good():
    return {
        "variable": ["a", "a", "b"],
        "score": [-1.0, -2.0, -3.0],
        "parents": [["b"], [], []],
    }


@pytest.mark.parametrize("name", ["s.jkl", "s.scores", "s.jkl.gz", "s.SCORES.gz", "s.parquet"])
def test_every_format_keeps_every_bit(tmp_path, name):
    if "parquet" in name:
        pytest.importorskip("pyarrow")
    path = tmp_path / name
    write_scores(EARTHQUAKE, path)
    assert read_scores(path) == EARTHQUAKE
    assert is_score_file(path)


@settings(deadline=None, max_examples=30)
@given(problem=problems())
def test_parquet_keeps_every_bit(tmp_path_factory, problem):
    pytest.importorskip("pyarrow")
    path = tmp_path_factory.mktemp("parquet") / "s.parquet"
    write_scores(problem, path)
    assert read_scores(path) == problem


def test_parquet_reads_as_pandas_writes_and_names_may_have_blanks(tmp_path):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    problem = Problem.from_candidates(["a b", "#c"], [{(1,): -1.0, (): -2.0}, {(): -3.0}])
    write_scores(problem, tmp_path / "s.parquet")
    frame = pd.read_parquet(tmp_path / "s.parquet")
    assert list(frame.columns) == ["variable", "score", "parents"]
    assert [list(parents) for parents in frame["parents"]] == [["#c"], [], []]
    # Rows in any order, another column, numbers of another type.
    frame = frame.assign(score=frame["score"].astype("float32"), rank=1).iloc[[2, 1, 0]]
    frame.to_parquet(tmp_path / "p.parquet")
    read = read_scores(tmp_path / "p.parquet")
    assert read.names == ("#c", "a b")
    assert dict(read.candidates(1)) == {(): -2.0, (0,): -1.0}


def test_a_text_file_is_of_scores_when_it_begins_so(tmp_path):
    write_scores(EARTHQUAKE, tmp_path / "s.jkl")
    path = tmp_path / "s.txt"
    path.write_text("# a comment\n\n" + (tmp_path / "s.jkl").read_text())
    assert is_score_file(path)
    assert read_scores(path) == EARTHQUAKE
    path.write_text("a b\n1 0\n0 1\n")
    assert not is_score_file(path)
    assert not is_score_file(tmp_path / "data.csv")


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(OptionError, match=r"ending in \.jkl, .*found '\.csv'"):
        read_scores(tmp_path / "s.csv")
    with pytest.raises(OptionError, match=r"found '\.txt'"):
        write_scores(EARTHQUAKE, tmp_path / "s.txt")
    pytest.importorskip("pyarrow")
    with pytest.raises(OptionError, match=r"leave '\.gz' away"):
        write_scores(EARTHQUAKE, tmp_path / "s.parquet.gz")


@pytest.mark.parametrize(
    ("change", "printed"),
    [
        ({"parents": None}, "found no 'parents' among 'variable', 'score'"),
        ({"score": ["x", "y", "z"]}, "column 'score': expected numbers, found the type string"),
        ({"variable": [1, 2, 3]}, "column 'variable': expected texts, found the type int64"),
        ({"parents": ["b", "", ""]}, "column 'parents': expected lists of texts"),
        ({"score": [-1.0, None, -3.0]}, "row 2, column 'score': expected numbers, found null"),
        ({"parents": [["b"], None, []]}, "row 2, column 'parents'"),
        ({"parents": [["b"], [None], []]}, "column 'parents': expected lists of texts, found null"),
        ({"score": [-1.0, float("nan"), -3.0]}, "row 2, column 'score': expected a finite score"),
        ({"score": [-1.0, -3.0, float("inf")]}, "row 3, column 'score': expected a finite score"),
        ({"parents": [["b"], ["z"], []]}, "row 2, column 'parents': parent 'z' is no variable"),
        ({"parents": [["b"], ["a"], []]}, "row 2, column 'parents': variable 'a' is its own"),
        ({"parents": [["b", "b"], [], []]}, "row 1, column 'parents': parent 'b' stands here"),
        ({"parents": [[], [], []]}, "row 2, column 'parents': this parent set stood before"),
        ({"variable": ["a", "b", "a"]}, "row 2, column 'parents': variable 'b' is its own"),
    ],
)
def test_parquet_errors_name_column_and_row(parquet, change, printed):
    columns = {**good(), **change}
    if columns["variable"][1] == "b":
        columns["parents"] = [["b"], ["b"], []]
    path = parquet(**{name: column for name, column in columns.items() if column is not None})
    with pytest.raises(FormatError) as caught:
        read_scores(path)
    assert str(caught.value).startswith(str(path))
    assert printed in str(caught.value)


def test_the_first_fault_in_the_file_is_reported(parquet):
    path = parquet(
        variable=["a", "b", "a"], score=[1.0, float("nan"), float("nan")], parents=[[], [], ["b"]]
    )
    with pytest.raises(FormatError, match="row 2, column 'score'"):
        read_scores(path)


def test_damaged_parquet_files_are_refused(parquet, tmp_path):
    path = parquet(**good())
    whole = path.read_bytes()
    for damaged in (b"", b"PAR1", whole[:-20], b"1\na 1\n0 0\n"):
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match="not a Parquet file"):
            read_scores(path)
    with pytest.raises(OptionError, match="no file of that name"):
        read_scores(tmp_path / "none.parquet")
    pa = pytest.importorskip("pyarrow")
    kinds = {"variable": pa.string(), "score": pa.float64(), "parents": pa.list_(pa.string())}
    path = parquet(**{name: pa.array([], kind) for name, kind in kinds.items()})
    with pytest.raises(FormatError, match="found no row"):
        read_scores(path)


def test_a_cut_gzip_file_is_refused(tmp_path):
    write_scores(EARTHQUAKE, tmp_path / "s.scores.gz")
    whole = (tmp_path / "s.scores.gz").read_bytes()
    assert gzip.decompress(whole).startswith(b"3\nquake 1\n")
    (tmp_path / "s.scores.gz").write_bytes(whole[:-9])
    with pytest.raises(FormatError, match="damaged gzip file"):
        read_scores(tmp_path / "s.scores.gz")


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for use in (read_scores, is_score_file, lambda path: write_scores(EARTHQUAKE, path)):
        with pytest.raises(MissingExtraError, match=r"pip install 'exactlearn\[parquet\]'"):
            use(tmp_path / "s.parquet")


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
