"""Bounds that close branches of the lattice of parent sets.

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

from exactlearn._runtime.kernel import kernel


@kernel
def ceiling(kind: int, b: float, q: float, r: int, cells: float) -> float:
    """Bound the scores of a family and of all its supersets from above.

    ``cells`` is at most the number of observed configurations of the family, see above.
    """
    return -cells * math.log(r) if kind == 0 else -b * q * (r - 1)


@kernel
def lacks_entropy(gain: float, cost: float, r: int, slack: float) -> bool:
    """Tell whether a parent with ``r`` states has too little entropy given the others.

    ``gain`` is that entropy, over all rows and as the score weighs it; ``cost`` is the penalty of
    the family with the parent.
    """
    return gain + slack <= cost * (r - 1) / r
