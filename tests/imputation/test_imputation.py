"""Imputers against enumeration of the joint, against each other, and on awkward tables."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from exactlearn.augmentation import augment
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import Dataset
from exactlearn.data.indicators import cell_probabilities, one_hot
from exactlearn.data.missingness import hide
from exactlearn.errors import ArgumentError, DataError, MissingExtraError, OptionError
from exactlearn.formats.models import read_network
from exactlearn.formats.table import read_dataset
from exactlearn.imputation import MODES, Imputed, Imputer, Learning, learning
from exactlearn.imputation import methods as imputing
from exactlearn.imputation.learning import (
    averaged_posterior,
    bootstrap_networks,
    independent,
    learned,
    likeliest,
)
from exactlearn.imputation.methods import AVERAGING, METHODS, Method
from exactlearn.scoring.scores import BDeu
from exactlearn.structure.structural_em import structural_em
from tests.command_line import fails, run, run_json
from tests.interrupts import press_ctrl_c
from tests.network_oracle import joint, random_network
from tests.strategies import datasets, incomplete_datasets

IMPUTERS = [name for name, method in METHODS.items() if method.needs_scikit_learn]

ONE = Dataset(np.array([[0]]), ("a",), (("x",),))

QUICK = Learning(
    learner="t-local", score=BDeu(), starts=1, max_parents=1, networks=3, smoothing=1.0
)


def quick(mode: str) -> Learning:
    """Return how a mode learns quickly; modes that average have no learner to name."""
    return replace(QUICK, learner=None) if mode in AVERAGING else QUICK


def holed(network: BayesianNetwork, rows: int, share: float, seed: int) -> Dataset:
    """Draw rows of a network and hide cells anywhere, a whole row included."""
    rng = np.random.default_rng(seed)
    full = network.sample(rows, rng)
    codes = np.where(rng.random(full.codes.shape) < share, -1, full.codes)
    codes[0] = -1
    return replace(full, codes=codes)


def completions_of(
    network: BayesianNetwork, row: np.ndarray
) -> dict[tuple[int, ...], float]:
    """Return the posterior of every completion of a row's missing cells, by the full joint."""
    full = joint(network)
    missing = np.flatnonzero(row < 0)
    found = {}
    for states in product(*(range(network.cardinalities[v]) for v in missing)):
        where = row.astype(int)
        where[missing] = states
        found[states] = full[tuple(where)]
    total = sum(found.values())
    return {states: p / total for states, p in found.items()}


