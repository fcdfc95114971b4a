"""Score every family under every completion of its columns, and keep what is not dominated.

A candidate ``(X, PA, Z)`` is useless when some ``PA'`` inside ``PA``, with the completion ``Z``
restricted to the columns of ``X`` and ``PA'``, scores at least as well: swapping it in keeps the
graph acyclic and every cell's value.

Scores are built by adding one row after another. With counts ``n_jk`` and ``n_j``, adding weight
``w`` to cell ``(j, k)`` changes a score by ``f(n_jk + w) - f(n_jk) - g(n_j + w) + g(n_j)``, where
``f`` and ``g`` are ``lgamma(. + alpha)`` for BDeu and ``a n log(n)`` for the likelihood; so a
completion costs only the rows in which it differs from the base completion.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from exactlearn.kernel import kernel
from exactlearn.scores import BAYESIAN

TIE = 1e-10
"""A subset within this of a set's score dominates it: sums in another order differ by less."""


@kernel
def binomials(n: int, k: int) -> NDArray[np.int64]:
    """Return Pascal's triangle, shape (n + 1, k + 1)."""
    table = np.zeros((n + 1, k + 1), np.int64)
    for i in range(n + 1):
        table[i, 0] = 1
        for j in range(1, min(i, k) + 1):
            table[i, j] = table[i - 1, j - 1] + (table[i - 1, j] if j < i else 0)
    return table


