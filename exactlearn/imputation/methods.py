"""Imputers: one class with ``fit`` and ``transform`` for own models, and the registry of methods.

By the registry ``impute`` and ``compare`` complete. A new method is one module with a function
``impute(dataset, learning) -> Imputed`` and one entry here. What distinguishes the modes of the
class stands in :data:`MODE_RULES`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np
from numpy.typing import NDArray

from exactlearn import augmentation
from exactlearn._runtime.argument_kinds import one_of, refusal
from exactlearn._runtime.arguments import check_fields, checked_arguments
from exactlearn._runtime.display import Displayed
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    require_weight,
    unknown_columns,
)
from exactlearn.errors import OptionError
from exactlearn.imputation import posterior_average, scikit_learn
from exactlearn.imputation.cell_models import (
    Matrix,
    NetworkAverage,
    Pool,
    fit_pool,
)
from exactlearn.imputation.learning import (
    STRUCTURAL_EM,
    Imputed,
    Learning,
    augmented,
    averaged_posterior,
    bootstrap_networks,
    independent,
    learned,
    likeliest,
)
from exactlearn.scoring.scores import total_score

Mode = Literal[
    "stacked", "averaged", "posterior", "mpe", "multiple", "augmentation", "mode"
]

MODES: tuple[Mode, ...] = get_args(Mode)

Model = NetworkAverage | Pool


def _fit_pool(dataset: Dataset, learning: Learning) -> tuple[Model, Imputed]:
    pool, status = fit_pool(dataset, learning)
    return pool, Imputed(values=None, status=status)


def _fit_average(dataset: Dataset, learning: Learning) -> tuple[Model, Imputed]:
    networks, status = bootstrap_networks(dataset, learning)
    model = NetworkAverage.of(dataset, networks, learning)
    return model, Imputed(values=None, status=status)


def _fit_network(dataset: Dataset, learning: Learning) -> tuple[Model, Imputed]:
    result = learned(dataset, learning)
    networks = () if result.network is None else (result.network,)
    return NetworkAverage.of(dataset, networks, learning), result


def _fit_marginals(dataset: Dataset, learning: Learning) -> tuple[Model, Imputed]:
    return NetworkAverage((independent(dataset),)), Imputed(values=None)


class ModeRule(NamedTuple):
    """Rule of a mode of the :class:`Imputer`.

    Attributes
    ----------
    fit
        Returns a fitted model of the cells, and the result of the learner without its network.
    takes_network
        Whether a given network may stand in for learning one.
    averages
        Whether it averages over several networks, which have no structure and no score together.
    is_joint
        Whether the missing cells of a row get their most probable states jointly.
    learns_missingness
        Whether why cells are missing can be learned beside the network.
    """

    fit: Callable[[Dataset, Learning], tuple[Model, Imputed]]
    takes_network: bool = False
    averages: bool = False
    is_joint: bool = False
    learns_missingness: bool = True


MODE_RULES: dict[Mode, ModeRule] = {
    "stacked": ModeRule(_fit_pool, averages=True),
    "averaged": ModeRule(_fit_average, averages=True),
    "posterior": ModeRule(_fit_network, takes_network=True),
    "mpe": ModeRule(_fit_network, takes_network=True, is_joint=True),
    "multiple": ModeRule(_fit_network, takes_network=True),
    "augmentation": ModeRule(_fit_network, is_joint=True, learns_missingness=False),
    "mode": ModeRule(_fit_marginals, learns_missingness=False),
}
"""The rule of each mode."""

AVERAGING = tuple(mode for mode, rule in MODE_RULES.items() if rule.averages)
"""Modes that average over several networks."""


@dataclass(eq=False, repr=False)
class Imputer(Displayed, shown="mode learning network draws"):
    """Complete tables by a model that is learned from an incomplete one, or by a given network.

    Parameters
    ----------
    mode
        ``stacked``: each cell gets its most probable state by averaged networks and logistic
        regressions together (:mod:`exactlearn.imputation.cell_models`).
        ``augmentation``: the table it is fitted on gets the completion that maximises the score
        together with the network; other tables get the most probable completion of each row.
        ``posterior``: each cell gets its most probable state given the observed cells of its row.
        ``mpe``: each row gets its jointly most probable completion.
        ``averaged``: as ``posterior``, by the mean over networks from bootstrap samples of rows,
        in which missing cells are drawn.
        ``multiple``: completions are drawn from the joint posterior of each row.
        ``mode``: each cell gets the most frequent state of its variable.
    learning
        How the network is learned; its seed is also that of ``multiple``.
    network
        A network to use in place of learning one, for ``posterior``, ``mpe`` and ``multiple``; the
        imputer then needs no fitting. After fitting the one learned, of several the first; of
        ``stacked`` without any the one without arcs.
    draws
        How many tables ``multiple`` draws.
    tidy
        For frames and arrays: as for :meth:`exactlearn.Dataset.from_frame`.

    Raises
    ------
    OptionError
        When the mode is unknown, does not go with the learner, or needs no network but has one.

    Examples
    --------
    >>> network = BayesianNetwork(
    ...     ("rain", "wet"),
    ...     (("no", "yes"),) * 2,
    ...     ((), (0,)),
    ...     (np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.0, 1.0]])),
    ... )
    >>> table = Dataset(np.array([[-1, 1], [0, -1]]), network.names, network.states)
    >>> Imputer("posterior", network=network).transform(table).codes.tolist()
    [[1, 1], [0, 0]]
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar")
    >>> imputer = el.Imputer("posterior", network=el.read_network("asia")).fit(table)
    >>> imputer.imputed(table).to_frame(table).iloc[:2, :4].round(4)
       row variable value  probability
    0    2     dysp    no          0.9
    1   12     dysp   yes          0.8
    >>> imputer.fit_transform(table)
    Dataset(rows=100, variables=8)
    >>> len(el.Imputer("multiple", network=el.read_network("asia"), draws=3).transform_all(table))
    3
    >>> el.Imputer("mode").learn(table).network
    BayesianNetwork(variables=8, parameters=8)
    """

    mode: Mode = "stacked"
    learning: Learning = field(default_factory=Learning)
    network: BayesianNetwork | None = None
    draws: int = 5
    tidy: bool = False

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if not isinstance(self.mode, str):
            instead = "pass a table to fit: Imputer().fit(table)"
            raise refusal("mode", "the name of a mode", self.mode, instead)
        check_fields(self, mode=one_of(MODES))
        if self.mode == "augmentation" and self.learning.learner is None:
            self.learning = replace(self.learning, learner="t-local")
        self._check_learning()
        networks = () if self.network is None else (self.network,)
        self._model: Model = NetworkAverage(networks)
        self._result = Imputed(values=None, network=self.network)
        self._fitted: Dataset | None = None

    def _check_learning(self) -> None:
        """Raise an `OptionError` when the options of learning do not go with the mode."""
        # What each mode takes and learns stands in one table.
        rule = MODE_RULES[self.mode]
        learner = self.learning.learner
        is_given = self.network is not None
        if is_given and not rule.takes_network:
            raise OptionError(
                f"the mode '{self.mode}' learns from the table; a given network is for "
                "'posterior', 'mpe' and 'multiple'"
            )
        if rule.averages and learner is not None:
            raise OptionError(
                f"the mode '{self.mode}' learns networks from drawn completions; leave the learner "
                "out"
            )
        if self.mode == "augmentation" and learner not in augmentation.METHODS:
            raise OptionError(
                f"the mode 'augmentation' needs one of the learners "
                f"{', '.join(augmentation.METHODS)}, found '{learner}'; with that one, "
                "'mpe' gives its completion"
            )
        is_learned = self.learning.missingness == "learned"
        if is_learned and (is_given or not rule.learns_missingness):
            raise OptionError(
                "why cells are missing is learned beside a network that is learned; leave "
                f"missingness 'ignored' for the mode '{self.mode}'"
            )

    @checked_arguments()
    def fit(self, dataset: DatasetLike) -> Self:
        """Learn the network, unless one was given.

        Parameters
        ----------
        dataset
            Table with or without missing cells.

        Raises
        ------
        OptionError
            When an option is wrong, or the time limit came before there was any network.
        TooLargeError, InfeasibleError
            As :func:`~exactlearn.imputation.learning.learned`.
        KeyboardInterrupt
            When Ctrl-C came before there was any network.
        """
        result = self.learn(dataset)
        if result.network is not None:
            return self
        if result.status == "interrupted":
            raise KeyboardInterrupt
        raise OptionError(
            f"the time limit of {self.learning.time_limit} s came before "
            f"'{self.learning.chosen}' found any network; give it more time, or choose "
            "another learner"
        )

    @checked_arguments()
    def learn(self, dataset: DatasetLike) -> Imputed:
        """Do what :meth:`fit` does, and return what was found, even if that is no network.

        Raises
        ------
        OptionError, TooLargeError, InfeasibleError
            As :func:`~exactlearn.imputation.learning.learned`.
        """
        # A given network needs no learning; a learned one is learned anew.
        is_given = self.network is not None and self._fitted is None
        if not is_given:
            self._fitted = dataset
            self._model, result = MODE_RULES[self.mode].fit(dataset, self.learning)
            self.network = self._model.network
            self._result = replace(result, network=self.network)
        return self._result

    @checked_arguments()
    def transform(self, dataset: DatasetLike) -> Dataset:
        """Return a table with its missing cells filled; the first one of several.

        Parameters
        ----------
        dataset
            Table with the network's variables, matched by name as their states are. A table in
            which a variable lacks states of the network gets them; columns that the network lacks
            are left out.

        Raises
        ------
        OptionError
            When the imputer is not fitted.
        DataError
            When the table does not fit the network, or a row is impossible under it.
        TooLargeError
            When the missing cells of a row depend on each other too much for exact inference.
        """
        return self.transform_all(dataset)[0]

    @checked_arguments()
    def fit_transform(self, dataset: DatasetLike) -> Dataset:
        """Learn from a table and complete it."""
        return self.fit(dataset).transform(dataset)

    @checked_arguments()
    def transform_all(self, dataset: DatasetLike) -> tuple[Dataset, ...]:
        """Return all completed tables: ``draws`` of them for ``multiple``, else one.

        Raises
        ------
        OptionError, DataError, TooLargeError
            As :meth:`transform`.
        """
        # One table, unless completions are drawn.
        table = self._table(dataset)
        if table.is_complete:
            return (table,)
        if self.mode == "multiple" and isinstance(self._model, NetworkAverage):
            rng = np.random.default_rng(self.learning.seed)
            completions = self._model.drawn(table, self.draws, rng)
            return tuple(map(table.complete, completions))
        return (table.complete(self._values(table)),)

    @checked_arguments()
    def imputed(self, dataset: DatasetLike) -> Imputed:
        """Return the values of the missing cells with their posterior distributions.

        Of ``multiple``, each cell's most probable value. The score is that of the completed table
        with the network's structure, where there is one network; the values are in the coding of
        the table that :meth:`transform` returns.

        Raises
        ------
        OptionError, DataError, TooLargeError
            As :meth:`transform`.
        """
        table = self._table(dataset)
        probabilities = self._model.posterior(table)
        if self._is_augmented(table):
            return replace(self._result, probabilities=probabilities, table=table)
        values = self._values(table, probabilities)
        result = Imputed(
            values=values,
            probabilities=probabilities,
            status=self._result.ended,
            table=table,
        )
        if MODE_RULES[self.mode].averages:
            return result
        network = self._network
        parents = network.reordered(table).parents
        # The score of the completed table with the network's structure.
        completed = table.complete(values)
        score = total_score(completed, parents, self.learning.settled.score)
        return replace(result, parents=parents, network=network, score=score)

    @property
    def _network(self) -> BayesianNetwork:
        if self.network is None:
            raise OptionError(
                "the imputer has no network yet: call fit first, or give it one"
            )
        return self.network

    def _table(self, dataset: Dataset) -> Dataset:
        """Return the network's variables in its states; the table itself, if it has these."""
        network = self._network
        states_of = dict(zip(network.names, network.states, strict=True))
        names = tuple(name for name in dataset.names if name in states_of)
        if not names:
            raise unknown_columns(dataset.names, network.names)
        states = tuple(states_of[name] for name in names)
        if (names, states) == (dataset.names, dataset.states):
            return dataset
        codes = aligned_codes(dataset, names, states)
        return replace(dataset, codes=codes, names=names, states=states)

    def _values(
        self,
        table: Dataset,
        probabilities: Matrix | None = None,
    ) -> NDArray[np.int64]:
        """Return the state of each missing cell, by the rule of the mode, shape (cells,)."""
        if self._result.values is not None and self._is_augmented(table):
            return self._result.values
        is_joint = MODE_RULES[self.mode].is_joint
        if is_joint and isinstance(self._model, NetworkAverage):
            return self._model.most_probable(table)
        if probabilities is None:
            probabilities = self._model.posterior(table)
        return likeliest(probabilities)

    def _is_augmented(self, table: Dataset) -> bool:
        """Return whether this is the table that augmentation completed."""
        fitted = self._fitted
        return (
            self.mode == "augmentation"
            and fitted is not None
            and table.names == fitted.names
            and np.array_equal(table.codes, fitted.codes)
        )