class TestByNetwork:
    @pytest.mark.parametrize("seed", range(6))
    def test_posterior_and_mpe_are_those_of_the_joint(self, seed):
        network = random_network(np.random.default_rng(seed), 5)
        table = holed(network, 12, 0.4, seed)
        posterior, mpe = (
            Imputer(m, network=network).transform(table) for m in ("posterior", "mpe")
        )
        shares = Imputer("posterior", network=network).imputed(table).probabilities
        cell = 0
        for row, by_cell, by_row in zip(
            table.codes, posterior.codes, mpe.codes, strict=True
        ):
            known = completions_of(network, row)
            missing = np.flatnonzero(row < 0)
            for k, v in enumerate(missing):
                marginal = np.zeros(network.cardinalities[v])
                for states, p in known.items():
                    marginal[states[k]] += p
                assert marginal[by_cell[v]] == pytest.approx(marginal.max())
                assert shares[cell, : len(marginal)] == pytest.approx(marginal)
                cell += 1
            assert known[tuple(by_row[missing])] == pytest.approx(max(known.values()))

    def test_draws_approach_the_posterior_of_whole_rows(self):
        network = random_network(np.random.default_rng(3), 4)
        row = np.array([-1, -1, 0, -1])
        table = Dataset(row[None, :], network.names, network.states)
        imputer = Imputer("multiple", Learning(seed=1), network, draws=4000)
        drawn = np.concatenate([t.codes for t in imputer.transform_all(table)])[
            :, row < 0
        ]
        for states, p in completions_of(network, row).items():
            share = (drawn == states).all(axis=1).mean()
            assert abs(share - p) < 4 * np.sqrt(p * (1 - p) / 4000) + 1e-9

    def test_the_same_seed_draws_the_same_tables(self):
        network = random_network(np.random.default_rng(5), 5)
        table = holed(network, 40, 0.3, 5)
        one, two, other = (
            [t.codes.tolist() for t in Imputer("multiple", Learning(seed=s), network).transform_all(
                table)] for s in (1, 1, 2)
        )  # fmt: skip
        assert one == two
        assert one != other
        assert len(one) == 5
        assert (
            one[0]
            == Imputer("multiple", Learning(seed=1), network)
            .transform(table)
            .codes.tolist()
        )

    def test_columns_and_states_are_matched_by_name(self):
        network = random_network(np.random.default_rng(7), 4)
        table = holed(network, 20, 0.3, 7)
        usual = Imputer("posterior", network=network).transform(table)
        order = [2, 0, 3, 1]
        turned = Dataset(
            np.where(table.codes < 0, -1, table.cardinalities - 1 - table.codes)[
                :, order
            ],
            tuple(table.names[v] for v in order),
            tuple(table.states[v][::-1] for v in order),
        )
        again = Imputer("posterior", network=network).transform(turned)
        assert again.names == turned.names
        named = [
            [t.states[v][code] for v, code in enumerate(row)]
            for t in (usual, again)
            for row in t.codes
        ]
        usual_rows, again_rows = named[: len(named) // 2], named[len(named) // 2 :]
        assert [[row[v] for v in order] for row in usual_rows] == again_rows

    def test_new_rows_may_get_states_that_they_never_show(self):
        network = BayesianNetwork(("a",), (("x", "y"),), ((),), (np.array([0.1, 0.9]),))
        table = Dataset(np.array([[0], [-1]]), ("a",), (("x",),))
        completed = Imputer("mpe", network=network).transform(table)
        assert completed.states == (("x", "y"),)
        assert completed.codes.tolist() == [[0], [1]]


class TestAveraged:
    def test_it_is_the_mean_of_the_posteriors(self):
        first = random_network(np.random.default_rng(1), 4)
        second = independent(holed(first, 9, 0.2, 1))
        networks = (first, second)
        table = holed(first, 10, 0.4, 2)
        mean = sum(
            Imputer("posterior", network=n).imputed(table).probabilities
            for n in networks
        )
        assert averaged_posterior(networks, table) == pytest.approx(mean / 2)

    def test_networks_come_from_samples_of_the_rows(self):
        table = holed(random_network(np.random.default_rng(6), 5), 40, 0.1, 6)
        networks, status = bootstrap_networks(table, replace(QUICK, networks=6))
        again, _ = bootstrap_networks(table, replace(QUICK, networks=6))
        assert [n.parents for n in networks] == [n.parents for n in again]
        assert len({n.parents for n in networks}) > 1
        assert status == "heuristic"

    def test_weights_stand_for_rows(self):
        table = Dataset(
            np.array([[0], [1], [-1]]), ("a",), (("x", "y"),), np.array([2.0, 1, 1])
        )
        networks, _ = bootstrap_networks(
            table, replace(QUICK, max_parents=0, smoothing=0.0)
        )
        assert networks[0].tables[0] == pytest.approx([2 / 3, 1 / 3], abs=1e-3)

    def test_an_interrupt_keeps_the_networks_that_are_done(self, monkeypatch):
        fits = []

        def fit(*told, **options):
            fits.append(told)
            if len(fits) == 3:
                press_ctrl_c()
            return fit_em(*told, **options)

        monkeypatch.setattr(learning, "fit_em", fit)
        table = Dataset(np.array([[0], [1], [-1]]), ("a",), (("x", "y"),))
        networks, status = bootstrap_networks(table, replace(QUICK, networks=5))
        assert (len(networks), status) == (2, "interrupted")


class TestImputer:
    def test_an_interrupt_before_any_network_is_one(self, monkeypatch):
        none = Imputed(values=None, status="interrupted")
        monkeypatch.setattr(imputing, "learned", lambda *told: none)
        with pytest.raises(KeyboardInterrupt):
            Imputer("posterior", QUICK).fit(
                Dataset(np.array([[0], [-1]]), ("a",), (("x", "y"),))
            )

    @given(datasets())
    @settings(max_examples=25)
    def test_a_complete_table_stays(self, table):
        for mode in ("posterior", "mpe", "multiple", "mode"):
            network = None if mode == "mode" else independent(table)
            imputer = Imputer(mode, network=network).fit(table)
            assert imputer.transform(table) is table

    @pytest.mark.parametrize("mode", MODES)
    def test_every_mode_learns_and_fills(self, mode):
        network = random_network(np.random.default_rng(11), 4)
        table = holed(network, 30, 0.1, 11)
        imputer = Imputer(mode, quick(mode))
        completed = imputer.fit_transform(table)
        assert completed.is_complete
        seen = table.codes >= 0
        assert np.array_equal(completed.codes[seen], table.codes[seen])
        assert np.array_equal(imputer.transform(table).codes, completed.codes)
        found = imputer.imputed(table)
        assert found.probabilities.sum(axis=1) == pytest.approx(1)
        assert found.status in ("heuristic", "t-local")

    def test_augmentation_completes_its_own_table_jointly(self):
        """Other tables get the most probable completion."""
        network = random_network(np.random.default_rng(2), 4)
        table, other = (holed(network, 30, 0.1, s) for s in (2, 3))
        imputer = Imputer("augmentation", QUICK).fit(table)
        found = augment(table, BDeu(), method="t-local", starts=1, max_parents=1)
        assert imputer.imputed(table).score == found.score
        assert np.array_equal(
            imputer.transform(table).codes, found.completed(table).codes
        )
        likeliest_rows = Imputer("mpe", network=imputer.network).transform(other)
        assert np.array_equal(imputer.transform(other).codes, likeliest_rows.codes)

    @given(incomplete_datasets())
    @settings(max_examples=25)
    def test_mode_fills_the_most_frequent_state(self, table):
        completed = Imputer("mode").fit_transform(table)
        for v, r in enumerate(table.cardinalities):
            seen = table.codes[:, v][table.codes[:, v] >= 0]
            counts = np.bincount(seen, minlength=r)
            assert (completed.codes[table.codes[:, v] < 0, v] == counts.argmax()).all()

    def test_weights_count(self):
        table = Dataset(
            np.array([[0], [0], [1], [-1]]),
            ("a",),
            (("x", "y"),),
            np.array([1.0, 1, 3, 1]),
        )
        assert Imputer("mode").fit_transform(table).codes.ravel().tolist() == [
            0,
            0,
            1,
            1,
        ]

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"mode": "posteriour"}, "did you mean 'posterior'"),
            (
                {"mode": "averaged", "network": independent(ONE)},
                "learns from the table",
            ),
            ({"mode": "stacked", "network": independent(ONE)}, "learns from the table"),
            ({"mode": "stacked", "learning": QUICK}, "leave the learner out"),
            (
                {"mode": "multiple", "draws": 0},
                "'draws': expected a whole number from 1, found 0",
            ),
            (
                {"mode": "augmentation", "learning": Learning(learner="structural-em")},
                "'mpe' gives",
            ),
            ({"mode": "mode", "network": independent(ONE)}, "learns"),
        ],
    )
    def test_contradictions_are_refused(self, options, told):
        with pytest.raises(OptionError, match=told):
            Imputer(**options)

    @pytest.mark.parametrize("learner", ["structural-em", "structural-em-hard"])
    def test_structural_em_starts_as_often_as_reported(self, learner):
        table = holed(random_network(np.random.default_rng(0), 5), 25, 0.4, 0)
        options = {"max_parents": 1, "hard": learner == "structural-em-hard"}
        one, several = (
            structural_em(table, BDeu(), starts=s, **options) for s in (1, 6)
        )
        assert one.score != several.score
        how = replace(QUICK, learner=learner, starts=6)
        assert learned(table, how).score == several.score
        completed = METHODS[learner](table, how)
        assert completed.values.tolist() == several.values.tolist()

    def test_no_network_no_answer(self):
        with pytest.raises(OptionError, match="call fit first"):
            Imputer("mpe").transform(Dataset(np.array([[-1]]), ("a",), (("x", "y"),)))

    def test_no_network_in_time_is_reported(self, monkeypatch):
        nothing = Imputed(values=None, status="feasible")
        monkeypatch.setattr(
            "exactlearn.imputation.learning.augmented", lambda *told: nothing
        )
        table = holed(random_network(np.random.default_rng(2), 4), 20, 0.2, 1)
        with pytest.raises(
            OptionError, match=r"limit of 0.1 s came before 't-local' found any"
        ):
            Imputer("posterior", replace(QUICK, time_limit=0.1)).fit(table)


