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
from typing import Any

from exactlearn.imputation.learning import Learning
from exactlearn.reproduce.experiment import GENERATING, Draw, Experiment, Paper, Pool
from exactlearn.reproduce.rows import published
from exactlearn.reproduce.sources import (
    Hide,
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
            learner="t-local", score=BDeu(1.0), max_parents=3, t=1, starts=10, smoothing=1.0
        ),
        notes=published("augmentation")["notes"],
    )


def _published(name: str) -> dict[str, float]:
    """Return the paper's figures for an experiment or a pool; none where it has none."""
    figures: dict[str, float] = published("augmentation")["published"].get(name, {})
    return figures


def _pool(name: str) -> Pool:
    return Pool(name=name, published=_published(name))


def _experiment(
    table: str, name: str, draw: Draw, methods: tuple[str, ...], pool: Pool | None, **known: Any
) -> Experiment:
    """Return an experiment with its published figures, where it has any."""
    return Experiment(
        table=table,
        name=name,
        draw=draw,
        methods=methods,
        pool=pool,
        published=_published(name),
        **known,
    )


def _networks() -> list[Experiment]:
    """Return Table 1: two cells of each variable, 100 rows of a network."""
    pools = {name: _pool(name) for name in NETWORKS}
    methods = ("branching", *SPREAD, *REACH)
    return [
        _experiment(
            "1",
            f"{name}, value {state}",
            draw_of(sampled(name), spread(f"mnar:2:{state}")),
            methods,
            pools[name],
            network=partial(bundled, name),
        )
        for name in NETWORKS
        for state in (0, 1)
    ]


def _lucas() -> list[Experiment]:
    """Return Table 2: two cells of each variable, or twenty labels, of 2,000 rows."""
    cells, classes = _pool("LUCAS, spread, one value"), _pool("LUCAS, labels, one value")
    cases: list[tuple[str, Hide, tuple[str, ...], Pool | None]] = [
        ("spread, value 0", spread("mnar:2:0"), SPREAD, cells),
        ("spread, value 1", spread("mnar:2:1"), SPREAD, cells),
        ("spread, any value", spread("mcar:2"), SPREAD, None),
        ("labels of value 0", labels("Lung_cancer", 20, "0"), LABELS, classes),
        ("labels of value 1", labels("Lung_cancer", 20, "1"), LABELS, classes),
        ("labels of any value", labels("Lung_cancer", 20, None), LABELS, None),
    ]
    return [
        _experiment(
            "2",
            f"LUCAS, {which}",
            draw_of(lucas, hidden),
            (*methods, *REACH),
            pool,
            network=lucas_network,
        )
        for which, hidden, methods, pool in cases
    ]


def _spect() -> list[Experiment]:
    """Return Table 3: shares of all cells of SPECT Heart."""
    pools = {share: _pool(f"SPECT, {100 * share:g} %") for share in (0.03, 0.05, 0.1)}
    methods = (*SPREAD, "mode")
    return [
        _experiment(
            "3",
            f"{pool.name}, value {state}",
            draw_of(spect, spread(f"mnar:{share}:{state}")),
            methods,
            pool,
        )
        for share, pool in pools.items()
        for state in (0, 1)
    ]


def _car() -> list[Experiment]:
    """Return Table 5: a hundred labels of the car evaluation data."""
    pool, methods = _pool("car, labels, one value"), (*LABELS, "mode")
    return [
        _experiment(
            "5", f"car, labels '{state}'", draw_of(car, labels("X6", 100, state)), methods, pool
        )
        for state in ("unacc", "acc")
    ]
