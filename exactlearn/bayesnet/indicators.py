"""EM with the indicators of a missingness graph as variables: beyond missing at random.

The indicators become sinks of the network, and EM fits the parameters of both to the observed cells
and to which cells are missing. Its likelihood is that of the whole model, so that the estimate is
consistent whenever the graph is right and the whole model is identified, also where cells are
missing not at random.
"""

from typing import Any

from exactlearn._runtime.arguments import ParentsLike, checked_arguments
from exactlearn.bayesnet.em import fit_em
from exactlearn.bayesnet.em_result import EMResult
from exactlearn.bayesnet.network import BayesianNetwork
from exactlearn.data.dataset import DatasetLike
from exactlearn.data.missingness_graph import MissingnessGraph, as_missingness_graph


@checked_arguments(missingness=as_missingness_graph)
def fit_with_indicators(
    dataset: DatasetLike,
    parents: ParentsLike,
    missingness: MissingnessGraph,
    **options: Any,
) -> EMResult[BayesianNetwork]:
    """Fit a network with the indicators of a missingness graph as its last variables by EM.

    Parameters
    ----------
    dataset
        Table with missing cells.
    parents
        Parents of each of its variables.
    missingness
        What the missing cells depend on; its text will do.
    options
        Those of :func:`~exactlearn.bayesnet.em.fit_em`.

    Returns
    -------
    EMResult
        With the network of both; :func:`without_indicators` drops the indicators.

    Examples
    --------
    >>> import numpy as np
    >>> from exactlearn.data.dataset import Dataset
    >>> data = Dataset(np.array([[0], [0], [1], [-1]]), ("a",), (("no", "yes"),))
    >>> whole = fit_with_indicators(data, [()], "a <-", smoothing=0.0).model
    >>> [table.round(3) for table in whole.tables]
    [array([0.667, 0.333]), array([0.75, 0.25])]
    >>> without_indicators(whole, MissingnessGraph({"a": ()})).names
    ('a',)
    """
    families = [*parents, *missingness.parents(dataset.names)]
    return fit_em(missingness.extended(dataset), families, **options)


def without_indicators(network: BayesianNetwork, missingness: MissingnessGraph) -> BayesianNetwork:
    """Return a network without the indicators of a missingness graph, its last variables."""
    n = network.n_variables - len(missingness.causes)
    return BayesianNetwork(
        network.names[:n], network.states[:n], network.parents[:n], network.tables[:n]
    )
