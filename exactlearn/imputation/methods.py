"""Imputers: one class with ``fit`` and ``transform`` for own models, and the registry of methods.

By the registry ``impute`` and ``compare`` complete. A new method is one module with a function
``impute(dataset, how) -> Imputed`` and one entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Self, cast, get_args

import numpy as np
from numpy.typing import NDArray

from exactlearn import augmentation
from exactlearn._runtime.argument_kinds import one_of, refusal
from exactlearn._runtime.arguments import check_fields, checked_arguments
from exactlearn._runtime.display import Displayed
from exactlearn.augmentation.solutions import total_score
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import (
    Dataset,
    DatasetLike,
    aligned_codes,
    require_weight,
    unknown_columns,
)
from exactlearn.errors import OptionError
from exactlearn.imputation import scikit_learn
from exactlearn.imputation.cell_models import NetworkAverage, Pool, fit_pool
from exactlearn.imputation.learning import (
    Imputed,
    Learner,
    Learning,
    augmented,
    averaged_posterior,
    bootstrap_networks,
    independent,
    learned,
    likeliest,
)

Mode = Literal[
    "stacked", "averaged", "posterior", "mpe", "multiple", "augmentation", "mode"
]

MODES: tuple[Mode, ...] = get_args(Mode)

AVERAGING: tuple[Mode, ...] = ("stacked", "averaged")
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
    _fitted: Dataset | None = field(default=None, init=False, repr=False)
    _found: Imputed = field(
        default_factory=lambda: Imputed(values=None), init=False, repr=False
    )
    _model: NetworkAverage | Pool = field(
        default_factory=NetworkAverage, init=False, repr=False
    )

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if not isinstance(self.mode, str):
            instead = "pass a table to fit: Imputer().fit(table)"
            raise refusal("mode", "the name of a mode", self.mode, instead)
        check_fields(self, mode=one_of(MODES))
        learns, own = self.learning, self.mode not in ("posterior", "mpe", "multiple")
        if self.mode == "augmentation" and learns.learner is None:
            self.learning = learns = replace(learns, learner="t-local")
        if own and self.network is not None:
            raise OptionError(
                f"the mode '{self.mode}' learns from the table; a given network is for "
                "'posterior', 'mpe' and 'multiple'"
            )
        if self.mode in AVERAGING and learns.learner is not None:
            raise OptionError(
                f"the mode '{self.mode}' learns networks from drawn completions; leave the learner "
                "out"
            )
        if self.mode == "augmentation" and learns.learner not in augmentation.METHODS:
            raise OptionError(
                f"the mode 'augmentation' needs one of the learners "
                f"{', '.join(augmentation.METHODS)}, found '{learns.learner}'; with that one, "
                "'mpe' gives its completion"
            )
        if learns.missingness == "learned" and (
            self.mode in ("augmentation", "mode") or self.network is not None
        ):
            raise OptionError(
                "why cells are missing is learned beside a network that is learned; leave "
                f"missingness 'ignored' for the mode '{self.mode}'"
            )
        self._given = self.network is not None
        if self.network is not None:
            self._model = NetworkAverage((self.network,))

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
        found = self.learn(dataset)
        if found.network is None:
            if found.status == "interrupted":
                raise KeyboardInterrupt
            raise OptionError(
                f"the time limit of {self.learning.time_limit} s came before "
                f"'{self.learning.chosen}' found any network; give it more time, or choose "
                "another learner"
            )
        return self

    @checked_arguments()
    def learn(self, dataset: DatasetLike) -> Imputed:
        """Do what :meth:`fit` does, and return what was found, even if that is no network.

        Raises
        ------
        OptionError, TooLargeError, InfeasibleError
            As :func:`~exactlearn.imputation.learning.learned`.
        """
        if self._given:
            return Imputed(values=None, network=self.network)
        self._fitted, found = dataset, Imputed(values=None)
        if self.mode == "stacked":
            self._model, status = fit_pool(dataset, self.learning)
            found = Imputed(values=None, status=status)
        elif self.mode == "mode":
            self._model = NetworkAverage((independent(dataset),))
        else:
            if self.mode == "averaged":
                networks, status = bootstrap_networks(dataset, self.learning)
                found = Imputed(values=None, status=status)
            else:
                found = learned(dataset, self.learning)
                networks = () if found.network is None else (found.network,)
            self._model = NetworkAverage.of(dataset, networks, self.learning)
        self.network = self._model.network
        self._found = replace(found, network=self.network)
        return self._found

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
        table = self._table(dataset)
        if table.is_complete:
            return (table,)
        if self.mode == "multiple" and isinstance(self._model, NetworkAverage):
            rng = np.random.default_rng(self.learning.seed)
            drawn = self._model.drawn(table, self.draws, rng)
            return tuple(table.complete(values) for values in drawn)
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
        table, network = self._table(dataset), self._network
        probabilities = self._model.posterior(table)
        if self._is_augmented(table):
            return replace(self._found, probabilities=probabilities, table=table)
        values = self._values(table, probabilities)
        found = Imputed(
            values=values,
            probabilities=probabilities,
            status=self._found.ended,
            table=table,
        )
        if self.mode in AVERAGING:
            return found
        order = [network.index(name) for name in table.names]
        column = {variable: k for k, variable in enumerate(order)}
        parents = tuple(tuple(column[p] for p in network.parents[v]) for v in order)
        score = total_score(
            table.complete(values), parents, self.learning.settled.score
        )
        return replace(found, parents=parents, network=network, score=score)

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
        names = tuple(name for name in dataset.names if name in network.names)
        if not names:
            raise unknown_columns(dataset.names, network.names)
        states = tuple(network.states[network.index(name)] for name in names)
        if (names, states) == (dataset.names, dataset.states):
            return dataset
        codes = aligned_codes(dataset, names, states)
        return replace(dataset, codes=codes, names=names, states=states)

    def _values(
        self, table: Dataset, probabilities: NDArray[np.float64] | None = None
    ) -> NDArray[np.int64]:
        """Return the state of each missing cell, those of a row jointly where the mode says so."""
        if self._found.values is not None and self._is_augmented(table):
            return self._found.values
        if self.mode in ("augmentation", "mpe") and isinstance(
            self._model, NetworkAverage
        ):
            return self._model.most_probable(table)
        return likeliest(
            self._model.posterior(table) if probabilities is None else probabilities
        )

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
        Completes a table. Of the second argument every method takes the seed and the time limit,
        and methods that learn a network take all of it.
    needs_scikit_learn
        Whether it is a method of scikit-learn.
    """

    impute: Callable[[Dataset, Learning], Imputed]
    needs_scikit_learn: bool = False

    def __call__(self, dataset: Dataset, how: Learning) -> Imputed:
        """Return the values of a table's missing cells."""
        return self.impute(dataset, how)


