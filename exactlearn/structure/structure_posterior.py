"""The posterior over all networks as a result: arcs, classes, cells, predictions and effects."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments, named
from exactlearn._runtime.display import ByValue, for_counts
from exactlearn._runtime.number_arguments import NUMBERS
from exactlearn._runtime.variable_arguments import (
    ParentsLike,
    parents_by_index,
    variable_index,
)
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.unseen import Unseen
from exactlearn.errors import OptionError
from exactlearn.graphs.dag import named_parents, strongest_dag
from exactlearn.graphs.equivalence import NamedGraph, cpdag
from exactlearn.scoring.scores import Score
from exactlearn.structure.averaged_prediction import (
    NetworkMixture,
    Smoothing,
    effect_under,
    mixture_of,
)
from exactlearn.structure.completion_posterior import (
    CompletionAverage,
)
from exactlearn.structure.learned_counts import LearnedCounts
from exactlearn.structure.network_distribution import (
    ANCESTOR_ERROR,
    NetworkDistribution,
    SummedNetworks,
)

if TYPE_CHECKING:
    import pandas as pd

    from exactlearn.bayesnet.answers import Answer, Classification

MAX_CLASS = 10_000
"""Most networks of a Markov class whose probabilities are added up, in seconds."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class StructurePosterior(
    ByValue,
    shown="status=claim variables=names log_evidence best_probability error seconds",
):
    """The posterior over all networks of a table, or of a problem.

    Parameters
    ----------
    names
        The variables.
    networks
        The probability of each network.
    best
        Parents of each variable in the most probable network, by index; in that of the best score
        on average where completions are averaged over, the best found where networks are sampled.
    counts
        The counts of families with missing cells that scores are of; ``None`` where they are of the
        table itself.
    prior
        The name of the prior, or ``beliefs``.
    dataset, score
        The table and the score of its parent sets; ``None`` where a problem was given.
    learned
        The expected counts that the scores are of, where cells are missing.
    unlisted
        How many parent sets a given problem does not list, of those with at most as many parents as
        the largest that it lists: they count as impossible.
    left_out
        Columns that were kept out, with the reason.
    seconds
        Wall time of the sums.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("asia-mnar-complete")
    >>> posterior = el.posterior(table)
    >>> posterior.status, posterior.claim
    ('exact', 'exact')
    >>> posterior.best_probability < 1e-5, posterior.error < 1e-12
    (True, True)
    >>> lung, either = table.names.index("lung"), table.names.index("either")
    >>> matrices = posterior.arcs, posterior.edges, posterior.ancestors
    >>> [round(float(matrix[either, lung]), 2) for matrix in matrices]
    [0.44, 0.95, 0.47]
    >>> best = posterior.probability(posterior.best), posterior.class_probability(posterior.best)
    >>> best[0] == posterior.mass([posterior.best]), best[0] <= best[1]
    (True, True)
    >>> next(iter(posterior.parent_sets("lung").items()))[0]
    ()
    >>> round(posterior.log_evidence, 2), posterior.averaged(0.99).arcs
    (-217.93, (('bronc', 'dysp'),))
    >>> posterior.sample(1, seed=1)[0].kind, posterior.to_dict()["status"]
    ('dag', 'exact')
    >>> posterior.to_frame().iloc[0, :2].tolist()
    ['bronc', 'dysp']
    >>> posterior.ancestor_error == posterior.error
    True
    >>> el.query(posterior.mixture(100), {"smoke": "yes"}, "lung").evidence
    {'smoke': {'yes': 1.0}}
    >>> averaged = el.posterior(el.read_dataset("earthquake-mar"), max_parents=1)
    >>> averaged.claim, round(float(averaged.cells["probability"].iloc[0]), 2)
    ('exact over completions', 0.99)
    """

    names: tuple[str, ...]
    networks: NetworkDistribution
    best: tuple[tuple[int, ...], ...]
    counts: str | None = None
    prior: str = "uniform"
    dataset: Dataset | None = field(default=None, compare=False)
    score: Score | None = field(default=None, compare=False)
    learned: LearnedCounts | None = field(default=None, compare=False)
    unlisted: int = 0
    left_out: Mapping[str, str] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)

    @property
    def status(self) -> str:
        """The way to the answer.

        ``exact``: all networks are summed, up to :attr:`error`. ``sampled``: by Markov chains, with
        standard errors; ``interrupted`` if these were stopped. ``exact over completions`` and
        ``sampled over completions``: the same of networks and values of missing cells together.
        """
        return self.networks.status

    @property
    def claim(self) -> str:
        """The status, with the counts or the parent sets that it is for, where not for all."""
        listed = " over the listed parent sets" if self.unlisted else ""
        return self.status + for_counts(self.counts) + listed

    @property
    def log_evidence(self) -> float:
        """Logarithm of the sum of ``exp(score)`` over all networks, by the prior's weights.

        It is ``nan`` where networks are sampled.
        """
        return self.networks.log_evidence

    @property
    def error(self) -> float:
        """Bound on the error of a probability by rounding; sampled, the largest standard error."""
        return self.networks.error

    @property
    def arcs(self) -> NDArray[np.float64]:
        """Probability of each arc ``[parent, child]``, shape (n, n)."""
        return self.networks.arcs

    @property
    def edges(self) -> NDArray[np.float64]:
        """Probability of an arc in either direction, symmetric, shape (n, n)."""
        return self.arcs + self.arcs.T

    @property
    def ancestors(self) -> NDArray[np.float64]:
        """Probability that ``[ancestor, descendant]`` are such, shape (n, n).

        Exact sums give it for variables that may form cycles with each other; others are counted in
        2,000 networks drawn from the posterior, with a standard error of at most .011. Where
        networks are sampled, all are counted in them (:attr:`ancestor_error`).
        """
        return self.networks.ancestors

    @property
    def ancestor_error(self) -> float:
        """Largest error of the probability of an ancestor.

        It is a standard error where networks are sampled, or counted since variables of several
        parts cannot form cycles with each other.
        """
        if "ancestor_error" in self.networks.diagnostics:
            errors = self.networks.diagnostics["ancestor_error"]
            return float(errors.max(initial=0.0))
        if not isinstance(self.networks, SummedNetworks):
            return self.error
        are_apart = np.isnan(self.networks.selections.ancestors).any()
        return ANCESTOR_ERROR if are_apart else self.error

    @property
    def best_probability(self) -> float:
        """Probability of :attr:`best`."""
        return self.networks.probability(self.best)

    def parent_sets(self, variable: str | int) -> dict[tuple[str, ...], float]:
        """Return the parent sets of a variable with their probabilities, the largest first."""
        index = variable_index(variable, "variable", self.names)
        by_index = self.networks.parent_sets(index)
        ordered = sorted(by_index, key=by_index.__getitem__, reverse=True)
        by_name = {}
        for parents in ordered:
            names = tuple(self.names[p] for p in parents)
            by_name[names] = by_index[parents]
        return by_name

    def probability(self, graph: ParentsLike) -> float:
        """Return the probability of one network.

        Parameters
        ----------
        graph
            The network: parents by name or index, arcs, or what has ``parents``.
        """
        parents = parents_by_index(graph, "graph", self.names)
        return self.networks.probability(parents)

    def class_probability(self, graph: ParentsLike) -> float:
        """Return the probability of the Markov class of a network.

        Raises
        ------
        OptionError
            When the class has more than 10,000 networks.
        """
        probability = self._class_probability(
            parents_by_index(graph, "graph", self.names)
        )
        if probability is None:
            raise OptionError(
                f"graph: its Markov class has more than {MAX_CLASS:,} networks"
            )
        return probability

    def mass(self, networks: Iterable[ParentsLike]) -> float:
        """Return the probability that all different networks of a list hold together."""
        distinct = set()
        for network in networks:
            parents = parents_by_index(network, "networks", self.names)
            distinct.add(tuple(tuple(sorted(family)) for family in parents))
        return self.networks.mass(list(distinct)) if distinct else 0.0

    @checked_arguments()
    def sample(self, n: int = 1, seed: int = 0) -> list[NamedGraph]:
        """Return networks drawn independently from the posterior.

        Parameters
        ----------
        n
            How many.
        seed
            Seed of the draws.
        """
        drawn = self.networks.draw(n, np.random.default_rng(seed))
        return [NamedGraph.of(self.names, parents) for parents in drawn]

    @checked_arguments()
    def averaged(self, threshold: float = 0.5) -> NamedGraph:
        """Return the network of the arcs whose edge is more probable than a threshold.

        The more probable direction of an edge comes first; an arc that would close a directed cycle
        with more probable ones is taken the other way, or left out.
        """
        parents = strongest_dag(self.arcs, self.edges > threshold)
        return NamedGraph.of(self.names, parents)

    @checked_arguments(smoothing=NUMBERS["smoothing"].or_word("bdeu", None))
    def mixture(
        self, n: int = 1_000, *, smoothing: Smoothing = None, seed: int = 0
    ) -> NetworkMixture:
        """Return the average over networks as a model: of drawn ones, with their parameters.

        :func:`exactlearn.query`, :func:`exactlearn.query_rows` and :func:`exactlearn.classify` take
        it, and the posterior itself in place of the one with the defaults.

        Parameters
        ----------
        n
            How many networks are drawn. With 1,000 the log-likelihood of rows differs by less than
            .005 nats a row from one seed to another (``benchmarks/averaged_prediction.py``).
        smoothing
            Pseudo-count of each cell of a family; ``"bdeu"``: that of the score, which is the
            equivalent sample size over the number of cells; by default the one by which the most
            probable network predicts held-out rows best (:func:`exactlearn.choose_smoothing`).
        seed
            Seed of the draws.

        Raises
        ------
        OptionError
            When there are no rows to estimate parameters from, or no counts of incomplete ones; or
            when ``"bdeu"`` is asked for under another score.
        """
        return mixture_of(self, n, smoothing, seed)

    @cached_property
    def _mixture(self) -> NetworkMixture:
        return self.mixture()

    def log_likelihood_rows(
        self, dataset: DatasetLike, *, unseen: Unseen = "refuse"
    ) -> NDArray[np.float64]:
        """Return the logarithm of the mean probability of each row's observed cells.

        The mean is over 1,000 networks drawn with a fixed seed, as :meth:`mixture` has it.

        Parameters
        ----------
        dataset, unseen
            As for :meth:`exactlearn.BayesianNetwork.log_likelihood_rows`.

        Returns
        -------
        log_likelihoods
            In nats, shape (rows,).

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("cancer-mcar-complete")
        >>> el.posterior(table).log_likelihood_rows(table)[:2].round(2).tolist()
        [-3.75, -3.96]
        """
        return self._mixture.log_likelihood_rows(dataset, unseen=unseen)

    def query(
        self, evidence: Any = None, targets: str | Sequence[str] | None = None
    ) -> "Answer":
        """Return the posterior marginals of the targets, averaged over networks.

        Parameters
        ----------
        evidence, targets
            As for :func:`exactlearn.query`, which answers by :meth:`mixture`.

        Examples
        --------
        >>> import exactlearn as el
        >>> posterior = el.posterior(el.read_dataset("cancer-mcar-complete"))
        >>> posterior.query({"Cancer": "True"}, "Xray")
        Answer(Xray: negative 0.3584, positive 0.6416; P(evidence) 0.006557)
        """
        from exactlearn import query  # of a package above

        return query(self._mixture, evidence, targets)

    def classify(self, variable: str, dataset: DatasetLike) -> "Classification":
        """Return the posterior of one variable for each row, averaged over networks.

        Parameters
        ----------
        variable
            The class.
        dataset
            As for :func:`exactlearn.classify`, which answers by :meth:`mixture`.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("cancer-mcar-complete")
        >>> el.posterior(table).classify("Dyspnoea", table).accuracy > 0.5
        True
        """
        from exactlearn import classify  # of a package above

        return classify(self._mixture, dataset, variable)

    @checked_arguments(cause=named(variable_index), outcome=named(variable_index))
    def effect(
        self, cause: str | int, outcome: str | int, *, n: int = 1_000, seed: int = 0
    ) -> "pd.DataFrame":
        """Return the distribution of one variable when another is set, with its uncertainty.

        P(outcome | do(cause)) is computed in networks drawn from the posterior, each with
        parameters drawn from theirs under the score's prior. Arcs are taken as causes, and hidden
        common causes are assumed away: the interval tells of the uncertainty about networks and
        parameters, not of that assumption.

        Parameters
        ----------
        cause
            The variable that is set to each of its states.
        outcome
            The variable whose distribution follows.
        n
            How many networks are drawn.
        seed
            Seed of the draws.

        Returns
        -------
        frame
            For each state of the ``cause`` and of the ``outcome`` the ``mean`` of the probability,
            and the ends ``lower`` and ``upper`` of its central interval of 90 %.

        Raises
        ------
        OptionError
            When there are no rows to estimate parameters from, no counts of incomplete ones, or the
            score is not BDeu; or when both variables are the same.

        Examples
        --------
        >>> import exactlearn as el
        >>> posterior = el.posterior(el.read_dataset("cancer-mcar-complete"))
        >>> posterior.effect("Smoker", "Cancer", n=200).columns.tolist()
        ['cause', 'outcome', 'mean', 'lower', 'upper']
        """
        return effect_under(self, int(cause), int(outcome), n, seed)

    def to_frame(self) -> "pd.DataFrame":
        """Return all arcs as a pandas frame, the most probable first.

        Columns are ``parent``, ``child``, ``probability``, ``edge`` (of an arc in either direction)
        and ``ancestor`` (that the parent is an ancestor of the child); where networks are sampled,
        also ``error`` (standard error of the probability), ``r_hat`` and ``effective_size`` of it,
        and ``ancestor_error``.
        """
        import pandas as pd

        pairs = np.argwhere(~np.eye(len(self.names), dtype=bool))
        order = np.argsort(-self.arcs[*pairs.T], kind="stable")
        parent, child = pairs[order].T
        columns = {
            "parent": [self.names[v] for v in parent],
            "child": [self.names[v] for v in child],
            "probability": self.arcs[parent, child],
            "edge": self.edges[parent, child],
            "ancestor": self.ancestors[parent, child],
        }
        for name, figures in self.networks.diagnostics.items():
            columns[name] = figures[parent, child]
        return pd.DataFrame(columns)

    @property
    def cells(self) -> "pd.DataFrame":
        """Probability of each value of each missing cell, averaged over networks and completions.

        Columns are ``row``, ``variable``, ``value`` and ``probability``; where completions are
        sampled, also ``error``, the standard error.

        Raises
        ------
        OptionError
            When the posterior is no average over completions.
        """
        import pandas as pd

        if not isinstance(self.networks, CompletionAverage):
            raise OptionError(
                "cells: they have probabilities where el.posterior(table, missing='average') has"
                " averaged over the completions of an incomplete table"
            )
        dataset = self.networks.families.dataset
        variables = dataset.missing_cells[:, 1]
        frames = []
        figures = self.networks.cell_figures
        for state in range(dataset.cardinalities.max()):
            has_state = dataset.cardinalities[variables] > state
            frame = dataset.completion_frame(has_state * state)
            columns = {name: figure[:, state] for name, figure in figures.items()}
            frames.append(frame.assign(**columns)[has_state])
        return pd.concat(frames).sort_index(kind="stable", ignore_index=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the result for a record."""
        frame = self.to_frame()

        def records(
            rows: "pd.DataFrame", column: str, *figures: str
        ) -> list[dict[Any, Any]]:
            names = {column: "probability", "ancestor_error": "error"}
            columns = [
                "parent",
                "child",
                column,
                *frame.columns.intersection([*figures]),
            ]
            return rows[columns].rename(columns=names).to_dict("records")

        # An edge is a pair without direction: it is listed once.
        place = {name: v for v, name in enumerate(self.names)}
        is_first = frame["parent"].map(place) < frame["child"].map(place)
        evidence = {"log_evidence": self.log_evidence}
        record = {
            "status": self.status,
            **({} if isnan(self.log_evidence) else evidence),
            "error": self.error,
            "ancestor_error": self.ancestor_error,
            "best_probability": self.best_probability,
            "class_probability": self._class_probability(self.best),
            "parents": named_parents(self.names, self.best),
            "averaged": named_parents(self.names, self.averaged().parents),
            "prior": self.prior,
            "counts": self.counts,
            "unlisted": self.unlisted,
            "arcs": records(frame, "probability", "error", "r_hat", "effective_size"),
            "edges": records(frame[is_first], "edge"),
            "ancestors": records(frame, "ancestor", "ancestor_error"),
            "left_out": dict(self.left_out),
            "seconds": self.seconds,
        }
        if isinstance(self.networks, CompletionAverage):
            record["cells"] = self.cells.to_dict("records")
        return record

    def _class_probability(self, parents: Sequence[Sequence[int]]) -> float | None:
        """Return the probability of a network's Markov class; ``None`` if that is too large."""
        markov_class = cpdag(parents)
        if markov_class.size > MAX_CLASS:
            return None
        return self.networks.mass(list(markov_class.members()))
