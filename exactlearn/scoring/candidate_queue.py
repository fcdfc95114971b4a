"""A priority queue of families to score, highest first, in arrays: a binary heap.

Equal priorities leave in the order of node and position, so that the same pushes give the same
pops.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel


class Queue(NamedTuple):
    """Families waiting to be scored: a node of the tree of parent sets, and one parent more."""

    priority: NDArray[np.float64]
    node: NDArray[np.int32]
    position: NDArray[np.int32]


def new_queue(room: int) -> Queue:
    """Return an empty queue."""
    return Queue(np.empty(room), np.empty(room, np.int32), np.empty(room, np.int32))


@kernel
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


@kernel
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


@kernel
def push(queue: Queue, length: int, priority: float, node: int, position: int) -> None:
    """Add an entry to a queue of that length."""
    priorities, nodes, positions = queue
    priorities[length], nodes[length], positions[length] = priority, node, position
    at = length
    while at > 0 and _comes_first(priorities, nodes, positions, at, (at - 1) // 2):
        _swap(priorities, nodes, positions, at, (at - 1) // 2)
        at = (at - 1) // 2


@kernel
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
