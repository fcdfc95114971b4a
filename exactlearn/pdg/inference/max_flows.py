"""Upper bounds on the most probable states of some variables: out-flows that sum and compare.

Where the variables asked for stand above all others in the forest, comparing their states and
summing the others' in the order of the forest gives their most probable configuration; elsewhere
a maximum is taken inside a sum, which gives no less (Park and Darwiche 2003).
"""

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.kernel import kernel
from exactlearn.pdg.model.layout import Layout


@kernel
def max_sum_bounds(
    layout: Layout,
    parameters: NDArray[np.float64],
    codes: NDArray[np.int16],
    compared: NDArray[np.bool_],
    result: NDArray[np.float64],
) -> None:
    """Write for each row a bound on the probability of its best extension.

    Parameters
    ----------
    codes
        State of each variable decided, -1 elsewhere, shape (rows, variables).
    compared
        Variables asked for, shape (variables,): the best state counts, not the sum over states.
    result
        Shape (rows,); exact when all variables asked for are decided.
    """
    flow = np.empty(len(layout.variable))
    for i in range(len(codes)):
        result[i] = 1.0
        for variable in layout.order[::-1]:
            r, k = layout.cardinality[variable], layout.n_children[variable]
            code = np.int64(codes[i, variable])
            p, s = layout.first_parameter[variable], layout.first_successor[variable]
            first = layout.first_node[variable]
            for node in range(first, first + layout.n_nodes[variable]):
                total = 0.0
                for h in range(r):
                    if code < 0 or code == h:
                        product = parameters[p + h]
                        for c in range(k if product > 0.0 else 0):
                            product *= flow[layout.successors[s + h * k + c]]
                        total = max(total, product) if compared[variable] else total + product
                flow[node] = total
                p += r
                s += r * k
            if layout.forest[variable] < 0:
                result[i] *= flow[first]
