r"""Support of each arc by the data: shares of bootstrap samples whose networks have it.

A network is learnt from each of some tables of as many rows, drawn with replacement (Friedman,
Goldszmidt and Wyner 1999, "Data analysis with Bayesian networks: a bootstrap approach"). Its class
counts, not the one member that a learner returns: a compelled arc counts for its direction, a
reversible one by half for each.

Which edges are significant is decided as by Scutari and Nagarajan (2013, "Identifying significant
edges in graphical models of molecular networks"): with :math:`F` the empirical distribution of the
edges' strengths over all pairs of variables, the share :math:`t` of pairs without an edge is the
one that minimises

.. math:: L_1(t) = \int_0^1 |F(x) - t| \, dx,

and an edge is significant when its strength is larger than :math:`F^{-1}(t)`. This integral is the
mean distance of t from :math:`F(X)` for uniform X, so it is least at the median of :math:`F(X)`,
and that is :math:`F(1/2)`, as F is monotone. So the significant edges are those of more than half
of the samples, and the threshold is the largest strength that is no more than a half.
Proofs: docs/theory/certainty.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import as_text
from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.control import SearchControl
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.variable_arguments import arcs_by_index, variable_index
from exactlearn.data.blocks import merge_rows
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.errors import ExactlearnError, OptionError
from exactlearn.evaluation.cross_validation import (
    Learner,
    learner_identity,
    named_learner,
)
from exactlearn.evaluation.study import Found, PlannedRun, Study
from exactlearn.graphs.dag import named_parents, strongest_dag
from exactlearn.graphs.equivalence import NamedGraph
from exactlearn.graphs.orientation import oriented_class
from exactlearn.graphs.partially_directed import PartiallyDirectedGraph
from exactlearn.structure.selection import limits_by_name

if TYPE_CHECKING:
    import pandas as pd

RECORD = "bootstrap.json"
"""The file, in its folder, of the samples that are done."""

KINDS = ("directed", "undirected")
"""Keys of the record of a sample: arcs and edges of its class, by name."""


@dataclass(frozen=True, eq=False, repr=False)
class ArcStrengths(
    ByValue, shown="variables=names replicates wanted unfinished threshold"
):
    """Shares of bootstrap samples whose networks have each arc.

    Parameters
    ----------
    names
        The variables.
    compelled
        Share of the samples in whose class all networks have the arc from the row's to the column's
        variable, shape (variables, variables).
    reversible
        Share of the samples in whose class networks have the arc in both directions; symmetric.
    replicates
        Number of the samples that count.
    wanted
        Number of samples that were wanted: more, after a limit, an interrupt or a failure.
    unfinished
        Number of the samples that count whose network is the best within a limit of time.
    failures
        Why networks of samples could not be learnt, each reason once.

    Examples
    --------
    >>> import exactlearn as el
    >>> asia = el.read_network("asia")
    >>> arcs = ArcStrengths.of(asia.names, [el.graphs.cpdag(asia.parents)])
    >>> arcs.strength("smoke", "lung"), arcs.edge_strength("smoke", "lung"), arcs.threshold
    (0.5, 1.0, 0.0)
    >>> arcs.averaged() == asia.structure
    True
    >>> arcs.strengths.shape, arcs.edges.shape, len(arcs.to_records())
    ((8, 8), (8, 8), 11)
    >>> sorted(arcs.to_dict())[:2]
    ['averaged', 'failures']
    >>> arcs.to_frame().iloc[:2, :3]
      parent   child  strength
    0    tub  either       1.0
    1   lung  either       1.0
    """

    names: tuple[str, ...]
    compelled: NDArray[np.float64]
    reversible: NDArray[np.float64]
    replicates: int
    wanted: int
    unfinished: int = 0
    failures: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, names: Sequence[str], graphs: Sequence[PartiallyDirectedGraph]
    ) -> "ArcStrengths":
        """Count the arcs of classes, given as CPDAGs, perhaps with more arcs directed.

        Examples
        --------
        >>> import exactlearn as el
        >>> classes = [el.graphs.cpdag([(), (0,)]), el.graphs.cpdag([(), ()])]
        >>> arcs = ArcStrengths.of(("a", "b"), classes)
        >>> arcs.strength("a", "b"), arcs.edge_strength("a", "b")
        (0.25, 0.5)
        """
        # The edges of a class stand once each, in either order.
        compelled = np.zeros((len(names), len(names)))
        one_way = np.zeros_like(compelled)
        for graph in graphs:
            for arc in graph.directed:
                compelled[arc] += 1
            for arc in graph.undirected:
                one_way[arc] += 1
        n = len(graphs)
        reversible = (one_way + one_way.T) / max(1, n)
        return cls(tuple(names), compelled / max(1, n), reversible, n, n)

    @property
    def strengths(self) -> NDArray[np.float64]:
        """Share of the samples with each arc, a reversible one by half, shape as ``compelled``."""
        return self.compelled + self.reversible / 2

    @property
    def edges(self) -> NDArray[np.float64]:
        """Share of the samples with an arc in either direction, symmetric."""
        return self.compelled + self.compelled.T + self.reversible

    def strength(self, tail: str | int, head: str | int) -> float:
        """Return the share of the samples that have an arc, a reversible one counted by half."""
        return float(self.strengths[self._index(tail), self._index(head)])

    def edge_strength(self, one: str | int, other: str | int) -> float:
        """Return the share of the samples that have an arc in either direction."""
        return float(self.edges[self._index(one), self._index(other)])

    @cached_property
    def threshold(self) -> float:
        """The strength above which an edge is significant, see the module's description."""
        pairs = self.edges[np.triu_indices(len(self.names), 1)]
        return float(pairs[pairs <= 0.5].max(initial=0.0))

    def averaged(self, threshold: float | None = None) -> NamedGraph:
        """Return the averaged network: a DAG of the edges of more than the threshold.

        Arcs are added by falling strength, equal ones in the order of the variables. One that would
        close a directed cycle is taken the other way, if any sample has it so, and else left out:
        no direction is taken that the learner's constraints forbid.

        Parameters
        ----------
        threshold
            Strength of an edge, from 0 to 1; ``self.threshold`` when left out.

        Examples
        --------
        >>> import exactlearn as el
        >>> ArcStrengths.of(("a", "b"), [el.graphs.cpdag([(), (0,)])]).averaged().arcs
        (('a', 'b'),)
        """
        if threshold is None:
            threshold = self.threshold
        parents = strongest_dag(self.strengths, self.edges > threshold)
        return NamedGraph.of(self.names, parents)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one record for each row of :meth:`to_frame`."""
        return cast("list[dict[str, Any]]", self.to_frame().to_dict("records"))

    def to_frame(self) -> "pd.DataFrame":
        """Return a table with one row for each arc that any sample has, the strongest edges first.

        Columns are ``parent``, ``child``, ``strength``, ``edge_strength``, ``direction`` (the share
        of the edge's strength in this direction), ``compelled``, ``reversible`` and
        ``significant``.
        """
        import pandas as pd

        arcs = np.nonzero(self.strengths > 0)
        tails, heads = arcs
        strength = self.strengths[arcs]
        edge = self.edges[arcs]
        names = self.names
        columns = {
            "parent": [names[v] for v in tails],
            "child": [names[v] for v in heads],
            "strength": strength,
            "edge_strength": edge,
            "direction": strength / edge,
            "compelled": self.compelled[arcs],
            "reversible": self.reversible[arcs],
            "significant": edge > self.threshold,
        }
        # Strongest edges first, and the stronger direction of each.
        strongest_first = np.lexsort((-strength, -edge))
        return pd.DataFrame(columns).iloc[strongest_first].reset_index(drop=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON record but for the arcs."""
        return {
            "replicates": self.replicates,
            "wanted": self.wanted,
            "unfinished": self.unfinished,
            "threshold": self.threshold,
            "failures": list(self.failures),
            "averaged": named_parents(self.names, self.averaged().parents),
        }

    def _index(self, name: str | int) -> int:
        return variable_index(name, "variable", self.names)


@checked_arguments()
def bootstrap(
    dataset: DatasetLike,
    replicates: int = 200,
    *,
    learner: str | Learner = "exact",
    seed: int = 0,
    jobs: int = 1,
    folder: str | Path | None = None,
    time_limit: float | None = None,
    cluster: Any = None,
    tidy: bool = False,
    on_begin: Callable[[str], None] = lambda title: None,
    **options: Any,
) -> ArcStrengths:
    """Learn a network from each of some bootstrap samples, and count their arcs.

    Parameters
    ----------
    dataset
        Rows, with or without missing cells.
    replicates
        Number of samples, at least 1.
    learner
        A name in :data:`exactlearn.evaluation.cross_validation.LEARNERS`, or a function of a table.
        A function returns a graph, or what has ``parents``; a
        `PartiallyDirectedGraph` counts as it is, of others the CPDAG, with the arcs directed that
        follow from required and forbidden arcs and tiers of ``learn``. For several processes it
        must pickle.
    seed
        Sample k is drawn by a generator made from the seed and k, whatever the other samples are.
    jobs
        Number of processes; the result does not depend on it.
    folder
        Where what is done is kept, so that a later call with the same table, seed and learner goes
        on. A function is known by its name and its arguments, if it is a ``functools.partial``.
    time_limit
        Seconds for all samples, shared out evenly.
    cluster
        A Dask cluster in place of processes, as for :class:`~exactlearn.evaluation.study.Study`.
    tidy
        For a frame or an array: as for :meth:`Dataset.from_frame`.
    on_begin
        Called with a line of text for each sample.
    options
        Passed on to the learner: of :func:`exactlearn.learn` where it is ``exact`` or ``bic``, such
        as ``required``, ``forbidden``, ``tiers``, ``max_parents`` and ``ess``.

    Raises
    ------
    OptionError
        When there is no sample, no learner of that name, no variable that an arc names, or ``ess``
        or ``cell_weight`` is ``auto``: :func:`exactlearn.choose_ess` and
        :func:`exactlearn.learn` choose them for the table.
    ExactlearnError
        When no sample gave a network; says why.

    Examples
    --------
    >>> from exactlearn import read_dataset
    >>> from exactlearn.instances import locate
    >>> table = read_dataset(locate("cancer-mcar-complete", ".csv"))
    >>> arcs = bootstrap(table, 20)
    >>> arcs.edge_strength("Smoker", "Cancer") > arcs.threshold
    True
    >>> arcs = bootstrap(table, 5, forbidden=[("Cancer", "Smoker")], max_parents=2)
    >>> arcs.strength("Cancer", "Smoker")
    0.0
    """
    # Equal rows together: a sample then is a draw of whole weights.
    if (dataset.row_weights % 1 == 0).all():
        dataset = merge_rows([dataset])
    options = limits_by_name(options, dataset.names)  # a sample may leave columns out
    if "auto" in (options.get("ess"), options.get("cell_weight")):
        # a sample repeats rows of folds
        raise OptionError(
            "ess or cell_weight 'auto': give the number that el.choose_ess chooses for the table, "
            "or el.learn for cell_weight"
        )
    if not callable(learner):
        learner = named_learner(as_text(learner, "learner"))
    # Each sample is a run, known by the learner with its options, the table and the seed.
    learn = partial(learner, **options)
    settings = f"{learner_identity(learn)} {dataset.digest} seed {seed}"
    runs = []
    for k in range(replicates):
        work = partial(_run, dataset, learn, seed, k)
        runs.append(PlannedRun(f"bootstrap sample {k}", work, settings))
    path = Path(folder, RECORD) if folder else None
    control = SearchControl.within(time_limit)
    study = Study(runs, path, jobs, cluster, on_begin, control)
    study.run()
    # Samples that failed leave out nothing of the others, unless all have failed.
    records = list(study.found())
    failures = tuple(dict.fromkeys(why for _, why in study.failures()))
    if failures and not records:
        raise ExactlearnError(f"no bootstrap sample gave a network: {failures[0]}")
    classes = [_class(record, dataset.names) for record in records]
    return replace(
        ArcStrengths.of(dataset.names, classes),
        wanted=replicates,
        unfinished=sum("unfinished" in record for record in records),
        failures=failures,
    )


def _run(dataset: Dataset, learn: Learner, seed: int, number: int) -> Found:
    """Learn from one sample; return the arcs and edges of the class.

    Raises
    ------
    OptionError
        When the learner's result is no graph, and has no parents.
    """
    learned = learn(dataset.resampled(np.random.default_rng((seed, number))))
    names = getattr(learned, "names", dataset.names)  # without a column, say
    if not isinstance(learned, PartiallyDirectedGraph):
        parents = getattr(learned, "parents", learned)
        if not isinstance(parents, Sequence):
            raise OptionError(
                f"the learner returned {learned!r}, which has no network: expected a graph, or"
                " what has the parents of each variable; give it more time, or another learner"
            )
        learned = oriented_class(parents, getattr(learned, "directions", ()))
    # By name: another sample may have other columns.
    record = {}
    for kind in KINDS:
        arcs = getattr(learned, kind)
        record[kind] = sorted((names[a], names[b]) for a, b in arcs)
    return record


def _class(record: Found, names: Sequence[str]) -> PartiallyDirectedGraph:
    """Return the class of a sample from its record."""
    arcs = {}
    for kind in KINDS:
        arcs[kind] = frozenset(arcs_by_index(record[kind], kind, names))
    return PartiallyDirectedGraph(len(names), **arcs)
