"""A row of a table of THESIS: what was found, beside the published point."""

from collections.abc import Mapping
from math import nan

from exactlearn.reproduce.study import Row
from exactlearn.reproduce.thesis_figures import Point


def thesis_row(
    told: tuple[str, str, str], found: Mapping[str, float | None], published: Point
) -> Row:
    """Return a row, with the published point in nats.

    Parameters
    ----------
    told
        Table, experiment and method.
    found
        ``train`` and ``test``, the log-likelihoods per row in nats, ``size`` and ``seconds``, as
        they are recorded: nothing for what is not known.
    published
        The thesis's point, in bits.
    """
    table, experiment, method = told
    return Row(
        table=table,
        experiment=experiment,
        method=method,
        repetitions=1,
        train_log_likelihood=found["train"],
        log_likelihood=_number(found["test"]),
        size=_number(found["size"]),
        seconds=_number(found["seconds"]),
        published_train=published.train_nats,
        published=published.test_nats,
        published_size=published.size,
    )


def _number(value: float | None) -> float:
    """Return a number, NaN where none is known."""
    return nan if value is None else value