def test_indicators_and_back():
    rng = np.random.default_rng(0)
    network = random_network(rng, 4)
    table = holed(network, 20, 0.3, 0)
    coded = one_hot(table)
    assert np.isnan(coded).sum() == table.cardinalities[table.missing_cells[:, 1]].sum()
    full = network.sample(20, rng)
    values = likeliest(cell_probabilities(one_hot(full), table))
    assert np.array_equal(values, full.codes[tuple(table.missing_cells.T)])


def test_a_cell_without_shares_is_uniform_over_its_own_states():
    table = Dataset(np.array([[-1, -1]]), ("a", "b"), (("x", "y"), ("u", "v", "w")))
    found = cell_probabilities(np.array([[-1.0, 0, 0, 0, 0]]), table)
    assert found == pytest.approx(np.array([[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]))


class TestLibrary:
    """Baselines fill every cell with a state of its variable, and find what is plain to see."""

    @pytest.fixture(autouse=True)
    def _library(self):
        pytest.importorskip("sklearn")

    @pytest.mark.parametrize("name", IMPUTERS)
    def test_awkward_tables_are_filled(self, name, monkeypatch):
        monkeypatch.setattr("exactlearn.imputation.scikit_learn.TREES", 3)
        codes = np.array(
            [[0, 2, -1, 0], [1, -1, -1, 0], [-1, -1, -1, -1], [1, 0, -1, 0]]
        )
        states = (("x", "y"), ("u", "v", "w"), ("p", "q"), ("only",))
        table = Dataset(codes, ("a", "b", "nothing", "constant"), states)
        values = METHODS[name](table, Learning()).values
        assert table.complete(values).is_complete

    @pytest.mark.parametrize("name", IMPUTERS)
    def test_a_copied_nominal_column_is_recovered(self, name, monkeypatch):
        monkeypatch.setattr("exactlearn.imputation.scikit_learn.TREES", 5)
        rng = np.random.default_rng(4)
        copied = rng.integers(0, 4, 120)
        codes = np.column_stack([copied, (copied + 2) % 4, rng.integers(0, 2, 120)])
        full = Dataset(
            codes, ("a", "b", "c"), (tuple("wxyz"), tuple("wxyz"), ("n", "y"))
        )
        table = hide(full, "mcar:8", rng)
        columns = table.missing_cells[:, 1]
        values = METHODS[name](table, Learning()).values
        right = values == full.codes[tuple(table.missing_cells.T)]
        assert right[columns < 2].mean() > 0.8

    def test_iterative_is_the_librarys_on_two_states(self):
        from sklearn.experimental import enable_iterative_imputer  # noqa: F401
        from sklearn.impute import IterativeImputer

        rng = np.random.default_rng(12)
        network = random_network(rng, 6, most_states=2)
        table = hide(network.sample(80, rng), "mcar:0.15", rng)
        codes = np.where(table.codes < 0, np.nan, table.codes)
        filled = IterativeImputer(tol=1e-3).fit_transform(codes)[
            tuple(table.missing_cells.T)
        ]
        found = METHODS["iterative"](table, Learning())
        clear = abs(filled - 0.5) > 0.02
        assert clear.mean() > 0.8
        assert np.array_equal(found.values[clear], (filled > 0.5)[clear])

    def test_blocks_of_rows_make_no_difference(self, monkeypatch):
        rng = np.random.default_rng(3)
        table = hide(random_network(rng, 4).sample(30, rng), "mcar:3", rng)
        whole = METHODS["knn"](table, Learning()).probabilities
        monkeypatch.setattr("exactlearn.imputation.scikit_learn.BLOCK", 7)
        assert np.array_equal(METHODS["knn"](table, Learning()).probabilities, whole)

    @pytest.mark.parametrize("name", IMPUTERS)
    def test_the_time_limit_is_kept_or_reported(self, name):
        table = Dataset(
            np.array([[0, 1], [1, 0], [1, -1]] * 5), ("a", "b"), (("x", "y"),) * 2
        )
        found = METHODS[name](table, Learning(time_limit=0.0))
        assert found.status == "feasible"
        assert (found.values is None) == (name == "knn")
        assert METHODS[name](table, Learning(time_limit=60.0)).status == "heuristic"

    @pytest.mark.parametrize("name", IMPUTERS)
    def test_weighted_rows_are_refused(self, name):
        table = Dataset(
            np.array([[0, 1], [1, -1]]), ("a", "b"), (("x", "y"),) * 2, np.ones(2)
        )
        with pytest.raises(DataError, match="the rows have weights"):
            METHODS[name](table, Learning())


@pytest.mark.parametrize("name", IMPUTERS)
def test_a_missing_library_is_reported_with_its_extra(name, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.experimental", None)
    table = Dataset(np.array([[0, 1], [1, -1]]), ("a", "b"), (("x", "y"),) * 2)
    with pytest.raises(MissingExtraError, match=r"exactlearn\[sklearn\]"):
        METHODS[name](table, Learning())


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    made = tmp_path_factory.mktemp("tables")
    run("simulate", "cancer", "--rows", 60, "--hide", "mcar:3", "--seed", 3,
        "-o", made / "holes.csv", "--complete", made / "full.csv")  # fmt: skip
    return made


FEW = ("--starts", 1, "--networks", 2)


class TestCommand:
    def test_the_defaults_are_those_of_learning(self, tables, monkeypatch):
        taken = []

        def stop(mode, how, *more):
            taken.append(replace(how, on_event=None, required=(), forbidden=()))
            raise OptionError("stop")

        monkeypatch.setattr("exactlearn.Imputer", stop)
        assert "stop" in fails("impute", tables / "holes.csv")
        (given,) = taken
        assert given == Learning(**Learning().settled._asdict())
        assert Imputer().learning == Learning()
        assert (given.chosen, given.networks) == ("structural-em", 6)
        assert given.settled == (BDeu(10.0), 2, 1, 0.3)

    def test_augmentation_has_a_learner_of_its_own(self):
        assert Imputer("augmentation").learning.learner == "t-local"

    @pytest.mark.parametrize("mode", MODES)
    def test_every_mode_reports_every_cell(self, tables, mode):
        options = {"stacked": FEW, "averaged": FEW, "mode": ()}.get(mode, FEW[:2])
        record = run_json("impute", tables / "holes.csv", "--method", mode, *options)
        keys = {"method", "status", "score", "seconds", "parents", "completion"}
        assert keys <= set(record) <= keys | {"loss_of_next_best", "learning"}
        assert ("learning" in record) == (mode != "mode")
        holes = read_dataset(tables / "holes.csv")
        assert [(c["row"], c["variable"]) for c in record["completion"]] == [
            (row, holes.names[v]) for row, v in holes.missing_cells.tolist()
        ]
        assert all(0 < c["probability"] <= 1 for c in record["completion"])

    def test_a_method_of_the_registry_is_a_mode(self, tables, tmp_path, monkeypatch):
        def impute(dataset, how):
            if how.time_limit == 0:
                return Imputed(values=None, status="feasible")
            values = np.arange(len(dataset.missing_cells)) % 2
            return Imputed(
                values=values, status="feasible" if how.time_limit else "heuristic"
            )

        monkeypatch.setitem(METHODS, "own", Method(impute))
        words = ("impute", tables / "holes.csv", "--method", "own")
        record = run_json(*words, "--time-limit", 9, "-o", tmp_path / "x.csv", status=3)
        assert (record["method"], record["status"], record["score"]) == (
            "own",
            "feasible",
            None,
        )
        assert all(
            set(c) == {"row", "line", "variable", "value"} for c in record["completion"]
        )
        assert read_dataset(tmp_path / "x.csv").is_complete
        run(*words, "-o", tmp_path / "all")
        assert {p.name for p in (tmp_path / "all").iterdir()} == {
            "completed.csv",
            "result.json",
        }
        assert "came before 'own' found any" in fails(*words, "--time-limit", 0)
        assert "expected a file name ending in" in fails(
            *words, "-o", tmp_path / "x.bif"
        )
        for refused in (("--train", "x"), ("--missingness", "learned")):
            assert "'own' completes a table from that table alone" in fails(
                *words, *refused
            )

    def test_missingness_is_learned_where_that_is_asked(self, tables):
        words = ("impute", tables / "holes.csv", *FEW, "--missingness", "learned")
        record = run_json(*words)
        assert all(0 < c["probability"] <= 1 for c in record["completion"])
        words = (
            "impute",
            tables / "holes.csv",
            "--missingness",
            "learned",
            "--method",
            "mode",
        )
        assert "leave missingness 'ignored'" in fails(*words)

    def test_several_tables_go_into_a_folder(self, tables, tmp_path):
        words = (
            "impute",
            tables / "holes.csv",
            "--method",
            "multiple",
            "--network",
            "cancer",
        )
        run(*words, "--draws", 11, "-o", tmp_path / "drawn")
        made = {p.name for p in (tmp_path / "drawn").iterdir()}
        assert {f"completed-{k:02}.csv" for k in range(1, 12)} < made
        assert {"network.bif", "result.json"} < made
        assert read_dataset(tmp_path / "drawn" / "completed-07.csv").is_complete
        assert "expected a file name ending in .json" in fails(
            *words, "-o", tmp_path / "x.csv"
        )

    def test_what_is_learned_from_one_table_completes_another(self, tables, tmp_path):
        words = (
            "--train",
            tables / "full.csv",
            "-o",
            tmp_path / "x.csv",
            "--max-parents",
            1,
        )
        told = run("impute", tables / "holes.csv", *words)
        assert "probability" in told
        assert read_dataset(tmp_path / "x.csv").is_complete
        run(
            "impute",
            tables / "full.csv",
            "-o",
            tmp_path / "full.csv",
            "-o",
            tmp_path / "y.csv",
        )
        assert (tmp_path / "y.csv").read_bytes() == (tables / "full.csv").read_bytes()

    def test_a_network_is_given_or_learned(self, tables):
        words = ("impute", tables / "holes.csv", "--network", "cancer")
        assert "exclude each other" in fails(*words, "--train", tables / "full.csv")
        assert "--network is for --method posterior or mpe" in fails(
            *words, "--method", "mode"
        )


def test_an_imputed_frame_takes_the_original_frame_or_nothing():
    frame = read_dataset("asia-mnar").to_frame().astype(object)
    table = Dataset.from_frame(frame)
    imputed = imputing.impute(frame, "mode")
    assert imputed.to_frame(frame).equals(imputed.to_frame(table))
    assert imputed.to_frame().equals(imputed.to_frame(table))
    fitted = Imputer("posterior", network=read_network("asia"))
    expected = fitted.transform(frame).to_frame()  # in the network's order of states
    values = fitted.imputed(frame).to_frame(frame)
    for row, variable, value in values[["row", "variable", "value"]].itertuples(
        index=False
    ):
        assert expected[variable].iloc[row] == value
    with pytest.raises(ArgumentError, match="'dataset'"):
        Imputed.of(np.full((2, 2), 0.5)).to_frame()