@dataclass(frozen=True)
class Method:
    """A method of imputation, called with a table and with how networks are learned.

    Parameters
    ----------
    impute
        Completes a table. Of its second argument every method takes the seed and the time limit,
        and methods that learn a network take all of it.
    needs_scikit_learn
        Whether it is a method of scikit-learn.
    """

    impute: Callable[[Dataset, Learning], Imputed]
    needs_scikit_learn: bool = False

    def __call__(self, dataset: Dataset, learning: Learning) -> Imputed:
        """Return the values of a table's missing cells."""
        return self.impute(dataset, learning)


_Impute = Callable[[Dataset, Learning], Imputed]


def _by_learner(
    learner: Any,
    impute: _Impute,
    dataset: Dataset,
    learning: Learning,
) -> Imputed:
    """Complete a table by a method whose name says how networks are learned."""
    return impute(dataset, replace(learning, learner=learner))


def _by_mode(mode: Mode, dataset: Dataset, learning: Learning) -> Imputed:
    """Complete the table that an imputer is fitted on."""
    imputer = Imputer(mode, learning)
    result = imputer.learn(dataset)
    return result if result.network is None else imputer.imputed(dataset)


def _most_frequent(dataset: Dataset, learning: Learning) -> Imputed:
    """Complete a table by augmentation with the modes, with the proportions of all states."""
    probabilities = averaged_posterior([independent(dataset)], dataset)
    result = _by_learner("mode", augmented, dataset, learning)
    return replace(result, probabilities=probabilities)


