"""Hypothesis strategies for small tables."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from exactlearn.data.codes import MISSING
from exactlearn.data.dataset import Dataset

awkward_names = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Zl", "Zp")),
    min_size=1,
    max_size=6,
).filter(lambda name: name == name.strip())
"""Names with commas, quotes, brackets and any script; no line breaks, no outer white space."""


ODD_NAMES = [
    "Asy/Patch",
    "<5",
    "+1",
    "3.0",
    "a//b",
    "/*",
    "/",
    '"',
    "\\",
    'say "no"',
    "table",
]
ODD_NAMES += [
    "default",
    "}",
    "(",
    ";",
    "a,b",
    "a|b",
    "property",
    "é",
    "node",
    "my node",
    "net",
]
ODD_NAMES += [
    "(0.45, 0.54]",
    "<=2.5",
    "a%b",
    "&amp;",
    "<b>",
    "5a",
    "0-3_days",
    "]]>",
    "a=b",
    "#",
]
ODD_NAMES += [
    "network",
    "variable",
    "probability",
    "type",
    "discrete",
    "-1",
    "*/",
    "//",
    "aB",
]
any_names = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    [
        *ODD_NAMES,
        "",
        " ",
        "a b",
        "a  b",
        " a",
        "A b",
        "a\nb",
        "\r",
        "\ufeff",
        "\x1c",
        "\x85",
    ]
)
"""Names of any characters, among them what formats take for marks, numbers and keywords."""


@st.composite
def datasets(
    draw, *, rows=(1, 30), variables=(1, 5), states=(2, 4), missing=False, names=None
) -> Dataset:
    """Return a small random table.

    ``rows``, ``variables`` and ``states`` are inclusive ranges; ``missing`` lets cells be missing;
    ``names`` is a strategy for names of variables and states, instead of X0, X1 and s0, s1.
    """
    count = draw(st.integers(*variables))
    cardinalities = draw(st.lists(st.integers(*states), min_size=count, max_size=count))
    lowest = MISSING if missing else 0
    shape = (draw(st.integers(*rows)),)
    columns = [
        draw(arrays(np.int8, shape, elements=st.integers(lowest, r - 1)))
        for r in cardinalities
    ]
    if names is None:
        labels = [[f"s{k}" for k in range(r)] for r in cardinalities]
        heads = [f"X{k}" for k in range(count)]
    else:
        heads = draw(st.lists(names, min_size=count, max_size=count, unique=True))
        labels = [
            draw(st.lists(names, min_size=r, max_size=r, unique=True))
            for r in cardinalities
        ]
    return Dataset(np.column_stack(columns), tuple(heads), tuple(map(tuple, labels)))


def incomplete_datasets(**kwargs) -> st.SearchStrategy[Dataset]:
    """Return small tables with at least one missing cell."""
    return datasets(missing=True, **kwargs).filter(lambda table: not table.is_complete)
