r"""Prediction by the average over networks, with the parameters integrated out.

A row x is predicted by the mean of its probability over networks G of the posterior, of which some
are drawn (Madigan and Raftery 1994, "Model selection and accounting for model uncertainty"):

.. math:: P(x \mid D) = \sum_G P(G \mid D) \prod_i P(x_i \mid pa_i, D), \qquad
          P(x_i \mid pa_i, D) = \frac{N_{jk} + \alpha}{N_j + r \alpha} .

The mean of probabilities is taken, not of logarithms; evidence e therefore gives each network a
weight in proportion to P(e | G, D). Theorem *Averaged prediction*, docs/theory/posterior.md.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import product, starmap
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.arguments import checked_arguments
from exactlearn._runtime.display import ByValue
from exactlearn.bayesnet.complete_data import full_counts, smoothed
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import eliminated
from exactlearn.bayesnet.smoothing_choice import choose_smoothing
from exactlearn.bayesnet.variable_elimination import eliminate_to_joint
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.codes import MISSING, NamedVariables
from exactlearn.data.dataset import DatasetLike
from exactlearn.data.unseen import Unseen
from exactlearn.errors import OptionError

if TYPE_CHECKING:
    import pandas as pd

    from exactlearn.structure.structure_posterior import StructurePosterior

Floats = NDArray[np.float64]

Smoothing = float | Literal["bdeu"] | None
"""A pseudo-count of each cell; that of the score; or the one that predicts held-out rows best."""

INTERVAL = (0.05, 0.95)
"""Quantiles at the ends of an interval of 90 %."""


@dataclass(frozen=True, eq=False, repr=False)
class NetworkMixture(NamedVariables, ByValue, shown="n_variables"):
    """Networks with weights, which answer queries by the mean of their probabilities.

    Parameters
    ----------
    names, states
        The variables and their states.
    networks
        The networks, over these variables and states.
    weights
        Probability of each network, summing to one; shape (networks,).

    Examples
    --------
    >>> import exactlearn as el
    >>> mixture = el.posterior(el.read_dataset("cancer-mcar-complete")).mixture(n=100)
    >>> mixture.n_variables, round(float(mixture.weights.sum()), 6)
    (5, 1.0)
    >>> el.query(mixture, {"Xray": "positive"}, "Dyspnoea").evidence
    {'Xray': {'positive': 1.0}}
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    networks: tuple[BayesianNetwork, ...]
    weights: Floats

    @checked_arguments()
    def log_likelihood_rows(
        self, dataset: DatasetLike, *, unseen: Unseen = "refuse"
    ) -> Floats:
        """Return the logarithm of the mean probability of each row's observed cells.

        Parameters
        ----------
        dataset, unseen
            As for :meth:`exactlearn.BayesianNetwork.log_likelihood_rows`.

        Returns
        -------
        log_likelihoods
            In nats, shape (rows,).

        Raises
        ------
        DataError
            When a variable is absent, or a row has a state that the networks do not know.
        TooLargeError
            When the missing cells of a row depend on each other too much for exact inference.
        """
        codes = aligned_codes(dataset, self.names, self.states, unseen)
        return self.row_posteriors(codes)[1]

    def row_posteriors(self, codes: NDArray[np.int16]) -> tuple[Floats, Floats]:
        """Return posterior marginals and the log-likelihood of the observed cells of each row.

        Parameters
        ----------
        codes
            In the order of the variables, -1 for a missing cell; shape (rows, variables).

        Returns
        -------
        posteriors, log_likelihoods
            Shape (rows, states of all variables one after the other), an observed cell with 1 at
            its state; and shape (rows,), ``-inf`` for a row that all networks hold impossible.
        """
        mean: Any = 0.0
        logs: Any = -np.inf
        for network, weight in zip(self.networks, self.weights, strict=True):
            posteriors, log_joint = eliminated(network, codes)
            log_joint += np.log(weight)
            logs = np.logaddexp(logs, log_joint)
            # Each network counts by its part of the probability of the row's evidence.
            with np.errstate(invalid="ignore"):
                part = np.nan_to_num(np.exp(log_joint - logs))
            mean = mean + part[:, np.newaxis] * (posteriors - mean)
        # Rounding may leave logarithms above zero.
        return mean, np.minimum(logs, 0.0)


