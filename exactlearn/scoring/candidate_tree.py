"""The state of a best-first search for the parent sets of one child: its tree and its queue.

The queue holds the families to score, highest priority first, as a binary heap in arrays. Equal
priorities leave in the order of node and position, so that the same pushes give the same pops.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import in_place_kernel


class Child(NamedTuple):
    """What is searched: the child, its required parents and the others in order.

    By place in the order, ``single`` and ``pair`` hold the scores of the required parents with one
    and with two more, not-a-number where not known; ``gain`` and ``interaction`` hold the
    likelihood part of what they gain, and of what a pair gains beyond that, 0 where not known. The
    matrices cover the first places only, and their upper triangles. What is not expected to gain
    at least ``floor`` does not enter the queue. ``family`` is scratch space for a set to count.
    """

    child: int
    required: NDArray[np.int64]
    parents: NDArray[np.int64]
    single: NDArray[np.float64]
    pair: NDArray[np.float64]
    gain: NDArray[np.float64]
    interaction: NDArray[np.float64]
    floor: NDArray[np.float64]
    max_parents: int
    slack: float
    family: NDArray[np.int64]


class Tree(NamedTuple):
    """The parent sets that were scored: each adds one parent, by place, to another.

    ``best`` is the highest known score of a subset, the set included, ``own`` the sum over the
    table of the parents alone, ``space`` the number of their configurations and ``cells`` that of
    the observed configurations of the family. ``useful`` tells whether no known subset scores as
    much.
    """

    above: NDArray[np.int32]
    place: NDArray[np.int32]
    depth: NDArray[np.int32]
    score: NDArray[np.float64]
    best: NDArray[np.float64]
    own: NDArray[np.float64]
    space: NDArray[np.float64]
    cells: NDArray[np.float64]
    useful: NDArray[np.bool_]


def new_tree(room: int) -> Tree:
    """Return a tree with room for that many parent sets."""
    return Tree(
        np.zeros(room, np.int32),
        np.zeros(room, np.int32),
        np.zeros(room, np.int32),
        np.zeros(room),
        np.zeros(room),
        np.zeros(room),
        np.zeros(room),
        np.zeros(room),
        np.zeros(room, np.bool_),
    )


def taller(tree: Tree, room: int) -> Tree:
    """Return the tree with more room."""
    grown = new_tree(room)
    pairs: Iterable[tuple[NDArray[Any], NDArray[Any]]] = zip(grown, tree, strict=True)
    for target, source in pairs:
        target[: len(source)] = source
    return grown


class Queue(NamedTuple):
    """Families waiting to be scored: a node of the tree of parent sets, and one parent more."""

    priority: NDArray[np.float64]
    node: NDArray[np.int32]
    position: NDArray[np.int32]


def new_queue(room: int) -> Queue:
    """Return an empty queue."""
    return Queue(np.empty(room), np.empty(room, np.int32), np.empty(room, np.int32))


@in_place_kernel
def _comes_first(
    priority: NDArray[np.float64],
    node: NDArray[np.int32],
    position: NDArray[np.int32],
    a: int,
    b: int,
) -> bool:
    if priority[a] != priority[b]:
        return bool(priority[a] > priority[b])
    if node[a] != node[b]:
        return bool(node[a] < node[b])
    return bool(position[a] < position[b])


@in_place_kernel
def _swap(
    priority: NDArray[np.float64],
    node: NDArray[np.int32],
    position: NDArray[np.int32],
    a: int,
    b: int,
) -> None:
    priority[a], priority[b] = priority[b], priority[a]
    node[a], node[b] = node[b], node[a]
    position[a], position[b] = position[b], position[a]


@in_place_kernel
def push(queue: Queue, length: int, priority: float, node: int, position: int) -> None:
    """Add an entry to a queue of that length."""
    priorities, nodes, positions = queue
    priorities[length], nodes[length], positions[length] = priority, node, position
    at = length
    while at > 0 and _comes_first(priorities, nodes, positions, at, (at - 1) // 2):
        _swap(priorities, nodes, positions, at, (at - 1) // 2)
        at = (at - 1) // 2


@in_place_kernel
def pop(queue: Queue, length: int) -> None:
    """Move the first entry behind the others: to place ``length - 1``."""
    priorities, nodes, positions = queue
    end = length - 1
    _swap(priorities, nodes, positions, 0, end)
    at = 0
    while 2 * at + 1 < end:
        below = 2 * at + 1
        if below + 1 < end and _comes_first(priorities, nodes, positions, below + 1, below):
            below += 1
        if not _comes_first(priorities, nodes, positions, below, at):
            break
        _swap(priorities, nodes, positions, at, below)
        at = below


def keep_half(queue: Queue, length: int) -> tuple[int, float]:
    """Keep the better half of the entries, as a heap.

    Returns their number and their lowest priority.
    """
    half = length // 2
    order = np.argsort(-queue.priority[:length], kind="stable")[:half]
    for array in queue:
        array[:half] = array[order]
    return half, float(queue.priority[half - 1])
