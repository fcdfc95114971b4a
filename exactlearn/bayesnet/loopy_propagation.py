r"""Expected counts of rows by loopy belief propagation, where exact inference is too large.

The sum-product algorithm on the factor graph of a row: a factor for each family with missing
variables, its observed ones fixed. Messages from families to their missing members are updated,
family after family, up and down the network in turn, until none changes; the belief of a family is
its table times the messages of all others to its members. Without loops among the missing variables
the beliefs are the posterior distributions. With loops they are an approximation, and the messages
may not converge (Pearl 1988; Murphy, Weiss and Jordan 1999, "Loopy belief propagation for
approximate inference"). A state that gets a message of zero is impossible in either case.

The log-probability of a row is approximated by the Bethe free energy (Yedidia, Freeman and Weiss
2005, "Constructing free-energy approximations and generalized belief propagation algorithms"), with
beliefs b of families a and variables i, tables f, and d_i the families that i is in:

.. math::

    \sum_a \sum_x b_a(x) \log \frac{f_a(x)}{b_a(x)}
    - \sum_i (1 - d_i) \sum_x b_i(x) \log b_i(x)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.bayesnet.buckets import PRUNED, Buckets


@dataclass(frozen=True)
class LoopyParameters:
    """Tuning constants of loopy belief propagation in EM.

    Parameters
    ----------
    largest_exact
        Most table cells of a row's part whose inference is exact; larger ones are approximated.
    sweeps
        Most updates of all messages of a row.
    tolerance
        Messages have converged when none changes more than this in a sweep.
    damping
        Share of the old message in the new one, after the sweeps without.
    undamped
        Sweeps without damping: enough where there are few loops.
    """

    largest_exact: int = 2**16
    sweeps: int = 100
    tolerance: float = 1e-6
    damping: float = 0.5
    undamped: int = 10


class LoopySpace(NamedTuple):
    """The factor graph of a network, and scratch space for the messages of one row.

    Attributes
    ----------
    slot
        Where the message to each member of each family begins, laid out as ``Buckets.family``.
    holder_slot
        Which entry of ``Buckets.family`` each variable is in each of its families, laid out as
        ``Buckets.holder``.
    forward
        The variables, parents before their children.
    factors
        The families with missing variables of the row at hand.
    members, state, stride
        The missing members of the family at hand as entries of ``Buckets.family``, their states,
        and their strides in the family's table.
    messages, incoming, outgoing
        Messages of all families, and those to and from the family at hand.
    """

    slot: NDArray[np.int64]
    holder_slot: NDArray[np.int64]
    forward: NDArray[np.int64]
    factors: NDArray[np.int64]
    members: NDArray[np.int64]
    state: NDArray[np.int64]
    stride: NDArray[np.int64]
    messages: NDArray[np.float64]
    incoming: NDArray[np.float64]
    outgoing: NDArray[np.float64]


def loopy_space(layout: Buckets, forward: Sequence[int]) -> LoopySpace:
    """Return the factor graph of a network, with its variables in topological order."""
    cards = layout.cardinality[layout.family]
    slot = np.concatenate([[0], np.cumsum(cards)]).astype(np.int64)
    family_of = np.repeat(np.arange(len(layout.cardinality)), np.diff(layout.family_first))
    # Entries sorted by variable, then by family: the order of the holders.
    holder_slot = np.lexsort((family_of, layout.family)).astype(np.int64)
    n, most = len(layout.cardinality), int(np.diff(layout.family_first).max(initial=1))
    widest = most * int(layout.cardinality.max(initial=1))
    return LoopySpace(
        slot,
        holder_slot,
        np.array(forward, np.int64),
        np.zeros(n, np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(most, np.int64),
        np.zeros(int(slot[-1])),
        np.zeros(widest),
        np.zeros(widest),
    )


@in_place_kernel
def loopy_families(
    layout: Buckets,
    tables: NDArray[np.float64],
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    sweeps: int,
    undamped: int,
    damping: float,
    tolerance: float,
    space: LoopySpace,
    logs: NDArray[np.float64],
    counts: NDArray[np.float64],
    converged: NDArray[np.bool_],
) -> None:
    """Add expected counts of the families with missing variables, by their beliefs.

    Parameters
    ----------
    layout, tables, codes, weights
        As for :func:`exactlearn.bayesnet.bucket_elimination.expect_families`.
    sweeps, undamped, damping, tolerance
        As in :class:`LoopyParameters`.
    space
        Scratch space for this network.
    logs
        Receives the Bethe approximation of each row's log-probability; ``-inf`` for an impossible
        row, which adds nothing.
    counts
        Gains the weight of each row times the belief of each configuration of each such family.
    converged
        Receives whether the messages of each row converged, shape (rows,).
    """
    for i in range(len(codes)):
        row = codes[i]
        n = _start(layout, row, space)
        change, sweep = 2.0, 0  # more than a message can change
        while tolerance < change < np.inf and sweep < sweeps:
            change = 0.0
            for k in range(n):
                family = space.factors[k if sweep % 2 == 0 else n - 1 - k]
                share = damping if sweep >= undamped else 0.0
                change = max(change, _send(layout, tables, row, family, share, space))
            sweep += 1
        converged[i] = change <= tolerance
        # An impossible row changes its messages infinitely.
        logs[i] = -np.inf if change == np.inf else 0.0
        if logs[i] == -np.inf:
            continue
        for k in range(n):
            family = space.factors[k]
            logs[i] += _believe(layout, tables, row, family, weights[i], space, counts)
        for v in range(len(row)):
            if row[v] < 0:
                logs[i] += _entropy_of_variable(layout, row, v, space)


@in_place_kernel
def _start(layout: Buckets, row: NDArray[np.int16], space: LoopySpace) -> int:
    """List the families with missing variables, and set their messages to uniform ones."""
    n = 0
    for v in space.forward:
        is_factor = False
        for t in range(layout.family_first[v], layout.family_first[v + 1]):
            if row[layout.family[t]] < 0 and row[v] != PRUNED:
                is_factor = True
                for s in range(space.slot[t], space.slot[t + 1]):
                    space.messages[s] = 1.0 / (space.slot[t + 1] - space.slot[t])
        if is_factor:
            space.factors[n] = v
            n += 1
    return n


@in_place_kernel
def _receive(
    layout: Buckets, row: NDArray[np.int16], family: int, space: LoopySpace
) -> tuple[int, int]:
    """Write the missing members of a family, and the messages to each from its other families.

    Returns
    -------
    How many members are missing, and where the cells with the observed states begin.
    """
    m, place, stride, offset = 0, 0, 1, layout.table_first[family]
    first, last = layout.family_first[family], layout.family_first[family + 1]
    for t in range(last - 1, first - 1, -1):
        u = layout.family[t]
        r = layout.cardinality[u]
        if row[u] >= 0:
            offset += row[u] * stride
        else:
            space.members[m], space.stride[m], space.state[m] = t, stride, 0
            m += 1
            for h in range(r):
                space.incoming[place + h] = 1.0
            for k in range(layout.holder_first[u], layout.holder_first[u + 1]):
                other = space.holder_slot[k]
                if other != t and row[layout.holder[k]] != PRUNED:
                    largest = 0.0
                    for h in range(r):
                        space.incoming[place + h] *= space.messages[space.slot[other] + h]
                        largest = max(largest, space.incoming[place + h])
                    # Scaling: long products would underflow.
                    for h in range(r if largest > 0.0 else 0):
                        space.incoming[place + h] /= largest
            place += r
        stride *= r
    return m, offset


@in_place_kernel
def _send(
    layout: Buckets,
    tables: NDArray[np.float64],
    row: NDArray[np.int16],
    family: int,
    damping: float,
    space: LoopySpace,
) -> float:
    """Update the messages of a family; return the largest change, infinite if one vanishes."""
    m, cell = _receive(layout, row, family, space)
    for t in range(len(space.outgoing)):
        space.outgoing[t] = 0.0
    # Sums over all configurations but of the receiver; the last member changes slowest.
    more = True
    while more:
        total, zeros, place = tables[cell], 0, 0
        if total > 0.0:
            for k in range(m):
                message = space.incoming[place + space.state[k]]
                if message > 0.0:
                    total *= message
                else:
                    zeros += 1
                place += space.slot[space.members[k] + 1] - space.slot[space.members[k]]
            place = 0
            for k in range(m if zeros < 2 else 0):
                message = space.incoming[place + space.state[k]]
                if message > 0.0 and zeros == 0:
                    space.outgoing[place + space.state[k]] += total / message
                elif message <= 0.0:
                    space.outgoing[place + space.state[k]] += total
                place += space.slot[space.members[k] + 1] - space.slot[space.members[k]]
        more, cell = _advance(m, cell, space)
    # Normalised and damped.
    change, place = 0.0, 0
    for k in range(m):
        first, last = space.slot[space.members[k]], space.slot[space.members[k] + 1]
        total = 0.0
        for s in range(last - first):
            total += space.outgoing[place + s]
        if total <= 0.0:
            return np.inf
        for s in range(last - first):
            old = space.messages[first + s]
            new = damping * old + (1.0 - damping) * space.outgoing[place + s] / total
            change = max(change, abs(new - old))
            space.messages[first + s] = new
        place += last - first
    return change


@in_place_kernel
def _advance(m: int, cell: int, space: LoopySpace) -> tuple[bool, int]:
    """Go to the next configuration of the missing members of the family at hand."""
    for k in range(m):
        t = space.members[k]
        space.state[k] += 1
        cell += space.stride[k]
        if space.state[k] < space.slot[t + 1] - space.slot[t]:
            return True, cell
        cell -= space.stride[k] * space.state[k]
        space.state[k] = 0
    return False, cell


@in_place_kernel
def _believe(
    layout: Buckets,
    tables: NDArray[np.float64],
    row: NDArray[np.int16],
    family: int,
    weight: float,
    space: LoopySpace,
    counts: NDArray[np.float64],
) -> float:
    """Add the belief of a family to the counts; return its term of the Bethe free energy.

    It is ``-inf`` where no configuration is possible.
    """
    m, start = _receive(layout, row, family, space)
    # First the sum of the unnormalised beliefs, then the beliefs.
    total, energy = 0.0, 0.0
    for phase in range(2):
        more, cell = True, start
        while more:
            belief, place = tables[cell], 0
            for k in range(m):
                belief *= space.incoming[place + space.state[k]]
                place += space.slot[space.members[k] + 1] - space.slot[space.members[k]]
            if phase == 0:
                total += belief
            elif belief > 0.0:
                belief /= total
                counts[cell] += weight * belief
                energy += belief * (np.log(tables[cell]) - np.log(belief))
            more, cell = _advance(m, cell, space)
        if total <= 0.0:
            return -np.inf
    return energy


@in_place_kernel
def _entropy_of_variable(
    layout: Buckets, row: NDArray[np.int16], variable: int, space: LoopySpace
) -> float:
    """Return the term of a variable in the Bethe free energy."""
    r, degree = layout.cardinality[variable], 0
    for h in range(r):
        space.incoming[h] = 1.0
    for k in range(layout.holder_first[variable], layout.holder_first[variable + 1]):
        if row[layout.holder[k]] != PRUNED:
            degree += 1
            largest = 0.0
            for h in range(r):
                space.incoming[h] *= space.messages[space.slot[space.holder_slot[k]] + h]
                largest = max(largest, space.incoming[h])
            for h in range(r if largest > 0.0 else 0):
                space.incoming[h] /= largest
    total, entropy = 0.0, 0.0
    for h in range(r):
        total += space.incoming[h]
    for h in range(r if total > 0.0 else 0):
        belief = space.incoming[h] / total
        if belief > 0.0:
            entropy -= belief * np.log(belief)
    return (1.0 - degree) * entropy
