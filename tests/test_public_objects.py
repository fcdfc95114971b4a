"""What objects of the public classes say of themselves, and when they are equal."""

import inspect
import pickle
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

import exactlearn as el
from docs.public_names import public_names
from exactlearn._runtime.display import ByValue
from tests.public_objects import public_objects

WITHOUT_OBJECTS = {
    "ColumnWarning",
    "ExactlearnError",
    "Score",
    "StateWarning",
    "TimeLimitWarning",
}
"""Public classes of which there are only objects of subclasses."""


@pytest.fixture(scope="module")
def objects():
    return public_objects()


def test_there_is_an_object_of_every_public_class(objects):
    classes = {one.__name__ for one in public_names().values() if inspect.isclass(one)}
    assert classes - WITHOUT_OBJECTS - objects.keys() == set()


def test_every_repr_is_one_short_line_without_arrays(objects):
    for name, each in objects.items():
        text = repr(each)
        assert text.startswith(f"{name}("), text
        assert len(text) <= 240, text
        assert "\n" not in text, text
        assert "array(" not in text, text


def by_value(objects):
    return [each for each in objects.values() if isinstance(each, ByValue)]


def changed(value):
    """Return something else of the same kind."""
    if isinstance(value, np.ndarray):
        return value + 1 if value.size else np.zeros(1)
    return (*value, None) if isinstance(value, tuple) else object()


def test_objects_are_equal_by_value_and_differ_in_any_field(objects):
    for each in by_value(objects):
        again = pickle.loads(pickle.dumps(each))
        assert again is not each
        assert again == each, each
        for field in fields(each):
            other = pickle.loads(pickle.dumps(each))
            object.__setattr__(other, field.name, changed(getattr(each, field.name)))
            assert (other != each) == field.compare, (each, field.name)
        assert each != "something else"


def test_public_objects_can_be_compared(objects):
    for each in objects.values():
        assert each == each
        assert (each == "something else") is False


def test_equal_networks_have_equal_hashes_and_others_have_none(objects):
    network = objects["BayesianNetwork"]
    assert hash(network) == hash(el.read_network("asia"))
    assert len({network, el.read_network("asia"), el.read_network("cancer")}) == 2
    for each in by_value(objects):
        if each is not network:
            with pytest.raises(TypeError, match="unhashable"):
                hash(each)


def test_the_order_of_variables_and_states_matters():
    network = el.read_network("asia")
    names = network.names[::-1]
    turned = network.reordered(replace_names(network, names))
    assert turned != network
    assert turned.reordered(network) == network


def replace_names(network, names):
    """Return a network without arcs over the same variables in another order."""
    states = tuple(network.states[network.index(name)] for name in names)
    tables = tuple(np.full(len(own), 1 / len(own)) for own in states)
    return el.BayesianNetwork(names, states, ((),) * len(names), tables)


def test_equal_missingness_graphs_may_omit_indicators():
    told = el.MissingnessGraph({"a": ["x"], "b": []}, {"a": (), "b": ["a"]})
    assert told == el.MissingnessGraph.parse("a <- x; b <- missing(a)")
    assert told != el.MissingnessGraph.parse("a <- x; b <-")


def test_nan_equals_nan_and_types_of_integers_do_not_matter(objects):
    table = objects["TableAnswer"]
    rows = np.where(
        np.arange(len(table.posteriors[0]))[:, None] == 0, np.nan, table.posteriors[0]
    )
    assert replace(table, posteriors=(rows,)) == replace(
        table, posteriors=(rows.copy(),)
    )
    augmentation = objects["Augmentation"]
    assert (
        replace(augmentation, values=augmentation.values.astype(np.int8))
        == augmentation
    )


def test_a_table_goes_to_pandas_and_back(objects):
    table = objects["Dataset"]
    frame = table.to_frame()
    assert el.Dataset.from_frame(frame) == table
    assert int(frame.isna().sum().sum()) == len(table.missing_cells)
    assert [*frame["lung"].cat.categories] == [*table.states[table.names.index("lung")]]


def test_bins_go_to_pandas_as_ordered_labels():
    table = el.Dataset.from_frame(
        pd.DataFrame({"x": [0.5, 1.5, 2.5, None], "y": list("aabb")}),
        discretise={"x": "width:2"},
    )
    column = table.to_frame()["x"]
    assert column.cat.ordered
    assert column.tolist()[:3] == ["<=1.5", "<=1.5", ">1.5"]
    assert column.isna().tolist() == [False, False, False, True]