def mixture_of(
    posterior: "StructurePosterior", n: int, smoothing: Smoothing, seed: int
) -> NetworkMixture:
    """Return networks drawn from a posterior, with the means of their parameters.

    The parameters are as in :meth:`StructurePosterior.mixture`; a family is estimated once.
    """
    rng = np.random.default_rng(seed)
    states, counts, networks = _draw(posterior, n, smoothing, rng)

    @cache
    def table(child: int, parents: tuple[int, ...]) -> Floats:
        return smoothed(counts(child, parents), 0.0)

    repetitions = Counter(networks)
    models = []
    for parents in repetitions:
        tables = tuple(starmap(table, enumerate(parents)))
        models.append(BayesianNetwork(posterior.names, states, parents, tables))
    weights = np.array(list(repetitions.values())) / n
    return NetworkMixture(posterior.names, states, tuple(models), weights)


def effect_under(
    posterior: "StructurePosterior", cause: int, outcome: int, n: int, seed: int
) -> "pd.DataFrame":
    """Return the mean and the interval of P(outcome | do(cause)) as a frame.

    The parameters are as in :meth:`StructurePosterior.effect`; variables are given by index.
    """
    import pandas as pd

    names = posterior.names
    if cause == outcome:
        raise OptionError(
            f"effect: {names[cause]!r} is both cause and outcome; name two variables"
        )
    rng = np.random.default_rng(seed)
    states, counts, networks = _draw(posterior, n, "bdeu", rng)
    observed = np.full(len(names), MISSING, np.int16)
    effects = []
    for parents in networks:
        # Without its parents the cause may be observed in place of set.
        cut = list(parents)
        cut[cause] = ()
        tables = []
        for table in starmap(counts, enumerate(cut)):
            tables.append(np.apply_along_axis(rng.dirichlet, -1, table))
        # Its own distribution does not matter, but no state may be impossible.
        tables[cause] = smoothed(counts(cause, ()), 0.0)
        network = BayesianNetwork(names, states, tuple(cut), tuple(tables))
        joint, _ = eliminate_to_joint(network, observed, [cause, outcome])
        effects.append(smoothed(joint, 0.0))
    # A row for each state of the cause and of the outcome.
    lower, upper = np.quantile(effects, INTERVAL, axis=0)
    rows = product(states[cause], states[outcome])
    return pd.DataFrame(rows, columns=["cause", "outcome"]).assign(
        mean=np.mean(effects, axis=0).ravel(),
        lower=lower.ravel(),
        upper=upper.ravel(),
    )


class _Drawn(NamedTuple):
    """Networks drawn from a posterior, and the counts of their families.

    Attributes
    ----------
    states
        The states of the variables.
    counts
        The counts of a child and its parents, by index, with pseudo-counts: an axis for each
        parent, the child's axis last.
    networks
        The parents of each variable, by index.
    """

    states: tuple[tuple[str, ...], ...]
    counts: Callable[[int, tuple[int, ...]], Floats]
    networks: Sequence[tuple[tuple[int, ...], ...]]


def _draw(
    posterior: "StructurePosterior",
    n: int,
    smoothing: Smoothing,
    rng: np.random.Generator,
) -> _Drawn:
    """Draw networks, and return them with the counts of their families.

    Raises
    ------
    OptionError
        As :meth:`StructurePosterior.mixture`.
    """
    dataset = posterior.dataset
    learned = posterior.learned
    if dataset is None or not (dataset.is_complete or learned):
        raise OptionError(
            "parameters are estimated from complete rows or from expected counts, and this"
            " posterior has neither: make it from the table, posterior(table), with"
            " missing='expected' where cells are missing"
        )
    counts = learned.counts.family if learned else partial(full_counts, dataset)
    # BDeu spreads its pseudo-counts over all cells of a family.
    ess: Any = getattr(posterior.score, "ess", None)
    if smoothing == "bdeu" and ess is None:
        raise OptionError(
            "the pseudo-counts of the score are those of BDeu: make the posterior with score='bdeu'"
        )
    if smoothing is None:
        smoothing = choose_smoothing(dataset, posterior.best).smoothing

    @cache
    def pseudo_counted(child: int, parents: tuple[int, ...]) -> Floats:
        table = counts(child, parents)
        return table + (ess / table.size if smoothing == "bdeu" else smoothing)

    return _Drawn(dataset.states, pseudo_counted, posterior.networks.draw(n, rng))
