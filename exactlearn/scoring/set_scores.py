"""Terms of variable sets, whose differences are the scores of families, and bounds on these.

Both kinds of scores are differences of one number per *set* of variables. With ``m(S)`` the number
of configurations of ``S`` and ``n_c`` the counts of its contingency table, let

- BDeu: ``F(S) = sum_c lgamma(n_c + a / m(S)) - lgamma(a / m(S))``,
- likelihood: ``F(S) = a * sum_c n_c log(n_c / N)``.

Since ``q r`` is the number of configurations of the family, the score of child ``x`` with parents
``P`` is ``F(P + x) - F(P)``, less the penalty. So one table over ``k + 1`` variables serves its
``k + 1`` families, and every table is read once.

A parent set is *dominated* when a proper subset scores at least as well: it never needs to be
chosen. It is *closed* when every allowed superset is dominated too; closed branches are never
counted. A family ``(x, P)`` is found closed by any of these bounds. Let ``best`` be the highest
score of an allowed subset of ``P``.

Penalty (de Campos and Ji 2011, "Efficient structure learning of Bayesian networks using
constraints", Lemma 3 for BIC and AIC). Log-likelihoods are at most 0 and ``q`` grows with the
parents, so every superset scores at most ``-b q_P (r_x - 1)``; closed if that is at most ``best``.

Entropy (de Campos, Scanagatta, Corani and Zaffalon 2018, "Entropy-based pruning for learning
Bayesian networks using BIC"). For ``y`` in ``P`` and ``P' = P - y``, adding ``y`` to any superset
``Q`` of ``P'`` gains ``N I(x; y | Q) <= N H(y | Q) <= N H(y | P')`` of log-likelihood and costs at
least ``b q_P' (r_x - 1) (r_y - 1)``. If the cost is at least the gain, any superset of ``P`` is
dominated by itself without ``y``, which is allowed unless the arc from ``y`` is required.

Distinct cells (de Campos and Ji 2011 with distinct parent configurations; Correia, Cussens and
de Campos 2020, "On pruning for score-based Bayesian network structure learning", with distinct
family configurations). With ``a = alpha / q`` and ``n_j`` the counts of a parent configuration,
BDeu is the logarithm of a product of

    E[prod_k theta_k^n_jk] <= prod_k E[theta_k^n_jk] <= prod_k r^-min(1, n_jk),

the expectation taken over a symmetric Dirichlet distribution. The first inequality is
``G(a) G(a + m + n) >= G(a + m) G(a + n)``, the log-convexity of the gamma function; the second
is ``theta^n <= theta`` for ``n >= 1`` and Jensen's inequality for ``n < 1``: ``E[theta_k] = 1/r``.
So a family with ``K`` observed configurations of ``P + x`` scores at most ``-K log r_x``, where one
with a weight below 1 counts by its weight. ``K`` only grows with ``P``, since parts of a cell weigh
as much together, and is at least the ``K`` of every set inside ``P + x``. No bound that knows only
the counts of ``P + x`` is lower for small ``a``: a superset may tell the states of ``x`` apart and
split nothing else, and each cell then comes as near to ``1 / r`` as ``a`` to 0.

Comparisons with a bound leave ``slack`` for rounding, so pruning changes nothing but the time.
"""

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.scoring.set_tables import Rows, Stack, climb, complete, count, n_cells

SIZE_LIMIT = 2**12
"""Most table sizes to tabulate terms for; the terms of other tables are computed when needed."""


class Terms(NamedTuple):
    """A compiled score with its values for small whole counts.

    ``table[i, n]`` is the term of a cell with count ``n`` in a table of ``sizes[i]`` cells.
    """

    kind: int
    a: float
    b: float
    sizes: NDArray[np.float64]
    table: NDArray[np.float64]


def table_sizes(cardinalities: NDArray[np.int64], depth: int) -> NDArray[np.float64]:
    """Return the different numbers of cells of tables over ``depth`` variables, increasing.

    Returns nothing when there are more than ``SIZE_LIMIT``: too many to tabulate terms for.
    """
    products: list[set[float]] = [{1.0}, *(set() for _ in range(depth))]
    for r, available in Counter(cardinalities.tolist()).items():
        for length in range(depth, 0, -1):
            for used in range(1, min(available, length) + 1):
                products[length] |= {p * float(r) ** used for p in products[length - used]}
        if max(map(len, products)) > SIZE_LIMIT:
            return np.zeros(0)
    return np.array(sorted(products[depth]))


def tabulate_terms(
    compiled: tuple[int, float, float], total: float, sizes: NDArray[np.float64], length: int
) -> Terms:
    """Tabulate the terms of counts below ``length``, out of ``total``, for tables of these sizes.

    The likelihood's terms do not depend on the size: they stand under size 0.
    """
    kind, a, b = compiled
    table = np.zeros((len(sizes), length))
    _fill_terms(kind, a, total, sizes, table)
    return Terms(kind, a, b, sizes, table)


@kernel
def _exact_term(n: float, kind: int, alpha: float) -> float:
    """Return a cell's term; ``alpha`` is BDeu's pseudo-count, or N for the likelihood."""
    if n <= 0.0:
        return 0.0
    if kind == 0:
        return math.lgamma(n + alpha) - math.lgamma(alpha)
    return n * math.log(n / alpha)


@kernel
def _fill_terms(
    kind: int, a: float, total: float, sizes: NDArray[np.float64], table: NDArray[np.float64]
) -> None:
    for i in range(table.shape[0]):
        alpha = a / sizes[i] if kind == 0 else total
        for n in range(table.shape[1]):
            table[i, n] = _exact_term(float(n), kind, alpha)


