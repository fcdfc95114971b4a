"""Smaller decision graphs that lose little: a sequence of merges, and what each costs exactly.

Two nodes of a variable with the same successors can become one, whose distribution is the mean of
theirs, weighted by how often each is reached (THESIS, 4.46). The other nodes stay as they are, so
the Kullback-Leibler divergence of the merged graph from the original one grows by

    sum over the two of reach * KL(own distribution || mean)         (THESIS, 4.47 and 4.48)

whatever was merged before (theorem *Losses of merges add up*, docs/theory/decision_graphs.md).
Merged children give parents equal successors, so the sequence goes on towards one node per
variable. The next merge is always the one with the smallest loss per cell of effective size that it
saves. Reach is the probability of a node under the graph, or the share of a data set's records
(THESIS, Algorithm 4.18; the loss is then that of the log-likelihood per record at its maximum).
"""

from dataclasses import replace
from heapq import heappop, heappush
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from exactlearn._runtime.control import UNLIMITED, SearchControl
from exactlearn.errors import TooLargeError
from exactlearn.pdg.inference.flows import node_probabilities
from exactlearn.pdg.model.decision_graph import DecisionGraph

MAX_PAIRS = 1_000_000_000
"""Most pairs of nodes of one variable, all variables together, that are compared to begin with."""


