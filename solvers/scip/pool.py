"""The clusters that branch and cut has met, which are looked at before others are sought."""

import numpy as np
from numpy.typing import NDArray

from ..lp.clusters import Counted, Support


class ClusterPool:
    """Clusters with counts, each once.

    Parameters
    ----------
    clusters
        Those to begin with.
    """

    def __init__(self, clusters: Counted) -> None:
        self.clusters = clusters.take(np.zeros(0, np.int64))
        self._known: set[tuple[bytes, int]] = set()
        self.add(clusters)

    def __len__(self) -> int:  # noqa: D105
        return len(self.clusters)

    def add(self, found: Counted) -> None:
        """Take in the clusters that are new."""
        keys = list(zip(_rows_as_bytes(found.clusters), found.counts.tolist(), strict=True))
        new = []
        for k, key in enumerate(keys):
            if key not in self._known:
                self._known.add(key)
                new.append(k)
        added, old = found.take(np.array(new, np.int64)), self.clusters
        self.clusters = Counted(
            np.concatenate([old.clusters, added.clusters]),
            np.concatenate([old.counts, added.counts]),
        )

    def violated(self, support: Support, most: int) -> Counted:
        """Return the most violated clusters, at most so many."""
        return self.clusters.violated(support, most)


def _rows_as_bytes(clusters: NDArray[np.bool_]) -> list[bytes]:
    return [row.tobytes() for row in np.packbits(clusters, axis=1)]
