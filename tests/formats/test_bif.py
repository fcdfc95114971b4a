import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.errors import FormatError
from exactlearn.formats.bif import (
    format_bif,
    parse_bif,
    read_bif,
    write_bif,
)
from tests.network_oracle import assert_same, random_network
from tests.strategies import any_names

# Nodes, arcs and free parameters as the repository of Bayesian networks states them.
PUBLISHED = {
    "alarm": (37, 46, 509),
    "andes": (223, 338, 1157),
    "asia": (8, 8, 18),
    "barley": (48, 84, 114005),
    "cancer": (5, 4, 10),
    "child": (20, 25, 230),
    "earthquake": (5, 4, 10),
    "hailfinder": (56, 66, 2656),
    "hepar2": (70, 123, 1453),
    "insurance": (27, 52, 1008),
    "mildew": (35, 46, 540150),
    "munin1": (186, 273, 15622),
    "pathfinder": (109, 195, 72079),
    "pigs": (441, 592, 5618),
    "sachs": (11, 17, 178),
    "survey": (6, 6, 21),
    "water": (32, 66, 10083),
    "win95pts": (76, 112, 574),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_public_files_load_and_come_back_bit_for_bit(data_dir, name):
    text = gzip.decompress((data_dir / "bif" / f"{name}.bif.gz").read_bytes()).decode()
    network = parse_bif(text)
    counts = (network.n_variables, len(network.arcs), network.representational_size)
    assert counts == PUBLISHED[name]
    written = format_bif(network)
    assert_same(parse_bif(written), network)
    if (
        "property" not in written
    ):  # but for the numbers, its lines are those of the repository
        ours, theirs = (
            [re.sub(f" {NUMBERS};", "", line).rstrip() for line in each.splitlines()]
            for each in (written, text)
        )
        assert ours == theirs


VARIABLES = """
network test { property author "me; you" ; property version 1 ; }
variable a { property x = (1, 2); type discrete[2] { no, "y e s" }; }
variable b { type discrete [ 3 ] { <5, 5-9, 9+ }; property y ; }
"""


def test_every_kind_of_row_is_read():
    network = parse_bif(
        VARIABLES
        + """
        /* The child stands first; a comment may hold } and ; */
        probability ( b | a ) { // rows in any order
          property z ;
          default 0.2 0.3 0.5;
          ("y e s") .1, 2e-1, 0.7;
        }
        probability ( "a" ) { table 0.25, 0.75; }
        """
    )
    assert network.names == ("a", "b")
    assert network.states == (("no", "y e s"), ("<5", "5-9", "9+"))
    assert network.tables[1].tolist() == [[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]]


def test_a_table_with_parents_counts_the_parents_fastest():
    # The example of the format's definition: P(dog-out | bowel-problem, family-out).
    network = parse_bif(
        """
        variable light { type discrete [2] { true, false }; }
        variable bowel { type discrete [2] { true, false }; }
        variable out { type discrete [2] { true, false }; }
        probability (light) { table 0.5 0.5; }
        probability (bowel) { table 0.5 0.5; }
        probability (out | bowel light) { table 0.99 0.97 0.9 0.3 0.01 0.03 0.1 0.7; }
        """
    )
    assert network.tables[2][..., 0].tolist() == [[0.99, 0.97], [0.9, 0.3]]


def test_statements_and_rows_may_be_in_any_order():
    """Probabilities may precede the declaration of their variables."""
    text = format_bif(random_network(np.random.default_rng(9), 4))
    network = parse_bif(text)
    start = text.index("probability")
    first = text.index("variable")
    swapped = parse_bif(text[start:] + text[first:start])
    assert_same(swapped, network)
    rows = re.sub(
        r"\{\n((?:  \(.*\n)+)\}",
        lambda m: "{\n" + "".join(m[1].splitlines(keepends=True)[::-1]) + "}",
        text,
    )
    assert rows != text
    assert_same(parse_bif(rows), network)


def test_rounded_rows_are_rescaled():
    text = "variable a { type discrete [3] { x y z }; } probability (a) { table .333 .333 .333; }"
    assert parse_bif(text).tables[0].tolist() == [1 / 3] * 3
    with pytest.raises(FormatError, match="sum to one"):
        parse_bif(text.replace(".333", ".33"))
    nearly = text.replace(".333", ".3333333")
    assert parse_bif(nearly).tables[0].tolist() == [0.3333333] * 3


A = "probability (a) { table 0.5 0.5; }\n"
B = 'probability (b | a) { (no) 0.5 0.5 0; ("y e s") 1 0 0; }'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ": expected at least one variable, found none"),
        ("variabel a", ", line 1, column 1: expected 'network', 'variable'.* found 'variabel'"),
        ("variable a {\n  type continuous", ", line 2, column 8: expected 'discrete'"),
        ("variable a { type discrete [0]", "column 29: expected the number of states, found '0'"),
        ("variable a { type discrete [x]", "column 29: expected the number of states, found 'x'"),
        ("variable { ", ", line 1, column 10: expected a variable's name, found '{'"),
        ("variable a { type discrete [3] { no, y e s }; }", "column 34: .* found 4: .*quotes"),
        ("variable a { type discrete [2] { no, yes; }", "column 41: .*or '}', found ';'"),
        ("variable a { type discrete [2] { no, yes", "column 41: .*found the end of the text"),
        ('variable "a { type', "column 10: .*found '\"', which begins a string"),
        ("network /* x", "column 9: .*string or comment that never ends"),
        ("network n { }\n" + "/* " * 60_000, "line 2, column 1: .* never ends"),
        ('network n { }\n"' + '\\"' * 60_000, "line 2, column 1: .* never ends"),
        (VARIABLES.replace("5-9", "9+") + A + B, "variable 'b' has the state '9.' twice"),
        (VARIABLES + "variable a { type discrete [1] { x }; }", "line 5, .* 'a' stands twice"),
        (VARIABLES + A, "variable 'b': expected 3 probabilities, .* found 0"),
        (VARIABLES + "probability (a) {", "line 5, column 13: expected '}' somewhere"),
        (VARIABLES + "probability a { }", r"line 5, column 13: expected '\(', found 'a'"),
        (VARIABLES + "probability () { }", r"column 14: expected a variable's name, found '\)'"),
        (VARIABLES + "probability (ab) { }", "column 14: variable 'ab' is not declared; did you"),
        (VARIABLES + A + "probability (b | b) { default 1 0 0; }", "'b' stands twice in the fami"),
        (VARIABLES + A + A, "line 6, column 14: the variable 'a' stands twice"),
        (VARIABLES + "probability (a) { 0.5 }", "line 5, column 19: expected 'table', 'default'"),
        (VARIABLES + "probability (a) { table 0.5 half; }", "column 29: .*or ';', found 'half'"),
        (VARIABLES + "probability (a) { table 1_0 nan; }", "column 25: .*found '1_0'"),
        (VARIABLES + "probability (a) { table 0.5 }", "column 25: expected ';' somewhere"),
        (VARIABLES + "probability (a) { table 0.5; }", "column 25: .*2 probabilities of 'a' here"),
        (VARIABLES + A.replace("0.5 0.5", "0.5 0.4") + B, "'a': .* with sum 0.9"),
        (VARIABLES + A.replace("0.5 0.5", "1.5 -0.5") + B, "'a': expected probabilities >= 0"),
        (VARIABLES + "probability (a) { (no) 0 1; }", "column 20: .*each of 0 parents"),
        (VARIABLES + "probability (b | a) { (on) 0 0 1; }", "column 24: .*'a' has no state 'on'"),
        (VARIABLES + "probability (b | a) { (no) 0 1 0; }", "column 35: .*1 of 2 rows, .*y e s"),
        (VARIABLES + "probability (b | a) { (no) 0 0 1; (no) 0 1 0; }", "column 45: rows"),
        (VARIABLES + "probability (b | a) { (no) 0 0 1; table 1 1 0 0 0 0; }", "given twice"),
        (VARIABLES + A + B.replace("1 0 0", "1 0 1"), "'b', given a=y e s: .* sum 2.0"),
    ],
)  # fmt: skip
def test_errors_name_the_place_and_the_fix(text, message):
    with pytest.raises(FormatError, match=rf"^my\.bif.*{message}"):
        parse_bif(text, "my.bif")


