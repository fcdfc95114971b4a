"""Formats of networks of other programs: exact round trips, and what pyAgrum and pgmpy read."""

import logging
import warnings
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn import BayesianNetwork, read_network, write_model
from exactlearn.errors import FormatError
from exactlearn.formats.bif import WORDS
from exactlearn.formats.models import NETWORKS
from exactlearn.instances import path as bundled_path
from tests.network_oracle import assert_same, joint, random_network
from tests.peer_networks import from_pgmpy, from_pyagrum, to_pgmpy, to_pyagrum
from tests.strategies import any_names

PGMPY = {".bif": "BIF", ".xmlbif": "XMLBIF", ".net": "NET"}
PYAGRUM = {".bif": "bif", ".bifxml": "bifxml", ".net": "net"}


@pytest.fixture(scope="module")
def pgmpy() -> Iterator[ModuleType]:
    """Return pgmpy, quiet: its log and the warnings of its imports are no concern here."""
    if find_spec("pgmpy") is None:
        pytest.skip("pgmpy is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = import_module("pgmpy")
        import_module("pgmpy.models")
        import_module("pgmpy.inference")
        import_module("pgmpy.readwrite")
        logging.getLogger("pgmpy").setLevel(logging.ERROR)
        yield library


@st.composite
def named_networks(draw, names=any_names, most=4) -> BayesianNetwork:
    n = draw(st.integers(1, most))
    plain = random_network(np.random.default_rng(draw(st.integers(0, 10**6))), n)
    own = draw(st.lists(names, min_size=n, max_size=n, unique=True))
    states = [
        draw(st.lists(names, min_size=len(s), max_size=len(s), unique=True))
        for s in plain.states
    ]
    return replace(plain, names=tuple(own), states=tuple(map(tuple, states)))


@pytest.mark.parametrize("suffix", NETWORKS)
@given(named_networks())
@settings(max_examples=60)
def test_round_trip_with_any_names_and_numbers(suffix, network):
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"n{suffix}"
        write_model(network, path)
        assert_same(read_network(path), network)


@pytest.mark.parametrize("suffix", NETWORKS)
def test_names_that_a_format_holds_stand_as_they_are(suffix, tmp_path):
    network = read_network(bundled_path("asia.bif"))
    write_model(network, tmp_path / f"asia{suffix}")
    assert "exactlearn_" not in (tmp_path / f"asia{suffix}").read_text().replace(
        "_place", ""
    )


def test_other_names_stand_beside_similar_words(tmp_path):
    network = BayesianNetwork(
        ("a b", "a_b"), (("<=1", "é"),) * 2, ((),) * 2, (np.full(2, 0.5),) * 2
    )
    write_model(network, tmp_path / "n.net")
    assert (
        (tmp_path / "n.net")
        .read_text()
        .startswith(
            "net\n{\n}\nnode a_b_2\n{\n"
            '  states = ( "<=1" "_" );\n'
            '  exactlearn_name = "a%20b";\n'
            '  exactlearn_states = "%3C%3D1|%C3%A9";\n}\n'
            "node a_b\n"
        )
    )
    write_model(network, tmp_path / "n.xmlbif")
    assert "<NAME>a b</NAME>" in (tmp_path / "n.xmlbif").read_text()


# The same network in each format, typed by hand from its definition; child is b, given a and c.
BY_HAND = {
    ".xmlbif": """<?xml version="1.0"?>
        <!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> ]>
        <BIF VERSION="0.3"><NETWORK><NAME>x</NAME>
        <VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>n</OUTCOME><OUTCOME>y</OUTCOME>
          <PROPERTY>position = (1, 2)</PROPERTY></VARIABLE>
        <VARIABLE TYPE="nature"><NAME> b </NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME></VARIABLE>
        <VARIABLE TYPE="nature"><NAME>c</NAME><OUTCOME>p</OUTCOME><OUTCOME>q</OUTCOME>
          <OUTCOME>r</OUTCOME></VARIABLE>
        <DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><GIVEN>c</GIVEN>
          <TABLE>.1 .9 .2 .8 .3 .7 <!-- a is y --> .4 .6 .5 .5 .6 .4</TABLE></DEFINITION>
        <DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
        <DEFINITION><FOR>c</FOR><TABLE>0.5 2.5e-1 0.25</TABLE></DEFINITION>
        </NETWORK></BIF>""",
    ".net": """/// Produced by Genie Software, as its files say
        net { name = "x"; node_size = (80 40); } % a comment
        node a { label = "the // {first}"; position = (1 -2); states = ("n" "y"); }
        discrete node b { states = ("0" "1"); }
        node c { states = ("p" "q" "r"); }
        potential (b | a c) { data = ((( .1 .9 )( .2 .8 )( .3 .7 ))  % a=n
                                      (( .4 .6 )( .5 .5 )( .6 .4 ))); }
        potential (a) { data = (0.25 0.75); }
        potential (c |) { data = (0.5 2.5e-1 0.25); }""",
}


@pytest.mark.parametrize("suffix", BY_HAND)
def test_files_by_hand_are_read(suffix, tmp_path):
    (tmp_path / f"n{suffix}").write_text(BY_HAND[suffix])
    found = read_network(tmp_path / f"n{suffix}")
    names, states = ("a", "b", "c"), (("n", "y"), ("0", "1"), ("p", "q", "r"))
    rows = [[[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]], [[0.4, 0.6], [0.5, 0.5], [0.6, 0.4]]]
    tables = (np.array([0.25, 0.75]), np.array(rows), np.array([0.5, 0.25, 0.25]))
    expected = BayesianNetwork(names, states, ((), (0, 2), ()), tables)
    assert_same(found.reordered(expected), expected)


@pytest.mark.parametrize(
    ("suffix", "old", "new", "message"),
    [
        (".xmlbif", "</BIF>", "", "expected XML"),
        (".xmlbif", "<NAME>a</NAME>", "", "expected <NAME> with text in each <VARIABLE>"),
        (".xmlbif", "<NAME>a</NAME>", "<NAME>c</NAME>", "the variable 'c' stands twice"),
        (".xmlbif", "<FOR>a</FOR>", "<FOR>z</FOR>", "variable 'z' is not declared"),
        (".xmlbif", "<FOR>a</FOR>", "<FOR>c</FOR>", "the variable 'c' stands twice"),
        (".xmlbif", 'TYPE="nature"', 'TYPE="decision"', "found 'decision' of 'a'"),
        (".xmlbif", "0.25 0.75", "0.25", "'a': expected 2 probabilities, .* found 1"),
        (".xmlbif", "0.25 0.75", "0.25 x", "'a': expected probabilities .*could not convert"),
        (".xmlbif", "0.25 0.75", "0.25 0.65", "'a': expected probabilities >= 0 that sum to one"),
        (".xmlbif", "<GIVEN>c</GIVEN>", "<GIVEN>d</GIVEN>", "variable 'd' is not declared"),
        (".xmlbif", "position = (1, 2)", "exactlearn_states = x", "expected 2 different names"),
        (".xmlbif", "position = (1, 2)", "exactlearn_name = %ff", "expected 1 different names"),
        (".net", "discrete node", "continuous node", "line 4, .* found 'continuous'; only"),
        (".net", "= (0.25 0.75);", "= ;", "line 8, .*expected a value, found ';'"),
        (".net", "(0.25 0.75);", "(0.25 0.75)", "expected"),
        (".net", "data = (0.25 0.75);", "", "'a': expected 2 probabilities, .* found 0"),
        (".net", "potential (a)", "potential (z)", "variable 'z' is not declared"),
    ],
)  # fmt: skip
def test_errors_name_the_file_and_what_is_wrong(suffix, old, new, message, tmp_path):
    assert old in BY_HAND[suffix]
    (tmp_path / f"n{suffix}").write_text(BY_HAND[suffix].replace(old, new, 1))
    with pytest.raises(FormatError, match=rf"n\{suffix}.*{message}"):
        read_network(tmp_path / f"n{suffix}")


def test_xml_is_read_in_its_encoding(tmp_path):
    text = BY_HAND[".xmlbif"].replace('"1.0"?', '"1.0" encoding="ISO-8859-1"?')
    text = text.replace("<OUTCOME>n<", "<OUTCOME>é<")
    (tmp_path / "n.xmlbif").write_bytes(text.encode("latin-1"))
    assert read_network(tmp_path / "n.xmlbif").states[0] == ("é", "y")
    (tmp_path / "n.xmlbif").write_text(text.replace("ISO-8859-1", "klingon"))
    with pytest.raises(FormatError, match=r"n\.xmlbif: expected XML"):
        read_network(tmp_path / "n.xmlbif")


def test_rounded_rows_are_rescaled_and_wrong_ones_refused(tmp_path):
    text = BY_HAND[".net"].replace("0.5 2.5e-1 0.25", "0.333 0.333 0.333")
    (tmp_path / "n.net").write_text(text)
    assert read_network(tmp_path / "n.net").tables[2].tolist() == [1 / 3] * 3


# Files that pgmpy and pyAgrum read, and files they write.


def assert_equal(
    first: BayesianNetwork, second: BayesianNetwork, tolerance: float
) -> None:
    assert abs(joint(first) - joint(second)).max() <= tolerance


@given(named_networks(), st.sampled_from(sorted(PGMPY)))
@settings(max_examples=25)
def test_pgmpy_reads_what_we_write(pgmpy, network, suffix):
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"n{suffix}"
        write_model(network, path)
        reader = getattr(pgmpy.readwrite, f"{PGMPY[suffix]}Reader")(str(path))
        variables = getattr(reader, "variable_names", None) or reader.variables
        peer = from_pgmpy(reader.get_model())
    words = dict(enumerate(variables))
    assert peer.n_variables == network.n_variables
    for v, table in enumerate(network.tables):
        k = peer.index(words[v])
        assert [peer.names[p] for p in peer.parents[k]] == [
            words[p] for p in network.parents[v]
        ]
        assert peer.tables[k].tobytes() == table.tobytes()


@given(named_networks(), st.sampled_from(sorted(PYAGRUM)))
@settings(max_examples=60)
def test_pyagrum_reads_what_we_write(pyagrum, network, suffix):
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"n{suffix}"
        write_model(network, path)
        peer = from_pyagrum(pyagrum.loadBN(str(path)))
    if suffix == ".bif":
        assert peer.names == tuple(WORDS.of_variables(network.names))
        assert peer.states == tuple(
            tuple(WORDS.of_states(own)) for own in network.states
        )
    # Its variables and states stand in our order.
    found = replace(peer, names=network.names, states=network.states)
    assert [sorted(p) for p in found.parents] == [sorted(p) for p in network.parents]
    # Some of its readers keep numbers in single precision.
    assert_equal(found, network, 1e-6)


PEERS = Path(__file__).parent / "peers"
"""One network, ``network.bif``, as pyAgrum 3.3.1 and pgmpy 1.1.2 write it."""


@pytest.mark.parametrize("file", sorted(p.name for p in PEERS.glob("p*")))
def test_kept_files_of_other_programs_are_read(file):
    network, found = read_network(PEERS / "network.bif"), read_network(PEERS / file)
    assert set(found.names) == set(network.names)
    assert_equal(found.reordered(network), network, 1e-5)


@pytest.mark.parametrize("suffix", sorted(PYAGRUM))
@pytest.mark.parametrize("seed", range(4))
def test_files_of_pyagrum_are_read(pyagrum, suffix, seed, tmp_path):
    network = random_network(np.random.default_rng(seed), 6)
    path = tmp_path / f"n{suffix}"
    pyagrum.saveBN(to_pyagrum(network), str(path))
    found = read_network(path)
    assert set(found.names) == set(network.names)
    # Three of its writers round to six digits.
    assert_equal(found.reordered(network), network, 1e-5)


@pytest.mark.parametrize("suffix", sorted(PGMPY))
@pytest.mark.parametrize("seed", range(4))
def test_files_of_pgmpy_are_read(pgmpy, suffix, seed, tmp_path):
    network = random_network(np.random.default_rng(seed), 6)
    path = tmp_path / f"n{suffix}"
    getattr(pgmpy.readwrite, f"{PGMPY[suffix]}Writer")(to_pgmpy(network)).write(
        str(path)
    )
    # Its NET writer rounds to eight digits.
    assert_equal(read_network(path).reordered(network), network, 1e-7)
