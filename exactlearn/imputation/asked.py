"""What imputers ask for the values of cells: networks, and why the cells are missing."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.bayesnet.row_completion import draw_completions, most_probable_completion
from exactlearn.data.dataset import Dataset
from exactlearn.imputation.averaging import averaged_posterior
from exactlearn.imputation.learning import Learning
from exactlearn.imputation.mechanism import NOTHING_TOLD, Mechanism, learned_mechanism


@dataclass(frozen=True, eq=False)
class Asked:
    """Networks with an indicator for each variable whose missing cells tell something.

    Parameters
    ----------
    networks
        To average over; the first one answers what one network answers.
    mechanism
        What the missing cells depend on.
    """

    networks: tuple[BayesianNetwork, ...] = ()
    mechanism: Mechanism = NOTHING_TOLD

    @classmethod
    def of(cls, dataset: Dataset, networks: tuple[BayesianNetwork, ...], how: Learning) -> "Asked":
        """Learn why cells are missing, if asked to, and fit the networks anew where that matters.

        Parameters
        ----------
        dataset
            The table that the networks were learned from.
        networks
            Networks that know nothing of why cells are missing.
        how
            Tells whether to learn that, and the pseudo-count of parameters.
        """
        if how.missingness == "ignored" or not networks:
            return cls(networks)
        mechanism = learned_mechanism(dataset, networks)
        if not mechanism.causes:
            return cls(networks)
        fitted = (mechanism.fitted(dataset, known.parents, how.alpha) for known in networks)
        return cls(tuple(fitted), mechanism)

    @property
    def network(self) -> BayesianNetwork | None:
        """The first network without its indicators, which are its last variables."""
        if not self.networks or not self.mechanism.causes:
            return self.networks[0] if self.networks else None
        first = self.networks[0]
        end = first.n_variables - len(self.mechanism.causes)
        return BayesianNetwork(
            first.names[:end], first.states[:end], first.parents[:end], first.tables[:end]
        )

    def posterior(self, table: Dataset) -> NDArray[np.float64]:
        """Return the mean distribution of each missing cell, as `averaged_posterior`."""
        return averaged_posterior(self.networks, self.mechanism.extended(table))

    def most_probable(self, table: Dataset) -> NDArray[np.int64]:
        """Return the jointly most probable states of each row's missing cells."""
        return most_probable_completion(self.networks[0], self.mechanism.extended(table))

    def drawn(self, table: Dataset, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw completions from the joint posterior of each row, shape (draws, cells)."""
        return draw_completions(self.networks[0], self.mechanism.extended(table), draws, rng)