class MergeSequence:
    """The merges of a graph, cheapest first.

    Parameters
    ----------
    graph
        The original graph.
    masses
        Reach times parameter for each node and state, laid out as the graph's parameters; left
        out, those of the graph's own distribution. A node without mass is never merged.
    cells
        What a node of each variable counts for when losses are compared per cell, shape
        (variables,); left out, its effective size.
    labels
        Of the nodes, shape (nodes,): those of different labels merge only after `join_labels`.
        Nodes of a variable with one label have the same successors. Left out, all have one label.

    Raises
    ------
    TooLargeError
        If some variable has too many nodes to compare all pairs.
    """

    def __init__(
        self,
        graph: DecisionGraph,
        masses: NDArray[np.float64] | None = None,
        cells: NDArray[np.int64] | None = None,
        labels: NDArray[np.integer] | None = None,
    ) -> None:
        pairs = int((graph.node_counts.astype(float) ** 2).sum())
        if pairs > MAX_PAIRS:
            raise TooLargeError(
                f"{pairs:,} pairs of nodes to compare, the limit is {MAX_PAIRS:,}: collapse the"
                " nodes that no record reaches first, or compile over a smaller forest"
            )
        if masses is None:
            masses = node_probabilities(graph)
        self.graph = graph
        self.loss = 0.0
        # Masses of each node, a row a node, with zeros behind the last state.
        self._n_states = np.diff(graph.parameter_offsets)
        self._is_state = np.arange(self._n_states.max()) < self._n_states[:, None]
        self._mass = np.zeros(self._is_state.shape)
        self._mass[self._is_state] = masses
        self._information = information(self._mass)
        # The successors of each node, one after the other, and its predecessors.
        self._successors = graph.successors.copy()
        self._below = np.split(self._successors, graph.successor_offsets[1:-1])
        self._above: list[set[int]] = [set() for _ in range(graph.n_nodes)]
        for node, below in enumerate(self._below):
            for child in set(below.tolist()):
                self._above[child].add(node)
        if cells is None:
            cells = graph.cardinalities * np.maximum(1, graph.child_counts)
        self._variable = graph.variable.tolist()
        self._cells = cells[graph.variable].tolist()
        self._labels = [0] * graph.n_nodes if labels is None else labels.tolist()
        # How often each node has changed, -1 where it was merged; and into which earlier one.
        self._version = [0] * graph.n_nodes
        self._into = np.arange(graph.n_nodes)
        self._compare()

    def _compare(self) -> None:
        """Queue the cheapest merge of each node."""
        self._alike: dict[tuple[int, int, bytes], set[int]] = {}
        self._queue: list[tuple[float, float, int, int, int, int]] = []
        for node in np.flatnonzero(self._mass.any(axis=1)).tolist():
            if self._version[node] >= 0:
                self._alike.setdefault(self._key(node), set()).add(node)
        for group in self._alike.values():
            for node in sorted(group):
                self._offer(node)

    def next_loss(self) -> tuple[float, float]:
        """Return the loss of the next merge, and that per cell saved; infinite if there is none."""
        while self._queue:
            rate, loss, node, partner, version, partner_version = self._queue[0]
            is_current = self._version[node] == version
            if is_current and self._version[partner] == partner_version:
                return loss, rate
            heappop(self._queue)
            if is_current:
                self._offer(node)
        return inf, inf

    def merge(self) -> None:
        """Make the next merge, which there must be."""
        self.next_loss()
        _, _, node, partner, _, _ = heappop(self._queue)
        self._join(min(node, partner), max(node, partner))

    def join_labels(self, rate: float) -> None:
        """Let nodes of different labels merge, and merge those of one label that do not pay.

        Parameters
        ----------
        rate
            The loss that a cell of size must save.
        """
        groups = [sorted(group) for group in self._alike.values() if len(group) > 1]
        for nodes in groups:
            joined = information(self._mass[nodes].sum(axis=0))
            loss = self._information[nodes].sum() - joined
            if loss <= rate * self._cells[nodes[0]] * (len(nodes) - 1) + 1e-9:
                for node in nodes[1:]:
                    self._join(nodes[0], node)
        self._labels = [0] * len(self._labels)
        self._compare()

    def _join(self, keep: int, gone: int) -> None:
        """Merge a node into another one with the same successors."""
        self._alike[self._key(gone)].discard(gone)
        apart = self._information[keep] + self._information[gone]
        self._mass[keep] += self._mass[gone]
        self._information[keep] = information(self._mass[keep])
        self.loss += max(0.0, float(apart - self._information[keep]))
        self._version[gone] = -1
        self._into[gone] = keep
        self._redirect(gone, keep)
        self._renew(keep)

    def merge_until(
        self,
        *,
        loss: float = inf,
        rate: float = inf,
        control: SearchControl = UNLIMITED,
    ) -> None:
        """Merge while the total loss and each merge's loss per cell saved are within limits.

        Both are in the unit of ``loss``: by records, those of the log-likelihood per record.

        No other merge is made once the ``control`` is over.
        """
        while not control.is_over:
            next_loss, next_rate = self.next_loss()
            if next_loss == inf or self.loss + next_loss > loss or next_rate > rate:
                break
            self.merge()

    def merged(self) -> DecisionGraph:
        """Return the graph after the merges made so far."""
        graph = self.graph
        into = self._into.copy()
        is_kept = into == np.arange(graph.n_nodes)
        for node in np.flatnonzero(~is_kept).tolist():
            into[node] = into[into[node]]
        of_states = np.repeat(is_kept, self._n_states)
        of_successors = np.repeat(is_kept, np.diff(graph.successor_offsets))
        estimated = graph.with_counts(self._mass[self._is_state])
        return replace(
            graph,
            variable=graph.variable[is_kept],
            parameters=estimated.parameters[of_states],
            successors=(np.cumsum(is_kept) - 1)[self._successors[of_successors]],
        )

    def _key(self, node: int) -> tuple[int, int, bytes]:
        return self._variable[node], self._labels[node], self._below[node].tobytes()

    def _offer(self, node: int) -> None:
        """Queue a node's cheapest merge with another one that has the same successors."""
        partners = sorted(self._alike[self._key(node)] - {node})
        if not partners:
            return
        r = self._n_states[node]
        joined = information(self._mass[partners, :r] + self._mass[node, :r])
        losses = self._information[partners] + self._information[node] - joined
        best = int(losses.argmin())
        loss = max(0.0, float(losses[best]))
        partner = partners[best]
        rate = loss / self._cells[node]
        versions = self._version[node], self._version[partner]
        heappush(self._queue, (rate, loss, node, partner, *versions))

    def _redirect(self, gone: int, keep: int) -> None:
        """Let all predecessors of a node lead to another one, and find whom they are like now."""
        for node in sorted(self._above[gone]):
            key = self._key(node)
            below = self._below[node]
            below[below == gone] = keep
            self._above[keep].add(node)
            if self._version[node] >= 0 and node in self._alike.get(key, ()):
                self._alike[key].discard(node)
                self._alike.setdefault(self._key(node), set()).add(node)
                self._renew(node)

    def _renew(self, node: int) -> None:
        """Queue the cheapest merge of a node that has changed."""
        self._version[node] += 1
        self._offer(node)


def information(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest log-likelihood of the counts of each node (THESIS, 4.39).

    Parameters
    ----------
    counts
        Weights of states, shape (..., states).

    Returns
    -------
    Sum over states of n log(n / total), shape (...), in nats, never positive.
    """
    total = counts.sum(axis=-1)
    value: NDArray[np.float64] = xlogy(counts, counts).sum(axis=-1) - xlogy(
        total, total
    )
    return value
