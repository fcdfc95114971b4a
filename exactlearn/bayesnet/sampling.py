"""Drawing states from the rows of a conditional probability table."""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel


@kernel
def draw(
    cumulative: NDArray[np.float64],
    configuration: NDArray[np.int64],
    uniform: NDArray[np.float64],
    codes: NDArray[np.int16],
) -> None:
    """Write into ``codes`` the state where each cumulated row passes its uniform number.

    Parameters
    ----------
    cumulative
        Cumulated probabilities, shape (configurations, states).
    configuration, uniform, codes
        Row of ``cumulative``, number in [0, 1), and drawn state: shape (rows,) each.
    """
    last = cumulative.shape[1] - 1
    for row in range(len(uniform)):
        steps = cumulative[configuration[row]]
        # Scaling by the row's own sum keeps states of probability zero undrawn.
        level = uniform[row] * steps[last]
        state = 0
        while state < last and steps[state] <= level:
            state += 1
        codes[row] = state