@kernel
def _term(n: float, kind: int, alpha: float, table: NDArray[np.float64], i: int) -> float:
    whole = int(n)
    if i >= 0 and whole == n and whole < table.shape[1]:
        return float(table[i, whole])
    return _exact_term(float(n), kind, alpha)


@kernel
def _add(total: float, error: float, value: float) -> tuple[float, float]:
    """Add without rounding error, so that terms do not depend on the order of cells."""
    new = total + value
    taken = new - total
    return new, error + ((total - (new - taken)) + (value - taken))


@kernel
def _find(sizes: NDArray[np.float64], cells: float) -> int:
    """Return the place of a table size, or -1."""
    low, high = 0, len(sizes)
    while low < high:
        middle = (low + high) // 2
        if sizes[middle] < cells:
            low = middle + 1
        else:
            high = middle
    return low if low < len(sizes) and sizes[low] == cells else -1


@kernel
def _read_dense(
    rows: Rows, stack: Stack, depth: int, variable: int, terms: Terms, alpha: float, i: int
) -> tuple[float, float]:
    """Sum the terms of all cells of the table, and clear it."""
    total, error, draws = 0.0, 0.0, 0.0
    for c in range(stack.sizes[depth] * rows.cardinalities[variable]):
        n = stack.table[c]
        if n > 0:
            total, error = _add(total, error, _term(n, terms.kind, alpha, terms.table, i))
            draws += min(n, 1.0)
            stack.table[c] = 0
    return total + error, draws


@kernel
def _read_sparse(
    rows: Rows, stack: Stack, depth: int, variable: int, terms: Terms, alpha: float, i: int
) -> tuple[float, float]:
    """Sum the terms of the cells that the deviant rows touched, clear them, and add the rest."""
    total, error, draws = 0.0, 0.0, 0.0
    r, size = rows.cardinalities[variable], stack.sizes[depth]
    ids, column, rest = stack.ids[depth], rows.codes[variable], stack.rest
    for c in range(size):
        rest[c] = stack.totals[depth, c]
    for t in range(rows.deviant_first[variable], rows.deviant_first[variable + 1]):
        row = rows.deviants[t]
        c = ids[row] * r + column[row]
        n = stack.table[c]
        if n > 0:
            total, error = _add(total, error, _term(n, terms.kind, alpha, terms.table, i))
            draws += min(n, 1.0)
            rest[ids[row]] -= n
            stack.table[c] = 0
    for c in range(size if rows.subtract else 0):
        if rest[c] > 0:
            total, error = _add(total, error, _term(rest[c], terms.kind, alpha, terms.table, i))
            draws += min(rest[c], 1.0)
    return total + error, draws


@kernel
def set_term(
    subset: NDArray[np.int64], rows: Rows, stack: Stack, terms: Terms
) -> tuple[float, float]:
    """Return ``F(S)`` of a set of variables and its number of observed configurations.

    A configuration that weighs less than one row counts by its weight.

    Parameters
    ----------
    subset
        Increasing variable indices, at least one. Consecutive calls are fast when the sets differ
        in their first elements only.
    rows, stack, terms
        The data, scratch space that remembers the last set, and the score.
    """
    depth, variable = len(subset) - 1, subset[0]
    climb(subset, rows, stack)
    cells = n_cells(subset, rows.cardinalities)
    alpha = terms.a / cells if terms.kind == 0 else rows.total
    i = _find(terms.sizes, 0.0 if terms.kind == 1 else cells)
    count(rows, stack, depth, variable)
    deviants = rows.deviant_first[variable + 1] - rows.deviant_first[variable]
    if stack.sizes[depth] * rows.cardinalities[variable] <= 2 * deviants:
        complete(rows, stack, depth, variable)
        total, draws = _read_dense(rows, stack, depth, variable, terms, alpha, i)
    else:
        total, draws = _read_sparse(rows, stack, depth, variable, terms, alpha, i)
    return (total if terms.kind == 0 else terms.a * total), draws


@kernel
def prefix_term(depth: int, cells: float, rows: Rows, stack: Stack, terms: Terms) -> float:
    """Return ``F`` of the last set less its first element, from the configurations on the stack.

    Parameters
    ----------
    depth
        Number of elements of the last set given to :func:`set_term`, less one.
    cells
        Number of configurations of those elements.
    rows, stack, terms
        As given to :func:`set_term`.
    """
    alpha = terms.a / cells if terms.kind == 0 else rows.total
    i = _find(terms.sizes, 0.0 if terms.kind == 1 else cells)
    total, error = 0.0, 0.0
    for c in range(stack.sizes[depth]):
        n = stack.totals[depth, c]
        if n > 0:
            total, error = _add(total, error, _term(n, terms.kind, alpha, terms.table, i))
    return (total + error) if terms.kind == 0 else terms.a * (total + error)


@kernel
def empty_set_term(rows: Rows, terms: Terms) -> float:
    """Return ``F`` of the empty set: the term of one cell that holds all rows."""
    return _exact_term(rows.total, terms.kind, terms.a) if terms.kind == 0 else 0.0


@kernel
def ceiling(kind: int, b: float, q: float, r: int, cells: float) -> float:
    """Bound the scores of a family and of all its supersets from above.

    ``cells`` is at most the number of observed configurations of the family, see above.
    """
    return -cells * math.log(r) if kind == 0 else -b * q * (r - 1)


@kernel
def lacks_entropy(gain: float, cost: float, r: int, slack: float) -> bool:
    """Return whether a parent with ``r`` states has too little entropy given the others.

    ``gain`` is that entropy, over all rows and as the score weighs it; ``cost`` is the penalty of
    the family with the parent.
    """
    return gain + slack <= cost * (r - 1) / r