def _by_augmentation(learner: str, dataset: Dataset, how: Learning) -> Imputed:
    return augmented(dataset, replace(how, learner=cast(Learner, learner)))


def _most_frequent(dataset: Dataset, how: Learning) -> Imputed:
    found = _by_augmentation("mode", dataset, how)
    return replace(
        found, probabilities=averaged_posterior([independent(dataset)], dataset)
    )


def _by_network(mode: Mode, dataset: Dataset, how: Learning) -> Imputed:
    imputer = Imputer(mode, replace(how, learner=None) if mode in AVERAGING else how)
    found = imputer.learn(dataset)
    return found if found.network is None else imputer.imputed(dataset)


def _by_structural_em(learner: Learner, dataset: Dataset, how: Learning) -> Imputed:
    return _by_network("mpe", dataset, replace(how, learner=learner))


_imputer = partial(Method, needs_scikit_learn=True)

METHODS: dict[str, Method] = {
    "branching": Method(partial(_by_augmentation, "branching")),
    "exact": Method(partial(_by_augmentation, "exact")),
    "gadget": Method(partial(_by_augmentation, "gadget")),
    "t-local": Method(partial(_by_augmentation, "t-local")),
    "mode": Method(_most_frequent),
    "structural-em": Method(partial(_by_structural_em, "structural-em")),
    "structural-em-hard": Method(partial(_by_structural_em, "structural-em-hard")),
    "stacked": Method(partial(_by_network, "stacked")),
    "posterior": Method(partial(_by_network, "posterior")),
    "mpe": Method(partial(_by_network, "mpe")),
    "averaged": Method(partial(_by_network, "averaged")),
    "knn": _imputer(scikit_learn.impute_knn),
    "iterative": _imputer(scikit_learn.impute_iterative),
    "logistic": _imputer(scikit_learn.impute_logistic),
    "mice": _imputer(scikit_learn.impute_mice),
    "forest": _imputer(scikit_learn.impute_forest),
    "boosted": _imputer(scikit_learn.impute_boosted),
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
    imputed = METHODS[method](dataset, Learning() if learning is None else learning)
    return imputed if imputed.table is not None else replace(imputed, table=dataset)
