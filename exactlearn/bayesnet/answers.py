"""Answers of queries: posteriors of one case, of the rows of a table, and classes of rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.display import ByValue, Displayed
from exactlearn.data.counts import weighted_mean

if TYPE_CHECKING:
    import pandas as pd

Evidence = Mapping[str, str | float]
"""The state of each observed variable.

A number is the state of that name, or stands for the bin that it lies in.
"""

MAX_SHOWN = 3
"""Most targets whose posteriors stand in the ``repr`` of an answer."""


@dataclass(frozen=True, repr=False)
class Answer(Displayed):
    """The answer to a query.

    Parameters
    ----------
    posterior
        For each target, the probability of each of its states given the evidence.
    probability_of_evidence, log_probability_of_evidence
        The first may underflow to zero when there is much evidence, the natural logarithm not.
    evidence
        What was given: for each variable that was observed or set its state, with the weight 1.
    model
        The model that was asked; under an intervention the network without the arcs into the
        variables that were set.
    do
        What was set by intervention.

    Examples
    --------
    >>> import exactlearn as el
    >>> answer = el.query(el.read_network("asia"), {"smoke": "yes"}, ["lung", "bronc"])
    >>> answer
    Answer(lung: yes 0.1, no 0.9; bronc: yes 0.6, no 0.4; P(evidence) 0.5)
    >>> round(answer.posterior["lung"]["yes"], 4), round(answer.probability_of_evidence, 4)
    (0.1, 0.5)
    >>> answer.evidence
    {'smoke': {'yes': 1.0}}
    """

    posterior: dict[str, dict[str, float]]
    probability_of_evidence: float
    log_probability_of_evidence: float
    evidence: dict[str, dict[str, float]] = field(default_factory=dict)
    model: Any = field(default=None, compare=False)
    do: Evidence = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the posteriors of the first targets, and the probability of the evidence."""
        parts = []
        for name in list(self.posterior)[:MAX_SHOWN]:
            states = self.posterior[name].items()
            texts = [f"{state} {p:.4g}" for state, p in states]
            parts.append(f"{name}: {', '.join(texts)}")
        n_hidden = len(self.posterior) - MAX_SHOWN
        if n_hidden > 0:
            parts.append(f"{n_hidden} more")
        parts.append(f"P(evidence) {self.probability_of_evidence:.4g}")
        return f"Answer({'; '.join(parts)})"

    def to_frame(self) -> "pd.DataFrame":
        """Return the posteriors as a frame: variable, state, probability.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.query(el.read_network("asia"), {"smoke": "yes"}, "lung").to_frame()
          variable state  probability
        0     lung   yes          0.1
        1     lung    no          0.9
        """
        import pandas as pd

        rows = [
            (name, state, p)
            for name, states in self.posterior.items()
            for state, p in states.items()
        ]
        return pd.DataFrame(rows, columns=["variable", "state", "probability"])


@dataclass(frozen=True, eq=False, repr=False)
class TableAnswer(ByValue, shown="targets=names rows=log_probability_of_evidence"):
    """Posterior probabilities for each row of a table.

    Parameters
    ----------
    names, states
        The targets and their states.
    posteriors
        For each target its posterior, shape (rows, states); an observed cell has 1 at its state.
    log_probability_of_evidence
        Of the observed cells, natural logarithm, shape (rows,); ``-inf`` for an impossible row,
        whose posteriors are NaN.
    row_index
        Index of the frame whose rows these are.
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    posteriors: tuple[NDArray[np.float64], ...]
    log_probability_of_evidence: NDArray[np.float64]
    row_index: "pd.Index | None" = field(default=None, compare=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return the posteriors as a pandas frame, one column for each (variable, state)."""
        import pandas as pd

        columns = [
            (name, state)
            for name, states in zip(self.names, self.states, strict=True)
            for state in states
        ]
        index = pd.MultiIndex.from_tuples(columns, names=["variable", "state"])
        return pd.DataFrame(np.hstack(self.posteriors), self.row_index, index)


@dataclass(frozen=True, eq=False, repr=False)
class Classification(ByValue, shown="name rows=predicted accuracy log_loss"):
    """The posterior of one variable for each row.

    Parameters
    ----------
    name, states
        The class and its states.
    posterior
        Shape (rows, states); NaN for a row that is impossible without its class.
    predicted
        Most probable state, the first of equal ones; -1 for an impossible row. Shape (rows,).
    labels
        State in the table, -1 where missing, shape (rows,).
    weights
        Weight of each row, by which accuracy and loss count it, shape (rows,).
    row_index
        Index of the frame whose rows these are.
    """

    name: str
    states: tuple[str, ...]
    posterior: NDArray[np.float64]
    predicted: NDArray[np.int64]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]
    row_index: "pd.Index | None" = field(default=None, compare=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return the posterior as a pandas frame: a column for each state, then the prediction."""
        import pandas as pd

        columns = pd.Index(self.states, name=self.name)
        frame = pd.DataFrame(self.posterior, self.row_index, columns)
        predicted = pd.Categorical.from_codes(self.predicted, pd.Index(self.states))
        return frame.assign(predicted=predicted)

    @property
    def labelled_weights(self) -> NDArray[np.float64]:
        """Weight of each row, 0 where it has no label, shape (rows,)."""
        return np.where(self.labels >= 0, self.weights, 0.0)

    @property
    def losses(self) -> NDArray[np.float64]:
        """Minus the logarithm of the posterior of each row's label, in nats, shape (rows,).

        Infinite where that is zero, or the row is impossible; NaN where the row has no label.
        """
        row = np.arange(len(self.labels))
        probability = self.posterior[row, self.labels]
        with np.errstate(divide="ignore"):
            losses = -np.log(np.nan_to_num(probability))
        return np.where(self.labels >= 0, losses, np.nan)

    @property
    def accuracy(self) -> float:
        """Share of the weight of the labelled rows whose label was predicted; NaN without any."""
        return weighted_mean(self.predicted == self.labels, self.labelled_weights)

    @property
    def log_loss(self) -> float:
        """Mean loss of the labelled rows by their weights, in nats; NaN when no row is labelled."""
        return weighted_mean(self.losses, self.labelled_weights)
