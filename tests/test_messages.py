"""Messages of the library name parameters in Python, and options on the command line."""

import re
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import exactlearn as el
from exactlearn.__main__ import main
from exactlearn.errors import HOMES, as_written, parameters_written

ROWS = 60
COLUMNS = {
    "place": (["Ghent"] * ROWS, ["drop=['place']"], ["--drop 'place'"]),
    "empty": ([None] * ROWS, ["drop=['empty']", "states={'empty': ['A', 'B']}"],
              ["--drop 'empty'", "--states 'empty=A,B'"]),
    "height": (list(np.arange(ROWS) / 7),
               ["drop=['height']", "discretise={'height': 'frequency:5'}"],
               ["--drop 'height'", "--discretise 'height=frequency:5'"]),
    "code": ([*range(ROWS - 1), "none"], ["missing=['none']"], ["--missing 'none'"]),
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_a_message_about_a_column_says_what_to_write(tmp_path, name):
    values, in_python, as_options = COLUMNS[name]
    frame = pd.DataFrame({"smoke": ["no", "yes"] * (ROWS // 2), name: values})
    with pytest.raises(el.ExactlearnError) as caught:
        el.augment(frame, "bdeu")
    for words in in_python:
        assert words in str(caught.value)
    assert "--" not in str(caught.value)
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = CliRunner().invoke(main, ["solve", str(tmp_path / "t.csv")])
    assert done.exit_code == 2
    for words in as_options:
        assert words in done.stderr
    with pytest.raises(el.ExactlearnError) as caught:  # in Python again
        el.read_dataset(tmp_path / "t.csv")
    assert in_python[0] in str(caught.value)


def test_what_a_message_says_helps():
    frame = pd.DataFrame(
        {"smoke": ["no", "yes"] * 30, "n": np.arange(60) / 7, "place": "x"}
    )
    table = el.Dataset.from_frame(
        frame, drop=["place"], discretise={"n": "frequency:3"}
    )
    assert table.names == ("smoke", "n")
    array = el.Dataset.from_frame(
        frame.to_numpy(object), drop=["X2"], discretise={"X1": "frequency:3"}
    )
    np.testing.assert_array_equal(array.codes, table.codes)
    with pytest.raises(el.ExactlearnError, match="did you mean 'place'"):
        el.Dataset.from_frame(frame, drop="plaec")


def test_scores_are_named_as_they_are_given():
    table = el.Dataset.from_frame(np.array([["a", "x"], ["b", "y"]]))
    with pytest.raises(
        el.ExactlearnError, match="ess='auto' is for score='bdeu', found 'bic'"
    ):
        el.learn(table, score="bic", ess="auto")
    with parameters_written(lambda parameter, value: f"<{parameter}>"):
        assert as_written("drop", ["a"]) == "<drop>"
    assert as_written("drop", ["a"]) == "drop=['a']"


def test_what_a_message_lists_is_not_cut_but_what_it_quotes():
    names = ", ".join(f"'column {k}'" for k in range(500))
    cure = "; drop them (drop=['column 0'])"
    for quoted in (2000 * "x", 500 * "many words "):
        message = str(
            el.errors.DataError(
                f"found {quoted!r} in the model's columns {names}{cure}"
            )
        )
        assert message.endswith(f"{names}{cure}")
        assert len(message) < len(names + cure) + 120


MANY = list(range(100_000))


@pytest.mark.parametrize(
    "text",
    [
        f"[data]\nfile = {MANY}",
        f"[data]\nfile = 'cancer-mcar'\n[score]\ness = {MANY}",
        f"[data]\nfile = 'cancer-mcar'\n[search]\nmethod = {MANY}",
        f"[data]\nfile = 'cancer-mcar'\n[search]\ntiers = [{MANY}]",
        f"[data]\nfile = 'cancer-mcar'\n[query]\nevidence = {MANY}",
        f"sweep = {MANY}\n[data]\nfile = 'cancer-mcar'",
        f"query = [{MANY}]\n[data]\nfile = 'cancer-mcar'",
        f"[data]\nfile = 'cancer-mcar'\n[query]\noutput = {MANY}",
    ],
    ids=["file", "ess", "method", "tiers", "evidence", "sweep", "query", "output"],
)
def test_a_list_in_a_run_file_is_quoted_in_part(tmp_path, text):
    (tmp_path / "x.toml").write_text(text)
    done = CliRunner().invoke(
        main, ["run", str(tmp_path / "x.toml"), "-o", str(tmp_path / "out")]
    )
    assert done.exit_code == 2
    assert "expected" in done.stderr
    assert "0, 1, 2, 3" in done.stderr
    assert len(done.stderr) < 800


@pytest.mark.parametrize("tidy", [False, True])
def test_a_message_about_thousands_of_columns_is_cut(tmp_path, tidy):
    frame = pd.DataFrame(
        {f"constant {k}": ["x", "x"] for k in range(2000)} | {"a": ["x", "y"]}
    )
    path = tmp_path / "wide.csv"
    frame.to_csv(path, index=False)
    done = CliRunner().invoke(main, ["solve", str(path), *["--tidy"] * tidy])
    assert done.exit_code == (0 if tidy else 2)
    assert 5_000 < len(done.stderr) < 11_000


TABLES = {
    "constant": {"place": ["Ghent"] * ROWS},
    "empty": {"empty": [None] * ROWS},
    "numbers": {"height": list(np.arange(ROWS) / 7)},
    "text among numbers": {"code": [*range(ROWS - 1), "none"]},
    "names": {"who": [f"person {k}" for k in range(ROWS)]},
    "texts for missing": {"known": ["a", "NaN"] * (ROWS // 2)},
}
"""Columns that are refused in a frame."""


def takers():
    """Yield what takes a frame, as functions of it, with what it may be told."""
    functions = {
        "learn": (el.learn, ()),
        "augment": (el.augment, ("bdeu",)),
        "best_solutions": (el.best_solutions, ("bdeu", 2)),
        "bootstrap": (el.bootstrap, (2,)),
        "candidate_parent_sets": (el.candidate_parent_sets, ("bdeu",)),
        "choose_ess": (el.choose_ess, ()),
        "cross_validate": (el.cross_validate, (["independent"], 2)),
        "equivalence_search": (el.equivalence_search, ("bdeu",)),
        "fit_complete": (el.fit_complete, ([(), ()],)),
        "fit_em": (el.fit_em, ([(), ()],)),
        "from_frame": (el.Dataset.from_frame, ()),
        "impute": (el.impute, ()),
        "learn_naive_bayes": (el.learn_naive_bayes, ()),
        "learn_pdg": (el.learn_pdg, ()),
        "learned_counts": (el.learned_counts, ()),
        "score_family": (el.score_family, (0, [], "bdeu")),
        "structural_em": (el.structural_em, ("bdeu",)),
    }
    for name, (function, more) in functions.items():
        yield pytest.param(function, function, more, id=name)
    yield pytest.param(el.Imputer().fit, el.Imputer, (), id="Imputer")


ADVICE = re.compile(
    r"(?:([A-Za-z_][\w.]*)\((?:frame|table|path), |\()?"  # the function that takes it, if named
    r"\b([a-z_]+)=(?=[\[{'\"TF.\d])"
)
"""An argument that a message advises, with the function that takes it where it names one."""


def advised(message, function):
    """Yield each function and parameter that a message of a function advises."""
    for owner, parameter in ADVICE.findall(message):
        target = function
        for part in owner.split(".") if owner else ():
            target = getattr(el if target is function else target, part)
        yield target, parameter


@pytest.mark.parametrize("columns", TABLES)
@pytest.mark.parametrize(("call", "function", "more"), list(takers()))
def test_an_option_that_a_message_names_exists_in_what_raised_it(
    call, function, more, columns
):
    frame = pd.DataFrame({"smoke": ["no", "yes"] * (ROWS // 2), **TABLES[columns]})
    with pytest.raises(el.ExactlearnError) as caught:
        call(frame, *more)
    options = list(advised(str(caught.value), function))
    assert options
    for target, parameter in options:
        assert parameter in signature(target).parameters, str(caught.value)
        # That of learn is the estimator of the counts, and not the symbol of a missing cell.
        assert (target, parameter) != (el.learn, "missing"), str(caught.value)


def test_every_call_that_a_message_advises_takes_the_parameter():
    for parameter, home in HOMES.items():
        target = el
        for part in home.partition("(")[0].split("."):
            target = getattr(target, part)
        assert parameter in signature(target).parameters


def test_what_is_advised_of_a_frame_works_where_it_is_advised():
    frame = pd.DataFrame({"smoke": ["no", "yes"] * 10, "cough": ["no"] * 20})
    learned = el.learn(frame, states={"cough": ["no", "yes"]})
    assert learned.names == ("smoke", "cough")
    with pytest.warns(el.errors.ColumnWarning):
        assert (
            el.cross_validate(frame, ["independent"], 2, tidy=True).best
            == "independent"
        )
    with pytest.warns(el.errors.ColumnWarning):
        assert el.impute(
            frame.replace("yes", None).assign(a=["x", "y"] * 10), tidy=True
        )