_by_mpe = partial(_by_mode, "mpe")

_FUNCTIONS: dict[str, _Impute] = {
    **{name: partial(_by_learner, name, augmented) for name in augmentation.METHODS},
    "mode": _most_frequent,
    **{name: partial(_by_learner, name, _by_mpe) for name in STRUCTURAL_EM},
    "stacked": partial(_by_learner, None, partial(_by_mode, "stacked")),
    "posterior": partial(_by_mode, "posterior"),
    "mpe": _by_mpe,
    "averaged": partial(_by_learner, None, partial(_by_mode, "averaged")),
    "posterior-average": posterior_average.impute,
}

METHODS = {
    **{name: Method(impute) for name, impute in _FUNCTIONS.items()},
    **{name: Method(impute, True) for name, impute in scikit_learn.METHODS.items()},
}
"""Every method of completing a table, by its name."""


@checked_arguments(method=one_of(METHODS))
def impute(
    dataset: DatasetLike,
    method: str = "stacked",
    learning: Learning | None = None,
    *,
    tidy: bool = False,
) -> Imputed:
    """Complete a table: each missing cell gets a state, by one of the methods of `METHODS`.

    Parameters
    ----------
    dataset
        Table with missing cells.
    method
        ``stacked`` (the pool that is the default of ``exactlearn impute``), another method by
        networks, or a baseline, such as ``mode``, ``knn`` or ``logistic``.
    learning
        How networks are learned, with the seed and the time limit of any method.
    tidy
        For frames and arrays: as for :meth:`exactlearn.Dataset.from_frame`.

    Returns
    -------
    Imputed
        The values of the missing cells, with their distributions where the method has them.

    Raises
    ------
    OptionError
        When the method is unknown.
    MissingExtraError
        When the method needs scikit-learn, and it is not installed.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar")
    >>> el.impute(table, "mode").to_frame(table).iloc[:2, :3]
       row variable value
    0    2     dysp    no
    1   12     dysp    no
    """
    require_weight(dataset)
    imputed = METHODS[method](dataset, learning or Learning())
    return imputed if imputed.table is not None else replace(imputed, table=dataset)
