"""One imputer with ``fit`` and ``transform`` for all ways of completing a table by own models."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments, refusal
from exactlearn._runtime.display import Displayed
from exactlearn.augmentation import METHODS
from exactlearn.augmentation.incumbent import total_score
from exactlearn.bayesnet.indicators import fit_with_indicators, without_indicators
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import draw_completions, most_probable_completion
from exactlearn.data.dataset import Dataset, DatasetLike, aligned_codes
from exactlearn.data.missingness_graph import IGNORABLE, MissingnessGraph
from exactlearn.errors import OptionError, did_you_mean
from exactlearn.imputation.imputed import Imputed, likeliest
from exactlearn.imputation.learning import (
    Learning,
    averaged_posterior,
    bootstrap_networks,
    independent,
    learned,
)
from exactlearn.imputation.mechanism import learned_missingness_graph
from exactlearn.imputation.stacking import StackedModel, fit_stacked

Mode = Literal["stacked", "averaged", "posterior", "mpe", "multiple", "augmentation", "mode"]

MODES: tuple[Mode, ...] = get_args(Mode)

AVERAGING: tuple[Mode, ...] = ("stacked", "averaged")
"""Modes that average over several networks."""


@dataclass(frozen=True, eq=False)
class ImputationModel:
    """Networks that give the distribution of missing cells, with indicators of missingness.

    Parameters
    ----------
    networks
        Networks to average over; a joint completion comes from the first one.
    missingness
        What the missing cells depend on, of the variables whose cells depend on something; their
        indicators are the last variables of the networks.
    """

    networks: tuple[BayesianNetwork, ...] = ()
    missingness: MissingnessGraph = IGNORABLE

    @classmethod
    def of(
        cls, dataset: Dataset, networks: tuple[BayesianNetwork, ...], how: Learning
    ) -> "ImputationModel":
        """Learn the missingness graph, if wanted, and refit the networks with it.

        Parameters
        ----------
        dataset
            The table that the networks were learned from.
        networks
            Networks learned without indicators.
        how
            Whether to learn the missingness graph, and the pseudo-count of parameters.
        """
        if how.missingness != "learned" or not networks:
            return cls(networks)
        learned = learned_missingness_graph(dataset, networks)
        graph = learned.restricted([name for name, causes in learned.causes.items() if causes])
        if not graph.causes:
            return cls(networks)
        fitted = (
            fit_with_indicators(dataset, known.parents, graph, smoothing=how.smoothing).model
            for known in networks
        )
        return cls(tuple(fitted), graph)

    @property
    def network(self) -> BayesianNetwork | None:
        """The first network without its missingness indicators, which are its last variables."""
        return without_indicators(self.networks[0], self.missingness) if self.networks else None

    def posterior(self, table: Dataset) -> NDArray[np.float64]:
        """Return the mean distribution of each missing cell, as `averaged_posterior`."""
        return averaged_posterior(self.networks, self.missingness.extended(table))

    def most_probable(self, table: Dataset) -> NDArray[np.int64]:
        """Return the jointly most probable states of each row's missing cells."""
        return most_probable_completion(self.networks[0], self.missingness.extended(table))

    def drawn(self, table: Dataset, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw completions from the joint posterior of each row, shape (draws, cells)."""
        return draw_completions(self.networks[0], self.missingness.extended(table), draws, rng)


@dataclass(eq=False, repr=False)
class Imputer(Displayed, shown="mode learning network draws"):
    """Complete tables by a model that is learned from an incomplete one, or by a given network.

    Parameters
    ----------
    mode
        ``stacked``: each cell gets its most probable state by averaged networks, logistic
        regressions, a forest and a mixture together (:mod:`exactlearn.imputation.stacking`).
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
    0    2     dysp   yes          0.9
    1   12     dysp    no          0.8
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
    _learned: tuple[Dataset, Imputed] | None = field(default=None, init=False, repr=False)
    _model: ImputationModel = field(default_factory=ImputationModel, init=False, repr=False)
    _stack: StackedModel | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse options that contradict each other."""
        if not isinstance(self.mode, str):
            raise refusal(
                "mode", "the name of a mode", self.mode, "pass a table to fit: Imputer().fit(table)"
            )
        if self.mode not in MODES:
            raise OptionError(f"there is no mode {self.mode!r}{did_you_mean(self.mode, MODES)}")
        if self.draws < 1:
            raise OptionError(f"draws must be at least 1, found {self.draws}")
        if self.mode not in ("posterior", "mpe", "multiple") and self.network is not None:
            raise OptionError(
                f"the mode '{self.mode}' learns from the table; a given network is for "
                "'posterior', 'mpe' and 'multiple'"
            )
        if self.mode in AVERAGING and self.learning.learner is not None:
            raise OptionError(
                f"the mode '{self.mode}' learns networks from drawn completions; leave the learner "
                "out"
            )
        if self.mode == "augmentation" and self.learning.learner is None:
            self.learning = self.learning.learned_by("t-local")
        if self.mode == "augmentation" and self.learning.learner not in METHODS:
            raise OptionError(
                f"the mode 'augmentation' needs one of the learners {', '.join(METHODS)}, found "
                f"'{self.learning.learner}'; with that one, 'mpe' gives its completion"
            )
        if self.learning.missingness == "learned" and (
            self.mode in ("augmentation", "mode") or self.network is not None
        ):
            raise OptionError(
                "why cells are missing is learned beside a network that is learned, for the modes "
                "'stacked', 'averaged', 'posterior', 'mpe' and 'multiple'; leave missingness "
                "'ignored'"
            )
        self._given = self.network is not None
        if self.network is not None:
            self._model = ImputationModel((self.network,))

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
        if self._given or self.mode == "mode":
            if not self._given:
                self._model = ImputationModel((independent(dataset),))
            self.network = self._model.network
            return Imputed(values=None, network=self.network)
        if self.mode == "stacked":
            return self._learn_stack(dataset)
        found, networks = self._find(dataset)
        self._model = ImputationModel.of(dataset, networks, self.learning)
        self.network = self._model.network
        found = replace(found, network=self.network)
        self._learned = (dataset, found)
        return found

    def _learn_stack(self, dataset: Dataset) -> Imputed:
        """Fit the pool; its first network stands for the variables and states."""
        self._stack, status = fit_stacked(dataset, self.learning)
        self.network = self._stack.network or independent(dataset)
        found = Imputed(values=None, network=self.network, status=status)
        self._learned = (dataset, found)
        return found

    @checked_arguments()
    def transform(self, dataset: DatasetLike) -> Dataset:
        """Return a table with its missing cells filled; the first one of several.

        Parameters
        ----------
        dataset
            Table with the network's variables, matched by name as their states are. A table in
            which a variable lacks states of the network gets them.

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
        if self.mode == "multiple":
            rng = np.random.default_rng(self.learning.seed)
            drawn = self._model.drawn(table, self.draws, rng)
            return tuple(table.complete(values) for values in drawn)
        values = self._joint_values(table)
        if values is None:
            values = likeliest(self._posterior(table))
        return (table.complete(values),)

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
        probabilities = self._posterior(table)
        joint = self._joint(table)
        if joint is not None:
            return replace(joint, probabilities=probabilities)
        values = self._joint_values(table)
        if values is None:
            values = likeliest(probabilities)
        parents = _parents_among(network, table.names)
        status = "heuristic" if self._learned is None else self._learned[1].ended
        if self.mode in AVERAGING:
            return Imputed(
                values=values,
                probabilities=probabilities,
                weights={} if self._stack is None else self._stack.named_weights(table.names),
                status=status,
            )
        return Imputed(
            values=values,
            probabilities=probabilities,
            parents=parents,
            network=network,
            score=total_score(table.complete(values), parents, self.learning.score),
            status=status,
        )

    @property
    def _network(self) -> BayesianNetwork:
        if self.network is None:
            raise OptionError("the imputer has no network yet: call fit first, or give it one")
        return self.network

    def _posterior(self, table: Dataset) -> NDArray[np.float64]:
        """Return the distribution of each missing cell of a table in the network's states."""
        if self._stack is None:
            return self._model.posterior(table)
        network = self._network
        order = [table.names.index(name) for name in network.names]
        ordered = Dataset(table.codes[:, order], network.names, network.states, table.weights)
        found = self._stack.posterior(ordered)
        # The cells of a row come in the order of the columns.
        rows, columns = ordered.missing_cells.T
        return found[np.lexsort((np.array(order)[columns], rows))]

    def _table(self, dataset: Dataset) -> Dataset:
        """Return a table in the network's states; itself, where they are the same."""
        network = self._network
        states = tuple(network.states[network.index(name)] for name in dataset.names)
        if states == dataset.states:
            return dataset
        return replace(
            dataset, codes=aligned_codes(dataset, dataset.names, states), states=states, edges={}
        )

    def _find(self, dataset: Dataset) -> tuple[Imputed, tuple[BayesianNetwork, ...]]:
        """Return what was learned, and the networks to average over."""
        if self.mode != "averaged":
            found = learned(dataset, self.learning)
            return found, () if found.network is None else (found.network,)
        networks, status = bootstrap_networks(dataset, self.learning)
        first = networks[0] if networks else None
        return Imputed(values=None, network=first, status=status), networks

    def _joint_values(self, table: Dataset) -> NDArray[np.int64] | None:
        """Return the values of the modes that complete a row jointly; ``None`` for other modes."""
        joint = self._joint(table)
        if joint is not None:
            return joint.values
        if self.mode in ("augmentation", "mpe"):
            return self._model.most_probable(table)
        return None

    def _joint(self, table: Dataset) -> Imputed | None:
        """Return the completion by augmentation, if this is the table it was learned from."""
        if self.mode != "augmentation" or self._learned is None:
            return None
        fitted, found = self._learned
        same = table.names == fitted.names and np.array_equal(table.codes, fitted.codes)
        return found if same else None


def _parents_among(network: BayesianNetwork, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """Return the network's parents by the columns of a table."""
    order = [network.index(name) for name in names]
    column = {variable: k for k, variable in enumerate(order)}
    return tuple(tuple(column[p] for p in network.parents[v]) for v in order)