def test_cycles_are_named():
    with pytest.raises(FormatError, match=r"BIF text: .* (a -> b -> a|b -> a -> b),"):
        parse_bif(VARIABLES + B + "probability (a | b) { default 0.5 0.5; }")


def test_a_table_beyond_memory_is_refused_before_it_is_made():
    parents = " ".join(f"x{v}" for v in range(70))
    text = "".join(
        f"variable {v} {{ type discrete [2] {{ n y }}; }}\n" for v in parents.split()
    )
    text += VARIABLES + f"probability (a | {parents}) {{ default 0.5 0.5; }}"
    with pytest.raises(
        FormatError, match="70 parents, the network has 2361183241434822606848 entries"
    ):
        parse_bif(text)


def test_tables_beyond_memory_together_are_refused(monkeypatch):
    monkeypatch.setattr("exactlearn.formats.bif.LARGEST_TABLE", 7)
    declared = "".join(
        f"variable {v} {{ type discrete [ 2 ] {{ a, b }}; }}" for v in "xyz"
    )
    first = "probability ( x ) { table 1 0; } probability ( y | x ) { default 1 0; }"
    with pytest.raises(
        FormatError, match=r"'z', .* the network has 8 entries, expected at most 7"
    ):
        parse_bif(f"{declared} {first} probability ( z ) {{ table 1 0; }}")


