"""Scores of a user's own: what is not in the package, from textbook priors to hostile ones."""

import numpy as np
from scipy.special import gammaln, xlogy

from exactlearn import Score


class K2(Score):
    """Cooper and Herskovits (1992): a uniform prior over each distribution."""

    name = "k2"

    def cell(self, counts, r, q):
        return gammaln(counts + 1)

    def configuration(self, counts, r, q):
        return gammaln(counts + r) - gammaln(r)


class Jeffreys(Score):
    """Half a row in each cell beforehand, with empty cells and configurations not at 0."""

    name = "jeffreys"

    def cell(self, counts, r, q):
        return gammaln(counts + 0.5) - gammaln(0.5) + 2.0

    def configuration(self, counts, r, q):
        return gammaln(counts + r / 2)

    def penalty(self, r, q, rows):
        return 2.0 * q * r - gammaln(r / 2) * q


class FNML(Score):
    """Factorised normalised maximum likelihood, with Rissanen's term for the regret."""

    name = "fnml"

    def cell(self, counts, r, q):
        return xlogy(counts, counts)

    def configuration(self, counts, r, q):
        return xlogy(counts, counts) + (r - 1) / 2 * np.log1p(counts)


class QNML(Score):
    """Quotient normalised maximum likelihood, about: its penalty is no multiple of the size."""

    name = "qnml"

    def cell(self, counts, r, q):
        return xlogy(counts, counts)

    configuration = cell

    def penalty(self, r, q, rows):
        regrets = ((m - 1) / 2 * np.log1p(rows / m) for m in (q * r, q))
        return next(regrets) - next(regrets)


class Concave(Score):
    """What no bound holds for: rows gain less the more there are, and large families a reward."""

    name = "concave"

    def cell(self, counts, r, q):
        return np.sqrt(counts) / np.sqrt(q)

    def configuration(self, counts, r, q):
        return np.log1p(counts / r)

    def penalty(self, r, q, rows):
        return -np.log(q)


OWN = [K2(), Jeffreys(), FNML(), QNML(), Concave()]
