"""Public functions take a table as a Dataset, a frame or an array; variables by name or index."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest

import exactlearn as el
from docs.public_names import public_names
from exactlearn.solvers.constraints import Independence, RequiredAncestor, Tiers
from exactlearn.structure.learned_counts import LearnedCounts

NAMES = ("X0", "X1", "X2")


def rows(missing):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (60, 3))
    codes[:, 1] = np.where(rng.random(60) < 0.9, codes[:, 0], codes[:, 1])
    codes[:, 2] = np.where(rng.random(60) < 0.8, codes[:, 1], codes[:, 2])
    if missing:
        codes[[3, 8], [1, 2]] = -1
    return codes


ARRAYS = {missing: rows(missing) for missing in (False, True)}
DATASETS = {
    missing: el.Dataset(array, NAMES, (("0", "1"),) * 3)
    for missing, array in ARRAYS.items()
}
FRAMES = {
    missing: pd.DataFrame(array, columns=list(NAMES)).replace(-1, None)
    for missing, array in ARRAYS.items()
}
FORMS = {"dataset": DATASETS, "frame": FRAMES, "array": ARRAYS}
WHOLE, HOLED = DATASETS[False], DATASETS[True]
NETWORK = el.fit_complete(WHOLE, [(), (0,), (1,)])
GRAPH = el.compile_network(NETWORK, steps=0)
BAYES = el.learn_naive_bayes(WHOLE, components=2).model
FEW = {"max_parents": 1}
BEST = el.augment(HOLED, "bdeu", forbidden=[(0, 1)], **FEW)


def rng():
    return np.random.default_rng(2)


def told(found):
    """Return what a result is, without its seconds and the index of a frame."""
    if isinstance(found, el.Problem):
        return [list(found.candidates(v)) for v in range(found.n_variables)]
    if isinstance(found, LearnedCounts):
        return told(found.network)
    if isinstance(found, el.Imputer):
        return told(found.network)
    if isinstance(found, tuple) and not hasattr(found, "_fields"):
        return [told(part) for part in found]
    skipped = {"seconds", "trace", "nodes", "starts", "names", "row_index"}
    fields = getattr(found, "__dict__", None) or getattr(found, "_asdict", dict)()
    if not fields or isinstance(found, el.Dataset | el.BayesianNetwork):
        return repr(found), [repr(part) for part in getattr(found, "tables", ())]
    return {key: repr(value) for key, value in fields.items() if key not in skipped}


TABLES = {
    "augment": lambda t: el.augment(t(True), "bdeu", **FEW),
    "best_solutions": lambda t: el.best_solutions(t(True), "bdeu", 2, **FEW),
    "bootstrap": lambda t: el.bootstrap(t(False), 2).strengths,
    "candidate_parent_sets": lambda t: el.candidate_parent_sets(t(False), "bic"),
    "choose_ess": lambda t: el.choose_ess(t(True)),
    "choose_smoothing": lambda t: el.choose_smoothing(t(False), NETWORK.parents),
    "classify": lambda t: el.classify(NETWORK, t(False), "X2"),
    "cross_validate": lambda t: (
        el.cross_validate(t(False), ["chow-liu"], 2)
        .to_frame()["log_likelihood"]
        .tolist()
    ),
    "equivalence_search": lambda t: el.equivalence_search(t(False), "bic"),
    "fit_by_missingness_graph": lambda t: (
        el.fit_by_missingness_graph(t(True), NETWORK.parents, "X1 <- X0; X2 <-").model
    ),
    "fit_complete": lambda t: el.fit_complete(t(False), NETWORK.parents),
    "fit_deletion": lambda t: el.fit_deletion(t(True), NETWORK.parents).model,
    "fit_em": lambda t: el.fit_em(t(True), NETWORK.parents).model,
    "fit_naive_bayes": lambda t: el.fit_naive_bayes(BAYES, t(True), iterations=2).model,
    "gadget_problem": lambda t: el.augmentation.gadget_problem(t(True), "bdeu", **FEW),
    "hide": lambda t: el.hide(t(False), "mcar:0.1", rng()),
    "impute": lambda t: el.impute(t(True), "mode"),
    "learn": lambda t: el.learn(t(True), ess=1).network,
    "posterior": lambda t: el.posterior(t(False)).arcs,
    "learn_naive_bayes": lambda t: el.learn_naive_bayes(t(False), components=2).model,
    "learn_on_forest": lambda t: el.learn_on_forest(t(False), [-1, 0, 1]).graph,
    "learn_direct": lambda t: el.learn_direct(t(False), smoothing=1.0).models[0].graph,
    "learn_pdg": lambda t: el.learn_pdg(t(False)).graph,
    "learned_counts": lambda t: el.learned_counts(t(True)),
    "most_probable_completion": lambda t: el.most_probable_completion(NETWORK, t(True)),
    "mutual_information": lambda t: el.queries.mutual_information(t(True)).to_numpy(),
    "query_rows": lambda t: el.query_rows(NETWORK, t(True), "X2"),
    "refine": lambda t: el.refine(GRAPH, t(True), iterations=2).model,
    "score_family": lambda t: el.score_family(t(False), 1, [0], "bdeu"),
    "simulate_missingness": lambda t: el.simulate_missingness(
        t(False), "mcar:0.1", rng()
    ),
    "sl_curves": lambda t: el.sl_curves(
        t(False), t(False), languages=["bn"], size_weights=[0.9]
    ).test.tolist(),
    "smallest_as_likely": lambda t: el.smallest_as_likely(NETWORK, t(False), -1e9),
    "sparse_candidates": lambda t: el.sparse_candidates(t(False), "bic"),
    "structural_em": lambda t: el.structural_em(t(True), "bdeu").network,
    "structural_em_graph": lambda t: (
        el.structural_em_graph(t(True), iterations=1).graph
    ),
}

VARIABLES = {
    "augment": lambda v: el.augment(HOLED, "bdeu", required=[(v(2), v(0))], **FEW),
    "best_solutions": lambda v: el.best_solutions(
        HOLED, "bdeu", 2, forbidden=[(v(0), v(1))], **FEW
    ),
    "candidate_parent_sets": lambda v: el.candidate_parent_sets(
        WHOLE, "bic", required=[(v(2), v(0))]
    ),
    "choose_smoothing": lambda v: el.choose_smoothing(WHOLE, [(), (v(0),), [v(1)]]),
    "classify": lambda v: el.classify(NETWORK, WHOLE, v(2)),
    "compare_structures": lambda v: el.graphs.compare_structures(
        NETWORK, NETWORK.parents
    ),
    "covered_edges": lambda v: el.graphs.covered_edges(NETWORK),
    "cpdag": lambda v: el.graphs.cpdag(NETWORK),
    "d_separated": lambda v: el.graphs.d_separated(NETWORK, [v(0)], [v(1)]),
    "entropy": lambda v: el.queries.entropy(NETWORK, {v(0): "1"}, [v(2)]),
    "fit_by_missingness_graph": lambda v: (
        el.fit_by_missingness_graph(HOLED, [(), (v(0),), ()], "X1 <- X0; X2 <-").model
    ),
    "fit_complete": lambda v: el.fit_complete(WHOLE, {v(1): [v(0)], v(2): [v(1)]}),
    "fit_deletion": lambda v: el.fit_deletion(HOLED, [(), (v(0),), ()]).model,
    "fit_em": lambda v: el.fit_em(HOLED, [(), (v(0),), (v(0), v(1))]).model,
    "gadget_problem": lambda v: el.augmentation.gadget_problem(
        HOLED, "bdeu", forbidden=[(v(0), v(1))], **FEW
    ),
    "inclusion_boundary": lambda v: list(el.graphs.inclusion_boundary(NETWORK)),
    "independences": lambda v: el.independences(GRAPH, None, [v(2)]),
    "joint_posterior": lambda v: el.queries.joint_posterior(
        NETWORK, None, [v(2), v(0)]
    ),
    "learn": lambda v: (
        el.learn(
            WHOLE,
            required=[(v(2), v(1))],
            constraints=[Tiers([[v(2), v(1)], [v(0)]]), RequiredAncestor(v(2), v(0))],
        ).network
    ),
    "posterior": lambda v: (
        el.posterior(WHOLE, required=[(v(2), v(1))], tiers=[[v(2), v(1)], [v(0)]]).arcs
    ),
    "learned_counts": lambda v: el.learned_counts(HOLED, required=[(v(2), v(0))]),
    "markov_blanket": lambda v: el.graphs.markov_blanket(NETWORK, v(2)),
    "unmerged_graph": lambda v: el.unmerged_graph(NETWORK, root=v(0)),
    "most_probable_explanations": lambda v: el.most_probable_explanations(
        NETWORK, {v(0): "1"}
    ),
    "most_probable_states": lambda v: el.queries.most_probable_states(
        NETWORK, None, [v(2)]
    ),
    "pattern": lambda v: el.graphs.pattern(NETWORK),
    "query": lambda v: el.query(NETWORK, {v(0): "1"}, [v(2)]),
    "query_rows": lambda v: el.query_rows(NETWORK, WHOLE, [v(2)]),
    "recoverability": lambda v: el.recoverability(
        [(), (v(0),), ()], NAMES, "X1 <- X0; X2 <-"
    ),
    "score_family": lambda v: el.score_family(WHOLE, v(1), [v(0)], "bdeu"),
    "sparse_candidates": lambda v: el.sparse_candidates(
        WHOLE, "bic", required=[(v(2), v(0))]
    ),
    "structural_em": lambda v: (
        el.structural_em(HOLED, "bdeu", required=[(v(2), v(0))]).network
    ),
    "structural_hamming_distance": lambda v: el.graphs.structural_hamming_distance(
        NETWORK, NETWORK
    ),
}

TABLE_PARAMETERS = {"dataset", "data", "table", "train"}
VARIABLE_PARAMETERS = {
    *(
        "parents",
        "required",
        "forbidden",
        "variables",
        "targets",
        "first",
        "child",
        "variable",
    ),
    *("target", "learnt", "root", "evidence"),
}
FUNCTIONS = {
    name.rpartition(".")[2]: set(inspect.signature(own).parameters)
    for name, own in public_names().items()
    if inspect.isfunction(own)
}
FILES = {name for name in FUNCTIONS if name.startswith(("read_", "write_"))}


def test_every_public_function_is_tried():
    wanted = {name for name, own in FUNCTIONS.items() if own & TABLE_PARAMETERS} - FILES
    assert wanted - {*TABLES} == set()
    wanted = {
        name for name, own in FUNCTIONS.items() if own & VARIABLE_PARAMETERS
    } - FILES
    assert wanted - {*VARIABLES} == set()


@pytest.mark.parametrize("name", sorted(TABLES))
def test_a_frame_and_an_array_are_taken_for_a_dataset(name):
    expected, *others = (
        told(TABLES[name](lambda missing, own=own: own[missing]))
        for own in FORMS.values()
    )
    for found in others:
        assert found == expected


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_names_and_indices_name_the_same_variables(name):
    by_index, by_name = (
        told(VARIABLES[name](of)) for of in (lambda v: v, lambda v: NAMES[v])
    )
    assert by_name == by_index


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_an_unknown_name_is_refused_with_those_near(name):
    if "v(" not in inspect.getsource(VARIABLES[name]).partition("lambda v:")[2]:
        pytest.skip("it takes no variable by itself")
    with pytest.raises(el.ExactlearnError, match="X"):
        VARIABLES[name](lambda v: f"X{v}X")


def test_graphs_are_those_of_whatever_has_parents():
    found = el.learn(WHOLE)
    graph = el.NamedGraph.of(NAMES[::-1], [(), (0,), (1,)])  # X2 -> X1 -> X0
    turned = [(1,), (2,), ()]
    for given in (graph, {"X0": "X1", "X1": "X2"}, turned):
        assert el.fit_complete(WHOLE, given).parents == tuple(map(tuple, turned))
    assert el.graphs.compare_structures(NETWORK, graph).shd == 2
    assert el.graphs.compare_structures(NETWORK, graph).cpdag_shd == 0
    assert (
        el.graphs.cpdag(found).graph
        == el.graphs.cpdag(found.parents)
        == el.graphs.cpdag(found.network).graph
    )
    with pytest.raises(
        el.ExactlearnError, match="expected the same variables; only one has"
    ):
        el.fit_complete(WHOLE, el.NamedGraph.of((*NAMES[:2], "other"), [(), (), ()]))
    with pytest.raises(el.ExactlearnError, match="by index"):
        el.graphs.cpdag([(), ("X0",)])


def named(graph):
    """Return a graph by index, or the parents of each variable, as arcs and edges by name."""
    if isinstance(graph, el.NamedGraph):
        return {*graph.arcs}, {*graph.edges}
    if not isinstance(graph, el.graphs.PartiallyDirectedGraph):
        graph = el.graphs.PartiallyDirectedGraph.of(graph)
    kinds = (graph.directed, graph.undirected)
    return tuple({(NAMES[a], NAMES[b]) for a, b in links} for links in kinds)


NAMES_OUT = {
    "completed_pattern": lambda graph: named(
        el.graphs.completed_pattern(el.graphs.pattern(graph))
    ),
    "consistent_extension": lambda graph: named(
        el.graphs.consistent_extension(el.graphs.cpdag(graph))
    ),
    "covered_edges": lambda graph: {*el.graphs.covered_edges(graph)},
    "cpdag": lambda graph: named(el.graphs.cpdag(graph)),
    "d_separated": lambda graph: {*el.graphs.d_separated(graph, [0], [1])},
    "inclusion_boundary": lambda graph: [
        *map(named, el.graphs.inclusion_boundary(graph))
    ],
    "markov_blanket": lambda graph: {*el.graphs.markov_blanket(graph, 1)},
    "pattern": lambda graph: named(el.graphs.pattern(graph)),
}


def in_names(found):
    """Return indices by name, in sets and pairs."""
    if isinstance(found, int):
        return NAMES[found]
    return found if isinstance(found, str | list) else type(found)(map(in_names, found))


@pytest.mark.parametrize("name", NAMES_OUT)
def test_names_in_names_out_and_indices_in_indices_out(name):
    by_index = NAMES_OUT[name](NETWORK.parents)
    assert by_index not in (set(), [], (set(), set()))
    for graph in (NETWORK, el.learn(WHOLE, required=NETWORK.arcs), NETWORK.structure):
        assert NAMES_OUT[name](graph) == in_names(by_index)


def test_results_name_their_arcs():
    score, wanted = el.BDeu(), (("X2", "X0"),)
    problem = el.candidate_parent_sets(WHOLE, score, required=wanted)
    assert wanted[0] in el.solve(problem).arcs
    assert wanted[0] in el.augment(HOLED, score, required=wanted, **FEW).arcs
    assert wanted[0] in el.structural_em(HOLED, score, required=wanted).arcs
    assert wanted[0] in el.learn(WHOLE, required=wanted).network.arcs
    searched = el.equivalence_search(WHOLE, score)
    assert set(searched.arcs) == {
        (NAMES[p], NAMES[c]) for c, own in enumerate(searched.parents) for p in own
    }


def test_problems_and_constraints_are_told_by_name():
    tables = [{(): -3.0, ("X1",): -1.0, (2,): -2.0}, {(): -2.0}, {(): -2.0, "X0": -1.0}]
    apart = Independence(frozenset({"X1"}), frozenset({"X2"}), frozenset({"X0"}))
    problem = el.Problem.from_candidates(
        NAMES, tables, forbidden=[("X2", "X0")], constraints=[apart]
    )
    assert el.solve(problem).arcs == (("X1", "X0"), ("X0", "X2"))


LABELS = ("2", "0", "1")
IN_ORDER = {
    *(
        "cell_losses",
        "choose_smoothing",
        "fit_by_missingness_graph",
        "fit_deletion",
        "fit_em",
    ),
    *("fit_with_indicators", "recoverability"),
}
"""These are given families in the order of the variables, where an integer is an index."""


@pytest.fixture
def labelled(monkeypatch):
    """Tables and models of this module have variables that are named by numbers, out of order."""
    tables = {
        missing: el.Dataset(own.codes, LABELS, own.states)
        for missing, own in DATASETS.items()
    }
    network = el.fit_complete(tables[False], NETWORK.parents)
    monkeypatch.setitem(globals(), "DATASETS", tables)
    monkeypatch.setitem(globals(), "WHOLE", tables[False])
    monkeypatch.setitem(globals(), "HOLED", tables[True])
    monkeypatch.setitem(globals(), "NETWORK", network)
    monkeypatch.setitem(globals(), "GRAPH", el.compile_network(network, steps=0))
    monkeypatch.setitem(
        globals(), "BAYES", el.learn_naive_bayes(network.sample(60, rng())).model
    )


def relabelled(found):
    text = str(found)
    for name, label in zip(NAMES, LABELS, strict=True):
        text = text.replace(name, label)
    return rounded(text)


def rounded(found):
    return re.sub(r"\d+\.\d{9,}", lambda number: f"{float(number[0]):.9f}", str(found))


@pytest.mark.parametrize("name", sorted({*VARIABLES} - IN_ORDER))
def test_an_integer_is_a_label_where_labels_are_integers(name, request):
    by_name = relabelled(told(VARIABLES[name](lambda v: NAMES[v])))
    request.getfixturevalue("labelled")
    assert rounded(told(VARIABLES[name](lambda v: LABELS[v]))) == by_name
    assert rounded(told(VARIABLES[name](lambda v: int(LABELS[v])))) == by_name


def within(arcs):
    """Return options of searches by every constraint, of which no arc may leave the order."""
    return {"required": arcs[:1], "forbidden": arcs[1:]}


SEARCHES = {
    "augment": lambda t, arcs: (
        el.augment(t, "bdeu", method="t-local", **within(arcs), **FEW).arcs
    ),
    "gadget": lambda t, arcs: (
        el.augment(t, "bdeu", method="gadget", **within(arcs), **FEW).arcs
    ),
    "bootstrap": lambda t, arcs: (
        el.bootstrap(t, 3, ess=1, **within(arcs)).averaged(0).arcs
    ),
    "imputer": lambda t, arcs: (
        el.Imputer("mpe", el.Learning(starts=1, **within(arcs))).fit(t).network.arcs
    ),
    "learn": lambda t, arcs: el.learn(t, ess=1, **within(arcs)).arcs,
    "learn augmented": lambda t, arcs: (
        el.learn(t, missing="augment", **within(arcs)).arcs
    ),
    "learn by deletion": lambda t, arcs: (
        el.learn(t, missing="f-mcar", ess=1, **within(arcs)).arcs
    ),
    "learn with tiers": lambda t, arcs: (
        el.learn(t, ess=1, tiers=[[arcs[0][0]], arcs[1]], **within(arcs)).arcs
    ),
    "stopped": lambda t, arcs: (
        el.solve(
            el.candidate_parent_sets(
                t.complete([0, 0]), "bic", required=arcs[:1], time_limit=0, **FEW
            )
        ).arcs
    ),
    "sparse": lambda t, arcs: (
        el.solve(el.sparse_candidates(t.complete([0, 0]), "bic", **within(arcs))).arcs
    ),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_keep_constraints_where_labels_are_integers(name, labelled):
    arcs = [(2, 1), (0, 1), (1, 0)]  # of the frame's labels
    found = SEARCHES[name](HOLED, arcs)
    assert ("2", "1") in found
    assert not {("0", "1"), ("1", "0")} & {*found}
    assert found == SEARCHES[name](HOLED, [(str(a), str(b)) for a, b in arcs])


def test_an_integer_names_a_column_of_a_frame_or_a_file(tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 2, (40, 3)), columns=[3, 2, 0])
    frame[3] = rng.random(40)
    options = {
        "drop": [2],
        "discretise": {3: "width:2"},
        "states": {0: ["0", "1", "2"]},
    }
    expected = el.Dataset.from_frame(
        frame.rename(columns=str),
        drop="2",
        discretise={"3": "width:2"},
        states={"0": ["0", "1", "2"]},
    )
    assert el.Dataset.from_frame(frame, **options) == expected
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert el.read_dataset(tmp_path / "t.csv", **options) == expected
    del options["states"]
    assert el.learn(frame, ess=1, **options).names == ("3", "0")
    with pytest.raises(
        el.ExactlearnError, match="no variable 1; where variables are named by"
    ):
        el.learn(frame, drop=[1])
    array = frame.to_numpy()[:, 1:]
    assert el.Dataset.from_frame(array, drop=[0]).names == ("X1",)
    named = el.Dataset.from_frame(array, names=["a", "b"], states={1: ["0", "1", "2"]})
    assert named.cardinalities[1] == 3
    (tmp_path / "u.csv").write_text("b,a\n0,1\n1,0\n")
    assert el.read_dataset(tmp_path / "u.csv", drop=0).names == ("a",)


def test_models_of_integer_labels_take_rows_of_the_frame():
    pytest.importorskip("sklearn")
    from exactlearn.sklearn import BayesianNetworkClassifier, ExactImputer

    frame = pd.DataFrame(ARRAYS[False], columns=[3, 2, 0])
    found = el.learn(frame, ess=1)
    row = frame.iloc[0].drop(3)
    assert el.query(found, row, 3) == el.query(found, {"2": row[2], "0": row[0]}, "3")
    strengths = el.bootstrap(frame, 2, ess=1)
    assert strengths.strength(3, 0) == strengths.strength("3", "0")
    assert ExactImputer(mode="mode").fit(frame).network_.names == ("3", "2", "0")
    classifier = BayesianNetworkClassifier(structure="augmented", max_parents=1)
    classifier.fit(frame, ARRAYS[True][:, 2])
    assert {("class", "3"), ("class", "2"), ("class", "0")} <= {
        *classifier.network_.arcs
    }
