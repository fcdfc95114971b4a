"""The trade-off of log-likelihood and size, for every language of models.

    S(lambda) = (1-lambda) L - lambda size        (THESIS, 4.8 and 4.40)

L is the total log-likelihood in nats, so the same lambda weighs the size less the more rows there
are. PDG-SEM's footnote 2 and THESIS, (4.48) and Algorithm 4.9, weigh the log-likelihood per row
instead; below (4.8) the thesis prints the weight of L, 1-lambda, as that of the size.
"""

from math import inf, log

from exactlearn.errors import DataError, OptionError


def bic_size_weight(total_weight: float) -> float:
    """Return the lambda of BIC for so many rows: log N / (2 + log N). That of AIC is 1/2.

    Raises
    ------
    DataError
        If there are no rows.
    """
    if not 0 < total_weight < inf:
        raise DataError(f"BIC needs rows of positive weight, found {total_weight}: no rows to fit")
    return size_weight_of(max(0.0, log(total_weight)) / 2)


def check_size_weight(size_weight: float) -> None:
    """Raise an `OptionError` if lambda is not from 0 to 1."""
    if not 0 <= size_weight <= 1:
        raise OptionError(f"size_weight {size_weight}: give a number from 0 to 1")


def rate_of(size_weight: float) -> float:
    """Return the log-likelihood that one cell of size must gain, in nats; infinite for lambda 1.

    Raises
    ------
    OptionError
        If lambda is not from 0 to 1.
    """
    check_size_weight(size_weight)
    return size_weight / (1 - size_weight) if size_weight < 1 else inf


def size_weight_of(rate: float) -> float:
    """Return the lambda under which one cell of size must gain so many nats."""
    return rate / (1 + rate)
