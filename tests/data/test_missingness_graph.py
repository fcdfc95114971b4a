"""Missingness graphs: text and back, the kind of missingness, and graphs that are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactlearn.data.dataset import Dataset
from exactlearn.data.missingness_graph import IGNORABLE, MissingnessGraph
from exactlearn.errors import DataError, FormatError, OptionError

NAMES = st.text(
    st.sampled_from(list('ab<#"()- .missing')), min_size=1, max_size=6
).filter(lambda name: name == name.strip() and "<-" not in name) | st.sampled_from(
    ["missing", "income", "age (years)"]
)


@st.composite
def graphs(draw):
    variables = draw(st.lists(NAMES, unique=True, max_size=4))
    names = st.lists(NAMES, unique=True, max_size=3)
    causes = {name: tuple(draw(names)) for name in variables}
    indicators = {
        name: chosen
        for k, name in enumerate(variables)
        if (chosen := tuple(v for v in variables[:k] if draw(st.booleans())))
    }
    return MissingnessGraph(causes, indicators)


@given(graphs())
def test_text_reads_back(graph):
    assert MissingnessGraph.parse(str(graph)) == graph


def test_statements_stand_on_lines():
    text = """
    income <- age (years), income
    smoke <-
    pay (gross) <- missing(income), age (years); a <- missing (pay (gross))
    """
    graph = MissingnessGraph.parse(text)
    assert graph.causes["income"] == ("age (years)", "income")
    assert graph.causes["pay (gross)"] == ("age (years)",)
    assert graph.indicator_causes == {"pay (gross)": ("income",), "a": ("pay (gross)",)}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "MCAR"),
        ("a <-; b <-", "MCAR"),
        ("a <-; b <- missing(a)", "MCAR"),
        ("a <- c; b <-", "MAR"),
        ("a <- c; b <- missing(a)", "MAR"),
        ("a <- a", "MNAR"),
        ("a <- b; b <-", "MNAR"),
    ],
)
def test_kind(text, kind):
    assert MissingnessGraph.parse(text).kind == kind


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("income", FormatError, "expected statements such as .* found 'income'"),
        ("<- age", FormatError, "found '<- age'"),
        ("a <- b c", None, None),
        ("a <- b <- c", FormatError, "found 'a <- b <- c'"),
        ("a <- b,, c", FormatError, "found 'a <- b,, c'"),
        ("c <-\na <- b,", FormatError, "found 'a <- b,'"),
        ("a <- b; a <- c", FormatError, "two statements for 'a'"),
        ("a <- b, b", OptionError, "'a' has the cause 'b' twice"),
        ("a <- missing(b)", OptionError, "'b' has no missing cells"),
        ("a <- missing(b); b <- missing(a)", OptionError, "directed cycle"),
        ("a <- missing(a)", OptionError, "directed cycle"),
    ],
)
def test_what_is_no_graph_is_refused(text, error, words):
    if error is None:
        assert MissingnessGraph.parse(text).causes == {"a": ("b c",)}
        return
    with pytest.raises(error, match=words.replace("(", r"\(")):
        MissingnessGraph.parse(text)


def test_a_graph_is_checked_against_a_table():
    table = Dataset(np.array([[0, -1], [-1, 1]]), ("a", "b"), (("x", "y"),) * 2)
    MissingnessGraph.parse("a <- b; b <- a").check_table(table)
    with pytest.raises(
        OptionError, match="'c' is no variable; expected one of 'a', 'b'"
    ):
        MissingnessGraph.parse("a <- c; b <-").check_table(table)
    with pytest.raises(
        DataError, match=r"column 'b', row 1 \(index 0\): a missing cell"
    ):
        MissingnessGraph.parse("a <- b").check_table(table)


def test_indicators_are_the_last_columns():
    table = Dataset(np.array([[0, -1], [-1, 1]]), ("a", "b"), (("x", "y"),) * 2)
    graph = MissingnessGraph.parse("b <- a; a <- missing(b)")
    assert graph.extended(table).codes.tolist() == [[0, -1, 1, 0], [-1, 1, 0, 1]]
    assert graph.parents(table.names) == [(0,), (2,)]
    assert IGNORABLE.extended(table) is table
