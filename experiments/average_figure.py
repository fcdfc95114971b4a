"""``python -m experiments.average_figure FIGURE.svg TABLE.csv ...``: accuracy of completed cells.

The tables are those that ``python -m experiments augmentation-average -o FOLDER`` writes; each of
their pools (a network, and how cells are hidden) is a row of the figure.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

METHODS = {
    "posterior-average": "average over networks and completions",
    "branching": "optimum, proven",
    "t-local": "t-local",
    "structural-em": "structural EM",
    "mode": "most frequent state",
}
"""The methods that are shown, with their labels."""


def draw(target: Path, sources: list[Path]) -> None:
    """Draw the mean accuracy of each method, with its standard error, for each pool."""
    from matplotlib.figure import Figure

    table = pd.concat(map(pd.read_csv, sources))
    pools = [case for case in table["case"].unique() if "NAR" in case or "CAR" in case]
    figure = Figure(figsize=(7.2, 0.62 * len(pools) + 1.4), layout="constrained")
    axes = figure.add_subplot()
    offsets = np.linspace(-0.3, 0.3, len(METHODS))
    for marker, offset, method in zip("osd^x", offsets, METHODS, strict=True):
        rows = table[table["method"] == method].set_index("case").loc[pools]
        axes.errorbar(
            rows["accuracy"],
            np.arange(len(pools)) + offset,
            xerr=rows["accuracy ±"],
            fmt=marker,
            markersize=5,
            label=METHODS[method],
        )
    axes.set_yticks(np.arange(len(pools)), pools)
    axes.invert_yaxis()
    axes.set_xlabel("cells completed rightly (%), with standard errors")
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(target, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