def test_names_that_no_file_can_hold_are_encoded(tmp_path):
    network = BayesianNetwork(("\ud800",), (("x",),), ((),), (np.ones(1),))
    write_bif(network, tmp_path / "n.bif")
    assert read_bif(tmp_path / "n.bif").names == ("\ud800",)


def test_plain_names_are_written_as_they_are():
    network = BayesianNetwork(
        ("Dog-out", "a.b"),
        (("0", "-1"), ("yes", "Yes")),
        ((), (0,)),
        (np.full(2, 0.5), np.eye(2)),
    )
    assert format_bif(network) == (
        "network unknown {\n}\n"
        "variable Dog-out {\n  type discrete [ 2 ] { 0, -1 };\n}\n"
        "variable a.b {\n  type discrete [ 2 ] { yes, Yes };\n}\n"
        "probability ( Dog-out ) {\n  table 0.5, 0.5;\n}\n"
        "probability ( a.b | Dog-out ) {\n  (0) 1.0, 0.0;\n  (-1) 0.0, 1.0;\n}\n"
    )


# What the files of the bnlearn repository are made of; bnlearn itself is not run here.
NAME, STATE, NUMBER = r"[A-Za-z0-9_.-]+", r"[A-Za-z0-9_.<>=+/-]+", r"[0-9.e+-]+"
NAMES, STATES, NUMBERS = (f"{each}(?:, {each})*" for each in (NAME, STATE, NUMBER))
BNLEARN_LINE = re.compile(
    "|".join(
        (
            r"network unknown \{",
            r"\}",
            rf"variable {NAME} \{{",
            rf"  type discrete \[ [0-9]+ \] \{{ {STATES} \}};",
            rf"probability \( {NAME}(?: \| {NAMES})? \) \{{",
            rf"  (?:table|\({STATES}\)) {NUMBERS};",
        )
    )
)


@given(st.lists(any_names, min_size=2, max_size=6, unique=True))
@settings(max_examples=100)
def test_written_lines_have_the_form_of_the_bif_repository(names):
    """Lines of properties excepted."""
    network = BayesianNetwork(
        tuple(names),
        (tuple(names),) * len(names),
        ((), *((v,) for v in range(len(names) - 1))),
        (
            np.full(len(names), 1 / len(names)),
            *[np.full((len(names),) * 2, 1 / len(names))] * (len(names) - 1),
        ),
    )
    for line in format_bif(network).splitlines():
        is_property = re.fullmatch(
            r'  property exactlearn_(name|states) = "[^;{}=]*" ;', line
        )
        assert is_property or BNLEARN_LINE.fullmatch(line)


def test_special_names_become_words_and_a_property():
    """The property keeps the name that a word cannot express."""
    network = BayesianNetwork(
        ("a b", "a_b", "table"),
        (("<=1", "(1, 2]"),) * 3,
        ((),) * 3,
        (np.full(2, 0.5),) * 3,
    )
    text = format_bif(network)
    assert text.startswith(
        "network unknown {\n}\n"
        "variable a_b_2 {\n"
        "  type discrete [ 2 ] { lteq1, _1_2_ };\n"
        '  property exactlearn_name = "a%20b" ;\n'
        '  property exactlearn_states = "%3C%3D1|%281%2C%202%5D" ;\n'
        "}\n"
        "variable a_b {\n"
    )
    assert "variable _table {" in text
    assert_same(parse_bif(text), network)


@pytest.mark.parametrize(
    ("true", "message"),
    [
        ('exactlearn_states = "x"', "expected 2 different names in the property"),
        ('exactlearn_states = "x|x"', "2 different names"),
        ('exactlearn_states = "x|%FF"', "2 different names"),
        ("exactlearn_states = 1 2", "2 different names"),
        ('exactlearn_states "x" "y" "z"', "2 different names"),
        ("exactlearn_states", "2 different names"),
        ('exactlearn_name = "a|b"', "1 different names"),
        ('exactlearn_name = "b"', "two variables have the name 'b'"),
    ],
)
def test_properties_that_hold_no_names_are_refused(true, message):
    with pytest.raises(FormatError, match=message):
        parse_bif(
            f"""
            variable a {{ type discrete [2] {{ s t }}; property {true} ; }}
            variable b {{ type discrete [2] {{ s t }}; }}
            probability (a) {{ table 0.5 0.5; }} probability (b) {{ table 0.5 0.5; }}
            """
        )
