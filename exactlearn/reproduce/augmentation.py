"""The tables of Adel and de Campos, "Learning Bayesian networks with incomplete data ...".

Tables 1, 2, 3 and 5 of "Learning Bayesian networks with incomplete data by augmentation". All
removed cells of a repetition hold one value, each value in turn; at most three parents, and t = 1.
The exact method is ``branching``, which proves the optimum of the paper's in less time. Table 4
(smoking cessation) is left out: its data are not public. The networks of Table 1 for breast and
prostate cancer are not public either; LUCAS, CANCER, EARTHQUAKE and SURVEY stand in.

The paper's structural EM is that of Rancoita et al., which completes each row by its most probable
values: ``structural-em-hard``. Friedman's, ``structural-em``, is beside it.
"""

from functools import partial

from exactlearn.imputation.learning import Learning
from exactlearn.reproduce.experiment import GENERATING, Experiment, Paper, Pool
from exactlearn.reproduce.sources import (
    bundled,
    car,
    draw_of,
    labels,
    lucas,
    lucas_network,
    sampled,
    spect,
    spread,
)
from exactlearn.reproduce.study import published
from exactlearn.scoring.scores import BDeu

NETWORKS = ("asia", "lucas", "cancer", "earthquake", "survey")
"""Networks of Table 1; only the first is the paper's."""

EM = ("structural-em-hard", "structural-em")
SPREAD = ("t-local", *EM)
LABELS = (*SPREAD, "svm-rbf")
REACH = ("mode", GENERATING)
"""Lower and upper references: the commonest values, and the network that rows are drawn from."""


def augmentation() -> Paper:
    """Return the experiments in the order of the paper."""
    return Paper(
        experiments=(*_networks(), *_lucas(), *_spect(), *_car()),
        repetitions=100,
        learning=Learning(
            learner="t-local", score=BDeu(1.0), max_parents=3, t=1, starts=10, alpha=1.0
        ),
        notes=published("augmentation")["notes"],
    )


def _published(name: str) -> dict[str, float]:
    """Return the paper's figures for an experiment or a pool; none where it has none."""
    figures: dict[str, float] = published("augmentation")["published"].get(name, {})
    return figures


def _pool(name: str) -> Pool:
    return Pool(name=name, published=_published(name))


def _networks() -> list[Experiment]:
    """Return Table 1: two cells of each variable, 100 rows of a network."""
    pools = {name: _pool(name) for name in NETWORKS}
    return [
        Experiment(
            table="1",
            name=f"{name}, value {state}",
            draw=draw_of(sampled(name), spread(f"mnar:2:{state}")),
            methods=("branching", *SPREAD, *REACH),
            pool=pools[name],
            network=partial(bundled, name),
        )
        for name in NETWORKS
        for state in (0, 1)
    ]


def _lucas() -> list[Experiment]:
    """Return Table 2: two cells of each variable, or twenty labels, of 2,000 rows."""
    cells, classes = _pool("LUCAS, spread, one value"), _pool("LUCAS, labels, one value")
    spread_out = [
        Experiment(
            table="2",
            name=f"LUCAS, spread, {which}",
            draw=draw_of(lucas, spread(spec)),
            methods=(*SPREAD, *REACH),
            pool=pool,
            published=_published(f"LUCAS, spread, {which}"),
            network=lucas_network,
        )
        for which, spec, pool in (
            ("value 0", "mnar:2:0", cells),
            ("value 1", "mnar:2:1", cells),
            ("any value", "mcar:2", None),
        )
    ]
    return spread_out + [
        Experiment(
            table="2",
            name=f"LUCAS, labels of {which}",
            draw=draw_of(lucas, labels("Lung_cancer", 20, state)),
            methods=(*LABELS, *REACH),
            pool=pool,
            published=_published(f"LUCAS, labels of {which}"),
            network=lucas_network,
        )
        for which, state, pool in (
            ("value 0", "0", classes),
            ("value 1", "1", classes),
            ("any value", None, None),
        )
    ]


def _spect() -> list[Experiment]:
    """Return Table 3: shares of all cells of SPECT Heart."""
    pools = {share: _pool(f"SPECT, {100 * share:g} %") for share in (0.03, 0.05, 0.1)}
    return [
        Experiment(
            table="3",
            name=f"SPECT, {100 * share:g} %, value {state}",
            draw=draw_of(spect, spread(f"mnar:{share}:{state}")),
            methods=(*SPREAD, "mode"),
            published=_published(f"SPECT, {100 * share:g} %, value {state}"),
            pool=pool,
        )
        for share, pool in pools.items()
        for state in (0, 1)
    ]


def _car() -> list[Experiment]:
    """Return Table 5: a hundred labels of the car evaluation data."""
    pool = _pool("car, labels, one value")
    return [
        Experiment(
            table="5",
            name=f"car, labels '{state}'",
            draw=draw_of(car, labels("X6", 100, state)),
            methods=(*LABELS, "mode"),
            pool=pool,
        )
        for state in ("unacc", "acc")
    ]
