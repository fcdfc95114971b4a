"""Run files: reading, what is refused, and the round trip of the resolved run."""

import tomllib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.commands.sections import GraphParameters, NetworkParameters
from exactlearn.commands.steps import Data, RunFile, read_runs
from exactlearn.errors import FormatError, OptionError
from exactlearn.formats.run_file import from_table, to_toml

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def table(text: str) -> RunFile:
    return from_table(tomllib.loads(text), RunFile)


def read_run(path):
    ((_, run),) = read_runs(path)
    return run


def test_only_the_data_file_is_needed():
    run = table('data = {file = "a.csv"}')
    assert run == RunFile(data=Data(file="a.csv"))
    assert run.score.max_parents == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 'no data'", "key 'data' is missing: expected a table"),
        ("[data]", "key 'data.file' is missing: expected a text"),
        ("[data]\nfile = 3", "key 'data.file': expected a text, found the value 3"),
        ("data = 3", "key 'data': expected a table, found the value 3"),
        ("[dta]\nfile = 'a'", "unknown key 'dta'; did you mean 'data'"),
        ("[data]\nfile='a'\nsep=','", "unknown key 'data.sep'; "),
        (
            "data.file='a'\ndata.states.A = 'yes'",
            "'data.states.A': expected a list, each entry a t",
        ),
        ("score.max_parent = 2", "did you mean 'max_parents'"),
        ("score.max_parents = 2.5", "expected a whole number, found the value"),
        ("score.max_parents = true", "expected a whole number, found the value"),
        ("score.max_parents = -1", "max_parents: expected at least 0, found -1"),
        ("score.ness = 1", "unknown key 'score.ness'; did you mean 'ess'"),
        ("score.criterion = 'bde'", "'score.criterion': expected one of 'bdeu'"),
        ("search.required = 'A->B'", "expected a list, each entry a text"),
        ("search.forbidden = [1]", r"key 'search.forbidden\[0\]': expected a"),
        ("search.method = 'sem'", "'search.method': expected one of 'branching'"),
        ("search.t = 0", "t: expected at least 1, found 0"),
        ("search.time_limit = nan", "time_limit: expected at least 0"),
        ("search.time_limit = inf", "time_limit: expected at least 0"),
        ("[[query]]\nevidence = 'A'", "each value a text, found the text 'A'"),
        ("[[query]]\nevidence.A = 1", "key 'query.evidence.A': expected"),
        ("[imput]", "unknown key 'imput'; did you mean 'impute'"),
        ("impute = 3", "key 'impute': expected a table, found 3"),
        (
            "impute.methods = 'mpe'",
            "unknown key 'impute.methods'; did you mean 'method'",
        ),
        ("impute.method = 'mp'", "key 'impute.method': expected one of 'stacked'"),
        ("impute.draws = 0", "draws: expected at least 1, found 0"),
        (
            "impute.output = 3",
            "key 'impute.output': expected a text, found the value 3",
        ),
        (
            "[[impute]]\n[[impute]]",
            "impute: 'imputed' is written before; name another file",
        ),
        ("impute.output = 'result.json'", "'result.json' is written before"),
        ("[convert]", "key 'convert.source' is missing"),
        ("solve.classes = true", "--classes is for --best"),
        (
            "sweep.score.ess = []",
            r"key 'sweep.score.ess': expected a list of values, found \[\]",
        ),
        ("sweep.score = 3", "key 'sweep.score': expected a list of values, found 3"),
        (
            "sweep.score.ess = [1, 'many']",
            "'score.ess': expected a number, found the text 'many'",
        ),
        ("sweep.score.ness = [1]", "unknown key 'score.ness'"),
        ("sweep.scor.ess = [1]", "unknown key 'scor'; did you mean 'score'"),
        (
            "title = 'x'\nsweep.title.x = [1]",
            "'sweep.title.x': expected the key of a section or a",
        ),
        (
            f"sweep.search = {{seed = {[*range(101)]}, t = {[*range(1, 101)]}}}",
            "10,100 runs",
        ),
    ],
)
def test_what_is_refused(tmp_path, text, message):
    path = tmp_path / "run.toml"
    path.write_text(text if "data" in text else f"data.file = 'a.csv'\n{text}")
    with pytest.raises(OptionError, match=rf"run\.toml: .*{message}"):
        read_runs(path)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("title = 'x'\n[data\n", FormatError, "not a TOML file: .*line 2, column 6"),
        ("b = " + "[" * 50_000, FormatError, "nested too deep"),
        ("a = " + "{a = " * 50_000, FormatError, "nested too deep"),
        (
            ".".join("a" * 50_000) + " = 1",
            FormatError,
            "line 1, column 1: .* at most 50 parts",
        ),
        (
            "[" + " . ".join(["'a'"] * 50_000) + "]",
            FormatError,
            "column 2: .* at most 50 parts",
        ),
        ("a" * 500_000 + " " * 500_000, FormatError, "not a TOML file"),
        ("a = 1\n" * 200_000, FormatError, "at most 1048576 letters, found 1200000"),
        ("[search]\nseed = " + "1" * 5_000, FormatError, "thousands of digits"),
        (
            "data.file='a'\nscore.max_parents=" + "1" * 400,
            OptionError,
            r"max_parents': .*2\*\*63",
        ),
        (
            "data.file='a'\nsearch.time_limit=" + "1" * 400,
            OptionError,
            r"time_limit': .*2\*\*63",
        ),
        (
            "data.file='a'\nscore.ess = 0x" + "f" * 5_000,
            OptionError,
            r"score.ess': .*2\*\*63",
        ),
    ],
    ids=range(11),
)
def test_what_no_parser_takes_is_refused(tmp_path, text, error, message):
    path = tmp_path / "run.toml"
    path.write_text(text)
    with pytest.raises(error, match=rf"run\.toml[:,].*{message}") as caught:
        read_run(path)
    assert len(str(caught.value)) < 300 + len(str(path))


@given(st.text("[]{}=.'\"\\n\t #a1_", max_size=60))
def test_any_text_is_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text)
    with suppress(FormatError, OptionError):
        read_run(path)


VALUES = TEXT | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False)
TABLES = st.recursive(
    st.dictionaries(TEXT, VALUES | st.lists(TEXT, max_size=3), max_size=3),
    lambda inner: st.dictionaries(
        TEXT, inner | st.lists(inner, min_size=1, max_size=2)
    ),
    max_leaves=6,
)


@given(TABLES)
def test_a_stored_run_is_read_back_as_it_was(run):
    assert tomllib.loads(to_toml(run)) == run


@pytest.mark.parametrize("section", [NetworkParameters, GraphParameters])
@pytest.mark.parametrize("count", [-1.0, 1e308, float("nan"), float("inf")])
def test_pseudo_counts_that_overflow_are_refused(section, count):
    with pytest.raises(OptionError, match=r"smoothing: expected 0 to 1e\+12"):
        section(smoothing=count)
