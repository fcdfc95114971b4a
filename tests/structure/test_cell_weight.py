"""A price for each cell of a network's tables, against all networks and completions."""

from math import inf, prod

import numpy as np
import pytest

import exactlearn as el
from exactlearn.bayesnet.cliques import clique_tree
from exactlearn.errors import CheckError, OptionError
from exactlearn.scoring.prior import SizePrior
from exactlearn.scoring.scores import BIC, BDeu, total_score
from exactlearn.structure import held_out_choice
from exactlearn.structure.cell_weight_choice import CELL_WEIGHTS, CellWeightChoice
from tests.augmentation_oracle import all_dags, completions, random_table
from tests.command_line import invoke, run_json

SCORES = [BDeu(1.0), BIC(), BDeu(5.0)]
RELATED = np.random.default_rng(3).integers(0, 2, (120, 1))
CHAIN = np.hstack([RELATED, RELATED, RELATED ^ (np.arange(120)[:, None] % 9 == 0)])


def refused(*words):
    """Return the message of a command that is refused."""
    return invoke(*words, status=2).stderr


def cells(dag, cardinalities):
    return sum(
        int(prod(cardinalities[u] for u in (v, *parents)))
        for v, parents in enumerate(dag)
    )


def all_networks(data, score):
    """Yield each network with each completion, and its score."""
    for values in completions(data):
        complete = data.complete(values)
        problem = el.candidate_parent_sets(complete, score, max_parents=3, prune=False)
        scores = [dict(problem.candidates(v)) for v in range(data.n_variables)]
        for dag in all_dags(data.n_variables):
            yield dag, sum(scores[v][parents] for v, parents in enumerate(dag))