def test_completions_go_to_pandas(objects):
    table = el.read_dataset("asia-mnar")
    for found in (objects["StructuralEM"], objects["Imputed"]):
        frame, filled = found.to_frame(table), table.complete(found.values)
        values = filled.to_frame()
        assert len(frame) == len(table.missing_cells)
        for cell in frame.itertuples():
            assert values[cell.variable][cell.row] == cell.value
    assert set(objects["Imputed"].to_frame(table)["probability"]) == {0.5}
    assert len(replace(objects["Imputed"], values=None).to_frame(table)) == 0
    small = el.read_dataset("cancer-mcar").part(slice(12))
    frame = objects["Augmentation"].to_frame(small)
    assert frame[["row", "variable"]].values.tolist() == [
        [row, small.names[v]] for row, v in small.missing_cells.tolist()
    ]
    with pytest.raises(el.ExactlearnError, match="values for"):
        small.completion_frame([0])


def test_posteriors_go_to_pandas(objects):
    frame = objects["Answer"].to_frame()
    assert [*frame] == ["variable", "state", "probability"]
    assert frame.groupby("variable")["probability"].sum().tolist() == pytest.approx(
        [1.0] * 7
    )
    rows = objects["TableAnswer"].to_frame()
    assert rows["lung"].sum(axis=1).tolist() == pytest.approx([1.0] * len(rows))
    known = objects["Classification"]
    predicted = known.to_frame()["predicted"]
    assert predicted.tolist() == [known.states[k] for k in known.predicted]


@pytest.mark.parametrize("name", ["asia", "cancer", "earthquake", "survey", "lucas"])
def test_tables_and_arcs_of_a_network_go_to_pandas_and_networkx(name):
    network = el.read_network(name)
    arcs = {*network.arcs}
    assert {*network.to_frame().itertuples(index=False, name=None)} == arcs
    graph = network.to_networkx()
    assert [*graph] == [*network.names]
    assert {*graph.edges} == arcs
    assert all(
        graph.nodes[v]["states"] == [*s]
        for v, s in zip(graph, network.states, strict=True)
    )
    for v, family in enumerate(network.parents):
        table = network.table(network.names[v])
        assert [*table.columns] == [*network.states[v]]
        assert table.shape[0] == network.tables[v].size // network.tables[v].shape[-1]
        for codes, p in np.ndenumerate(network.tables[v]):
            given = tuple(
                network.states[u][k] for u, k in zip(family, codes, strict=False)
            )
            row = table.loc[given if len(given) > 1 else given[0] if given else ""]
            assert row[network.states[v][codes[-1]]] == p
    with pytest.raises(el.ExactlearnError, match="no variable 'nobody'"):
        network.table("nobody")


STRUCTURED = (
    "Augmentation",
    "EquivalenceSearch",
    "LearnedNetwork",
    "Result",
    "StructuralEM",
)


@pytest.mark.parametrize("name", ["BayesianNetwork", *STRUCTURED])
def test_whatever_has_a_network_has_its_arcs_and_graph_by_name(objects, name):
    found = objects[name]
    arcs = [
        (found.names[p], found.names[v])
        for v, own in enumerate(found.parents)
        for p in own
    ]
    assert sorted(found.arcs) == sorted(found.structure.arcs) == sorted(arcs)
    graph = found.to_networkx()
    assert ([*graph], {*graph.edges}) == ([*found.names], {*arcs})
    if name == "Result":
        nothing = replace(found, parents=None)
        assert nothing.arcs == ()
        with pytest.raises(el.ExactlearnError, match="no network was found"):
            nothing.to_networkx()


def test_an_edge_of_a_class_is_two_arcs_in_networkx():
    named = el.NamedGraph.linked(
        "abcd", [("a", "c"), ("b", "c")], [("a", "d")], "pattern"
    )
    assert {*named.to_networkx().edges} == {
        ("a", "c"),
        ("b", "c"),
        ("a", "d"),
        ("d", "a"),
    }
    assert named.to_frame().values.tolist() == [
        ["a", "c", True],
        ["b", "c", True],
        ["a", "d", False],
    ]
    assert [
        *el.graphs.PartiallyDirectedGraph(3, frozenset(), frozenset()).to_networkx()
    ] == [
        0,
        1,
        2,
    ]


def test_a_file_of_ones_own_comes_before_the_bundled_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asia").write_text("a,b\n0,1\n1,0\n")
    assert el.read_dataset("asia").names == ("a", "b")
    assert el.read_dataset("asia-mnar.csv") == el.read_dataset("asia-mnar")
    with pytest.raises(el.ExactlearnError, match="asia-mna"):
        el.read_dataset("asia-mna")
    with pytest.raises(el.ExactlearnError, match="folder"):
        el.read_network("folder/asia.bif")
