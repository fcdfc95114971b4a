"""The logical relations of THESIS, section 4.5.2, as rows, with forests of smallest graphs."""

from itertools import product

import numpy as np

from exactlearn.data.dataset import Dataset


def parity(n=5):
    """Logic2: the last of n bits makes the parity even."""
    return np.array([(*x, sum(x) % 2) for x in product((0, 1), repeat=n - 1)])


def logic1():
    """Logic1: variables A to J (Table 4.2)."""
    rows = []
    for a, b, e, h in product((0, 1), repeat=4):
        c, d = a | b, a & b
        f, g = d ^ e, 1 - c
        rows.append((a, b, c, d, e, f, g, h, 1 - (f | h), 1 - (f & h)))
    return np.array(rows)


def logic3(n=8):
    """Logic3: the last variable is the disjunction of conjunctions of neighbours (4.53)."""
    rows = []
    for x in product((0, 1), repeat=n - 1):
        rows.append((*x, int(any(x[i] & x[i + 1] for i in range(n - 2)))))
    return np.array(rows)


def drawn(rows, size, rng):
    """Draw rows uniformly."""
    chosen = rows[rng.integers(0, len(rows), size)]
    names = tuple(f"x{v}" for v in range(rows.shape[1]))
    return Dataset(chosen, names, (("0", "1"),) * rows.shape[1])


def chain(n):
    """Return the forest that is one chain."""
    return np.arange(-1, n - 1)