def best_of_all(data, score, weight):
    """Return the largest score less the price of all networks and completions."""
    return max(
        total - weight * cells(dag, data.cardinalities)
        for dag, total in all_networks(data, score)
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_priced_optimum_is_that_of_all_networks(seed):
    rng = np.random.default_rng(seed)
    data = random_table(rng, 4, 25, 0, 3)
    score = SCORES[seed % 3]
    weight = float(rng.choice([0.05, 0.3, 1.0]))
    learned = el.learn(data, score=score, cell_weight=weight)
    best = best_of_all(data, score, weight)
    assert (learned.status, learned.gap) == ("optimal", 0.0)
    assert learned.score == pytest.approx(best, abs=1e-9)
    # the true score, what was given up of it, and the size
    price = learned.price
    unpriced = best_of_all(data, score, 0.0)
    assert price.cell_weight == weight
    assert price.cells == cells(learned.parents, data.cardinalities)
    true_score = total_score(data, learned.parents, score)
    assert price.unpriced_score == pytest.approx(true_score, abs=1e-9)
    assert price.score_given_up == pytest.approx(unpriced - true_score, abs=1e-9)
    tree = clique_tree(learned.network)
    assert price.clique_tree_size == tree.size(data.cardinalities)
    assert price.largest_clique == max(
        prod(data.cardinalities[v] for v in clique) for clique in tree.cliques
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_best_network_and_completion_with_a_price(seed):
    rng = np.random.default_rng(50 + seed)
    data = random_table(rng, 4, 9, 3, 2)
    score = SCORES[seed % 3]
    best = best_of_all(data, score, 0.4)
    for method in ("branching", "gadget"):
        result = el.augment(data, score, method=method, cell_weight=0.4, starts=1)
        assert (result.status, method) == ("optimal", method)
        assert result.score == pytest.approx(best, abs=1e-9)
    rules = el.augmentation.FamilyRules.of(3, prior=SizePrior(0.4, data.cardinalities))
    result.check_score(data, score, rules)
    with pytest.raises(CheckError, match="the score of the completed table"):
        result.check_score(data, score, el.augmentation.FamilyRules.of(3))
    learned = el.learn(data, score=score, missing="augment", cell_weight=0.4)
    assert learned.score == pytest.approx(best, abs=1e-9)
    true_score = total_score(learned.completed, learned.parents, score)
    assert learned.price.unpriced_score == pytest.approx(true_score, abs=1e-9)
    assert learned.price.score_given_up == inf
    assert learned.to_dict()["score_given_up"] is None


def test_a_price_is_multiplied_into_another_prior():
    data = random_table(np.random.default_rng(1), 4, 30, 0, 3)
    arc = (data.names[3], data.names[0])
    learned = el.learn(data, prior={arc: 0.9999}, cell_weight=0.2)
    best = max(
        total
        - 0.2 * cells(dag, data.cardinalities)
        + np.log(0.9999 if 3 in dag[0] else 0.0001)
        for dag, total in all_networks(data, BDeu(1.0))
    )
    assert learned.score == pytest.approx(best, abs=1e-9)
    assert (
        "the logarithm of the prior; status, score, bound and gap hold a price of 0.2"
        in (learned.reason)
    )


def test_larger_prices_give_smaller_networks_of_lower_scores():
    table = el.read_dataset("asia-mnar-complete")
    prices = [el.learn(table, cell_weight=w).price for w in (0.01, 0.1, 1, 10)]
    sizes = [price.cells for price in prices]
    losses = [price.score_given_up for price in prices]
    assert sizes == sorted(sizes, reverse=True)
    assert losses == sorted(losses)
    assert sizes[0] > sizes[-1]
    free = el.learn(table, cell_weight=0)
    assert free.price is None
    assert not {"cell_weight", "unpriced_score"} & free.to_dict().keys()


def test_a_network_that_no_time_is_left_to_compare_has_a_bound():
    table = el.read_dataset("asia-mnar-complete")
    exact = el.learn(table, cell_weight=1).price
    short = el.learn(table, cell_weight=1, time_limit=1e-9).price
    assert (
        inf
        > short.score_given_up + short.unpriced_score
        >= (exact.score_given_up + exact.unpriced_score - 1e-9)
    )


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_price_within_one_standard_error_is_chosen(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    data = random_table(rng, 3, 40, 0)
    judged = {weight: [] for weight in CELL_WEIGHTS}

    def drawn(training, held_out, objectives, *more):
        assert objectives.keys() == judged.keys()
        for weight in objectives:
            logs = rng.normal(-0.05 * weight, 0.2, held_out.n_rows)
            judged[weight] += np.repeat(logs, held_out.row_weights.astype(int)).tolist()
            yield weight, logs

    monkeypatch.setattr(held_out_choice, "_log_likelihoods", drawn)
    choice = el.learn(data, cell_weight="auto").cell_weight_choice
    best = max(judged, key=lambda weight: np.mean(judged[weight]))
    good = []
    for weight, rows in judged.items():
        losses = np.array(judged[best]) - rows
        if losses.mean() <= losses.std() / len(losses) ** 0.5:
            good.append(weight)
    assert (choice.value, choice.best) == (max(good), best)


def test_auto_learns_with_the_price_that_it_chooses():
    data = el.Dataset(CHAIN, ("a", "b", "c"), (("no", "yes"),) * 3)
    learned = el.learn(data, cell_weight="auto")
    choice = learned.cell_weight_choice
    again = el.learn(data, cell_weight=choice.value)
    assert (learned.parents, learned.price) == (again.parents, again.price)
    assert choice.folds == 10
    assert learned.reason.startswith(f"cell weight {choice.value:g}: the largest of 0,")
    with pytest.warns(el.errors.TimeLimitWarning, match="cell weight 0, the default"):
        short = el.learn(data, cell_weight="auto", time_limit=1e-9)
    assert short.cell_weight_choice == CellWeightChoice(0.0, {}, 0, 2)


@pytest.mark.parametrize("weight", [-0.1, inf, float("nan")])
def test_a_price_below_zero_or_not_finite_is_refused(weight):
    table = el.read_dataset("cancer-mcar-complete")
    for learn in (el.learn, el.augment):
        with pytest.raises(OptionError, match=r"cell_weight.*a finite number from 0"):
            learn(table, cell_weight=weight)
    refused("solve", "cancer-mcar-complete", "--cell-weight", weight)
    refused("augment", "cancer-mcar", "--cell-weight", weight)


def test_what_has_no_price_is_refused(tmp_path):
    problem = el.candidate_parent_sets(el.read_dataset("cancer-mcar-complete"), "bdeu")
    el.write_scores(problem, tmp_path / "scores.jkl")
    for weight in ("auto", 1):
        text = refused("solve", tmp_path / "scores.jkl", "--cell-weight", weight)
        assert "--cell-weight is for a table, but scores were given" in text
    text = refused(
        "solve", "cancer-mcar-complete", "--solver", "ges", "--cell-weight", 1
    )
    assert "--cell-weight cannot be honoured by a search over equivalence" in text
    text = refused("augment", "cancer-mcar", "--best", 2, "--cell-weight", 1)
    assert "--cell-weight" in text
    with pytest.raises(OptionError, match=r"or el\.learn for cell_weight"):
        el.bootstrap(el.read_dataset("cancer-mcar-complete"), 2, cell_weight="auto")


def test_the_records_hold_the_price():
    keys = "cell_weight cells unpriced_score score_given_up clique_tree_size largest_clique"
    solved = run_json("solve", "asia-mnar-complete", "--cell-weight", "auto")
    choice = solved["cell_weight_choice"]
    weight = choice["value"]
    assert choice["held_out_log_likelihood_per_row"].keys() == {
        f"{value:g}" for value in CELL_WEIGHTS
    }
    assert (set(keys.split()) <= solved.keys()) == (weight > 0)
    solved = run_json("solve", "asia-mnar-complete", "--cell-weight", 1)
    learned = el.learn(el.read_dataset("asia-mnar-complete"), cell_weight=1)
    record = learned.to_dict()
    assert {key: solved[key] for key in keys.split()} == pytest.approx(
        {key: record[key] for key in keys.split()}
    )
    augmented = run_json(
        "augment",
        "cancer-mcar",
        "--method",
        "t-local",
        "--starts",
        1,
        "--cell-weight",
        1,
    )
    assert augmented["unpriced_score"] == pytest.approx(
        augmented["score"] + augmented["cells"]
    )
    assert augmented["score_given_up"] is None


def test_the_largest_clique_is_that_of_a_search_for_bounded_ones():
    table = el.read_dataset("asia-mnar-complete")
    learned = el.learn(table, cell_weight=0.1, max_clique=4)
    sizes = learned.clique_tree.clique_sizes(table.cardinalities)
    assert (learned.price.clique_tree_size, learned.price.largest_clique) == (
        sum(sizes),
        max(sizes),
    )
    free = el.learn(table).score
    assert learned.price.score_given_up == pytest.approx(
        free - learned.price.unpriced_score
    )