@kernel
def parent_sets(n: int, child: int, k: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """List all parent sets of a child by size, then colexicographically.

    Returns the members (sets, k) padded with -1, and the first set of each size (k + 2,).
    """
    choose = binomials(n, k + 1)
    first = np.zeros(k + 2, np.int64)
    for size in range(k + 1):
        first[size + 1] = first[size] + choose[n - 1, size]
    members = np.full((first[k + 1], k), -1, np.int32)
    chosen = np.zeros(k + 1, np.int64)
    for size in range(1, k + 1):
        row = first[size]
        for p in range(size):
            chosen[p] = p
        while True:
            for p in range(size):
                members[row, p] = chosen[p] + (1 if chosen[p] >= child else 0)
            row += 1
            p = 0
            while p < size - 1 and chosen[p] + 1 == chosen[p + 1]:
                chosen[p] = p
                p += 1
            chosen[p] += 1
            if chosen[size - 1] == n - 1:
                break
    return members, first


@kernel
def _set_index(
    members: NDArray[np.int32],
    size: int,
    without: int,
    child: int,
    first: NDArray[np.int64],
    choose: NDArray[np.int64],
) -> int:
    """Return the row of ``members`` minus its entry ``without`` in the list of parent sets."""
    rank, place = 0, 0
    for p in range(size):
        if p == without:
            continue
        v = members[p] - (1 if members[p] > child else 0)
        place += 1
        rank += choose[v, place]
    return int(first[size - 1] + rank)


@kernel
def _combinations_from(
    columns: NDArray[np.int64], count: int, histogram: NDArray[np.int64], table: NDArray[np.int64]
) -> None:
    """Fill ``table[p, d]``: combinations of the options of columns p, p+1, ... of distance <= d."""
    radius = histogram.shape[1] - 1
    for d in range(radius + 1):
        table[count, d] = 1
    for p in range(count - 1, -1, -1):
        for d in range(radius + 1):
            total = 0
            for e in range(d + 1):
                total += histogram[columns[p], e] * table[p + 1, d - e]
            table[p, d] = total


@kernel
def combination_counts(
    members: NDArray[np.int32], child: int, histogram: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Count the completions of each family, in floating point: they may be astronomically many."""
    n_sets, k = members.shape
    radius = histogram.shape[1] - 1
    counts = np.zeros(n_sets)
    row = np.zeros(radius + 1)
    for f in range(n_sets):
        for d in range(radius + 1):
            row[d] = 1.0
        for p in range(-1, k):
            v = child if p < 0 else members[f, p]
            if v < 0:
                break
            for d in range(radius, -1, -1):
                total = 0.0
                for e in range(d + 1):
                    total += histogram[v, e] * row[d - e]
                row[d] = total
        counts[f] = row[radius]
    return counts


@kernel
def _rank_without(
    without: int,
    count: int,
    columns: NDArray[np.int64],
    digits: NDArray[np.int64],
    distance: NDArray[np.int64],
    option_first: NDArray[np.int64],
    histogram: NDArray[np.int64],
    table: NDArray[np.int64],
) -> int:
    """Rank a combination of options, one column left out, among those of the smaller family.

    ``table`` belongs to the smaller family. Combinations are ordered lexicographically with the
    options of a column sorted by distance.
    """
    remaining = histogram.shape[1] - 1
    rank, place = 0, 0
    for p in range(count):
        if p == without:
            continue
        v, o = columns[p], digits[p]
        e = distance[option_first[v] + o]
        place += 1
        before = 0
        for closer in range(e):
            rank += histogram[v, closer] * table[place, remaining - closer]
            before += histogram[v, closer]
        rank += (o - before) * table[place, remaining - e]
        remaining -= e
    return rank


@kernel
def _gain(
    n: float, w: float, table: NDArray[np.float64], alpha: float, kind: int, a: float
) -> float:
    """Return f(n + w) - f(n), from the table where counts are whole numbers."""
    if len(table):
        return float(table[int(n + w + 0.5)] - table[int(n + 0.5)])
    if kind == 0:
        return math.lgamma(n + w + alpha) - math.lgamma(n + alpha)
    after = (n + w) * math.log(n + w) if n + w > 1e-12 else 0.0
    before = n * math.log(n) if n > 1e-12 else 0.0
    return a * (after - before)


@kernel
def score_completions(
    codes: NDArray[np.int16],
    weights: NDArray[np.float64],
    cardinalities: NDArray[np.int64],
    child: int,
    members: NDArray[np.int32],
    set_first: NDArray[np.int64],
    allowed: NDArray[np.bool_],
    log_tables: NDArray[np.float64],
    table_of: NDArray[np.int64],
    kind: int,
    a: float,
    b: float,
    option_first: NDArray[np.int64],
    distance: NDArray[np.int64],
    histogram: NDArray[np.int64],
    deviation_first: NDArray[np.int64],
    deviation_row: NDArray[np.int64],
    deviation_value: NDArray[np.int16],
    combination_first: NDArray[np.int64],
    cells: int,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Score all parent sets of one child under all combinations of their columns' options.

    Parameters
    ----------
    codes, weights, cardinalities
        The base completion (variables, rows), the rows' weights, the numbers of states.
    child, members, set_first, allowed
        The child, its parent sets as listed by :func:`parent_sets`, and which may be candidates.
    log_tables, table_of
        ``f`` and ``g`` at whole numbers, and which of them a parent set uses, shape (sets, 2);
        an empty table asks for direct evaluation.
    kind, a, b
        The compiled score.
    option_first ... deviation_value
        The columns' options, see :class:`~exactlearn.augmentation.columns.Columns`.
    combination_first
        Where each parent set's combinations begin, shape (sets + 1,).
    cells
        Size of the largest table of counts.

    Returns
    -------
    scores, keep
        Score of every combination, and whether it is allowed and not dominated.
    """
    n, rows = codes.shape
    n_sets, k = members.shape
    radius = histogram.shape[1] - 1
    r = cardinalities[child]
    choose = binomials(n, k + 1)
    total = combination_first[n_sets]
    scores = np.empty(total)
    best = np.empty(total)
    keep = np.zeros(total, np.bool_)
    counts = np.zeros(cells)
    sums = np.zeros(cells // r + 1)
    config = np.zeros(rows, np.int64)
    moved = np.zeros(rows, np.int64)
    moved_child = np.zeros(rows, np.int64)
    is_moved = np.zeros(rows, np.bool_)
    touched = np.zeros(rows, np.int64)
    columns = np.zeros(k + 1, np.int64)
    strides = np.zeros(k + 1, np.int64)
    digits = np.zeros(k + 1, np.int64)
    without_table = np.zeros((k + 1, k + 2, radius + 1), np.int64)
    without_set = np.zeros(k + 1, np.int64)
    smaller = np.zeros(k + 1, np.int64)
    for f in range(n_sets):
        size = 0
        columns[0] = child
        q = 1
        while size < k and members[f, size] >= 0:
            v = members[f, size]
            size += 1
            columns[size] = v
            strides[size] = q
            q *= cardinalities[v]
        alpha_j, alpha_jk = a / q, a / (q * r)
        cell_table, sum_table = log_tables[table_of[f, 0]], log_tables[table_of[f, 1]]
        score = -b * q * (r - 1)
        for u in range(rows):
            j = 0
            for p in range(1, size + 1):
                j += strides[p] * codes[columns[p], u]
            config[u] = j
            w = weights[u]
            cell = j * r + codes[child, u]
            score += _gain(counts[cell], w, cell_table, alpha_jk, kind, a)
            score -= _gain(sums[j], w, sum_table, alpha_j, kind, a)
            counts[cell] += w
            sums[j] += w
        for p in range(1, size + 1):
            without_set[p] = _set_index(members[f], size, p - 1, child, set_first, choose)
            count = 0
            for o in range(size + 1):
                if o != p:
                    smaller[count] = columns[o]
                    count += 1
            _combinations_from(smaller, count, histogram, without_table[p])
        digits[: size + 1] = 0
        spent = 0
        index = combination_first[f]
        while True:
            changed = 0
            for p in range(size + 1):
                v = columns[p]
                o = option_first[v] + digits[p]
                for d in range(deviation_first[o], deviation_first[o + 1]):
                    u = deviation_row[d]
                    if not is_moved[u]:
                        is_moved[u] = True
                        touched[changed] = u
                        changed += 1
                        moved[u] = config[u]
                        moved_child[u] = codes[child, u]
                    if p == 0:
                        moved_child[u] = deviation_value[d]
                    else:
                        moved[u] += strides[p] * (deviation_value[d] - codes[v, u])
            here = score
            for t in range(changed):
                u = touched[t]
                w, j = weights[u], config[u]
                cell = j * r + codes[child, u]
                counts[cell] -= w
                sums[j] -= w
                here -= _gain(counts[cell], w, cell_table, alpha_jk, kind, a)
                here += _gain(sums[j], w, sum_table, alpha_j, kind, a)
                j = moved[u]
                cell = j * r + moved_child[u]
                here += _gain(counts[cell], w, cell_table, alpha_jk, kind, a)
                here -= _gain(sums[j], w, sum_table, alpha_j, kind, a)
                counts[cell] += w
                sums[j] += w
            for t in range(changed):
                u = touched[t]
                w, j = weights[u], moved[u]
                counts[j * r + moved_child[u]] -= w
                sums[j] -= w
                j = config[u]
                counts[j * r + codes[child, u]] += w
                sums[j] += w
                is_moved[u] = False
            scores[index] = here
            beaten = -np.inf
            for p in range(1, size + 1):
                rank = _rank_without(
                    p,
                    size + 1,
                    columns,
                    digits,
                    distance,
                    option_first,
                    histogram,
                    without_table[p],
                )
                beaten = max(beaten, best[combination_first[without_set[p]] + rank])
            keep[index] = allowed[f] and here > beaten + 1e-10
            best[index] = max(beaten, here) if allowed[f] else beaten
            index += 1
            p = size
            while p >= 0:
                o = option_first[columns[p]] + digits[p]
                if o + 1 < option_first[columns[p] + 1]:
                    grown = spent - distance[o] + distance[o + 1]
                    if grown <= radius:
                        spent = grown
                        digits[p] += 1
                        break
                spent -= distance[o]
                digits[p] = 0
                p -= 1
            if p < 0:
                break
        for u in range(rows):
            counts[config[u] * r + codes[child, u]] = 0.0
            sums[config[u]] = 0.0
    return scores, keep


@kernel
def digits_of(
    kept: NDArray[np.int64],
    child: int,
    members: NDArray[np.int32],
    combination_first: NDArray[np.int64],
    option_first: NDArray[np.int64],
    distance: NDArray[np.int64],
    histogram: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the parent set and the options (kept, k + 1) of some combinations; -1 pads."""
    k = members.shape[1]
    radius = histogram.shape[1] - 1
    sets = np.zeros(len(kept), np.int64)
    options = np.full((len(kept), k + 1), -1, np.int64)
    columns = np.zeros(k + 1, np.int64)
    table = np.zeros((k + 2, radius + 1), np.int64)
    columns[0] = child
    f = -1
    count = 0
    for c in range(len(kept)):
        if f < 0 or kept[c] >= combination_first[f + 1]:
            f = np.searchsorted(combination_first, kept[c], side="right") - 1
            count = 1
            while count <= k and members[f, count - 1] >= 0:
                columns[count] = members[f, count - 1]
                count += 1
            _combinations_from(columns, count, histogram, table)
        sets[c] = f
        rest, remaining = kept[c] - combination_first[f], radius
        for p in range(count):
            v, o = columns[p], option_first[columns[p]]
            e = 0
            while rest >= histogram[v, e] * table[p + 1, remaining - e]:
                rest -= histogram[v, e] * table[p + 1, remaining - e]
                o += histogram[v, e]
                e += 1
            o += rest // table[p + 1, remaining - e]
            rest %= table[p + 1, remaining - e]
            options[c, p] = o
            remaining -= e
    return sets, options


def growth_tables(
    n_parent_states: NDArray[np.float64],
    states: int,
    total: int,
    kind: int,
    a: float,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Tabulate ``f`` and ``g`` at 0, 1, ..., total for each number of parent configurations.

    Returns
    -------
    tables, table_of
        The tables, shape (tables, total + 1), and for each parent set the rows that hold ``f``
        and ``g``, shape (sets, 2).
    """
    counts = np.arange(total + 1, dtype=np.float64)
    if kind != BAYESIAN:
        table = np.asarray(a * xlogy(counts, counts), np.float64)
        return table[None, :], np.zeros((len(n_parent_states), 2), np.int64)
    sizes, inverse = np.unique(n_parent_states, return_inverse=True)
    alphas = np.concatenate([a / (sizes * states), a / sizes])[:, None]
    tables: NDArray[np.float64] = gammaln(counts[None, :] + alphas) - gammaln(alphas)
    return tables, np.column_stack([inverse, inverse + len(sizes)]).astype(np.int64)
