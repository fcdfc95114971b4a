"""Bayesian networks: a DAG with one conditional probability table per variable, and its pruning.

The joint distribution is the product over the variables of P(X | parents of X)
(Nielsen, thesis, section 3.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.argument_kinds import instance_of
from exactlearn._runtime.arguments import checked_arguments, register
from exactlearn._runtime.checkpoint import digest
from exactlearn._runtime.display import ByValue
from exactlearn._runtime.kernel import in_place_kernel
from exactlearn.bayesnet.buckets import buckets, flat_tables
from exactlearn.bayesnet.missing_parts import log_likelihood_rows
from exactlearn.data.alignment import aligned_codes
from exactlearn.data.codes import NamedVariables, check_variables
from exactlearn.data.counts import configurations
from exactlearn.data.dataset import Dataset, DatasetLike
from exactlearn.data.unseen import Unseen
from exactlearn.errors import DataError
from exactlearn.graphs.dag import topological_order
from exactlearn.graphs.equivalence import Structured

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

Floats = NDArray[np.float64]

ROW_TOLERANCE = 1e-6
"""How far from one a row of a conditional probability table may sum."""

LARGEST_TABLE = 2**27
"""The most entries of a table that is read or estimated (1 GiB)."""


@dataclass(frozen=True, eq=False, repr=False)
class BayesianNetwork(
    NamedVariables,
    Structured,
    ByValue,
    shown="n_variables arcs parameters=representational_size",
):
    """A discrete Bayesian network, checked when made.

    Networks are equal when all of the following are, bit for bit; the order of variables and states
    counts, so that one in another order is compared by ``other.reordered(network) == network``.

    Parameters
    ----------
    names
        Variable names, all different.
    states
        State names of each variable, all different within the variable.
    parents
        Parents of each variable, in the order of its table's axes.
    tables
        Conditional probabilities of each variable: one axis per parent in that order, then the
        variable's own axis last; rows sum to one within 1e-6 and are kept as given.

    Raises
    ------
    DataError
        When names, states or tables do not fit each other.
    OptionError
        When the parents hold a directed cycle.

    Examples
    --------
    >>> import exactlearn as el
    >>> network = el.read_network("asia")
    >>> network
    BayesianNetwork(variables=8, arcs=8, parameters=18)
    >>> network.arcs[:2], network.representational_size, network.order
    ((('asia', 'tub'), ('smoke', 'lung')), 18, (0, 1, 2, 3, 4, 5, 6, 7))
    >>> network == el.read_network("asia"), network.digest == el.read_network("asia").digest
    (True, True)
    >>> network.check()
    """

    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[Floats, ...]

    def __post_init__(self) -> None:
        """Check the network."""
        self.check()

    def __hash__(self) -> int:
        """Return the hash of the structure, equal for equal networks: caches look networks up."""
        return hash((self.names, self.states, self.parents))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The variables with parents before children, smallest index first."""
        return topological_order(self.parents, self.names)

    @property
    def representational_size(self) -> int:
        """Number of free parameters (Nielsen, thesis, eq. 3.21)."""
        return sum(t.size - t.size // t.shape[-1] for t in self.tables)

    @property
    def digest(self) -> str:
        """A hash of names, states, parents and tables, by which another network is recognised."""
        return digest(repr((self.names, self.states, self.parents)), *self.tables)

    def to_frame(self) -> "pd.DataFrame":
        """Return the arcs as a pandas frame: parent, child.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.read_network("cancer").to_frame()
              parent     child
        0  Pollution    Cancer
        1     Smoker    Cancer
        2     Cancer      Xray
        3     Cancer  Dyspnoea
        """
        return self.structure.to_frame()

    def to_networkx(self) -> "nx.DiGraph":
        """Return the graph for networkx; the attribute ``states`` of a node lists its states.

        Raises
        ------
        MissingExtraError
            When networkx is not installed.

        Examples
        --------
        >>> import exactlearn as el
        >>> graph = el.read_network("cancer").to_networkx()
        >>> graph.nodes["Cancer"], sorted(graph.successors("Cancer"))
        ({'states': ['True', 'False']}, ['Dyspnoea', 'Xray'])
        """
        graph = super().to_networkx()
        for name, states in zip(self.names, self.states, strict=True):
            graph.nodes[name]["states"] = list(states)
        return graph

    def table(self, name: str) -> "pd.DataFrame":
        """Return the conditional probability table of a variable as a pandas frame.

        Parameters
        ----------
        name
            The variable.

        Returns
        -------
        frame
            A row for each configuration of the parents, the last parent's states changing first,
            and a column for each state; each row sums to one.

        Raises
        ------
        OptionError
            When there is no such variable; the message suggests near names.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.read_network("asia").table("dysp")
        dysp          yes   no
        bronc either
        yes   yes     0.9  0.1
              no      0.8  0.2
        no    yes     0.7  0.3
              no      0.1  0.9
        """
        import pandas as pd

        variable = self.index(name)
        columns = pd.Index(self.states[variable], name=name)
        parents = self.parents[variable]
        names = [self.names[p] for p in parents]
        index: pd.Index[Any] = pd.Index([""])
        if parents:
            states = [self.states[p] for p in parents]
            index = pd.MultiIndex.from_product(states, names=names)
        # A single parent needs no hierarchical index.
        if len(parents) == 1:
            index = index.get_level_values(0)
        return pd.DataFrame(
            self.tables[variable].reshape(-1, len(columns)),
            index,
            columns,
        )

    def check(self) -> None:
        """Verify names, states, shapes, probabilities and acyclicity.

        Raises
        ------
        DataError
            When names, states or tables do not fit each other.
        OptionError
            When the parents hold a directed cycle.
        """
        n_parents = len(self.parents)
        n_tables = len(self.tables)
        if not len(self.names) == len(self.states) == n_parents == n_tables:
            raise DataError(
                "names, states, parents and tables must have one entry a variable, "
                f"found {len(self.names)}, {len(self.states)}, {n_parents} and {n_tables}"
            )
        check_variables(self.names, self.states)
        for variable in range(self.n_variables):
            _check_family(self, variable)
        _ = self.order

    def reordered(self, like: NamedVariables) -> "BayesianNetwork":
        """Return the network with the variables and states of another model in its order.

        Raises
        ------
        OptionError
            When the models do not have the same variables and states.

        Examples
        --------
        >>> import exactlearn as el
        >>> network = el.read_network("asia")
        >>> again = el.fit_complete(el.read_dataset("asia-mnar-complete"), network.parents)
        >>> again.states[0], network.states[0], again.reordered(network).states[0]
        (('no', 'yes'), ('yes', 'no'), ('yes', 'no'))
        """
        if (self.names, self.states) == (like.names, like.states):
            return self
        places, states = self.places(like)
        number = {v: k for k, v in enumerate(places)}
        families = []
        tables = []
        for k, v in enumerate(places):
            # Axes of a table stay, their states take the order of the model.
            family = tuple(number[p] for p in self.parents[v])
            orders = [states[axis] for axis in (*family, k)]
            table = self.tables[v][np.ix_(*orders)]
            families.append(family)
            tables.append(np.ascontiguousarray(table))
        return BayesianNetwork(like.names, like.states, tuple(families), tuple(tables))

    @checked_arguments()
    def aligned_codes(self, dataset: DatasetLike) -> NDArray[np.int16]:
        """Return a table's codes in this network's order, shape (rows, variables).

        Variables and states are matched by name; missing cells stay -1.

        Raises
        ------
        DataError
            When a variable is absent, or a row has a state that the network does not know.

        Examples
        --------
        >>> import exactlearn as el
        >>> network, table = el.read_network("asia"), el.read_dataset("asia-mnar")
        >>> table.states[0], network.states[0]
        (('no', 'yes'), ('yes', 'no'))
        >>> table.codes[0].tolist(), network.aligned_codes(table)[0].tolist()
        ([0, 0, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1])
        """
        return aligned_codes(dataset, self.names, self.states)

    @checked_arguments()
    def log_likelihood_rows(
        self,
        dataset: DatasetLike,
        *,
        unseen: Unseen = "refuse",
    ) -> Floats:
        """Return the natural logarithm of the probability of each row's observed cells.

        Parameters
        ----------
        dataset
            A :class:`~exactlearn.data.dataset.Dataset`, a frame or an array; its variables and
            states are matched by name. Missing cells are summed out, weights ignored.
        unseen
            What becomes of a state that the model does not know: ``"refuse"`` raises, ``"missing"``
            counts it as missing, with one warning.

        Returns
        -------
        log_likelihoods
            Shape (rows,); minus infinity for a row of probability zero.

        Raises
        ------
        DataError
            When a variable is absent, or a row has a state that the model does not know.
        TooLargeError
            When the missing cells of a row depend on each other too much for exact inference.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("asia-mnar")
        >>> el.read_network("asia").log_likelihood_rows(table)[:3].round(3).tolist()
        [-1.237, -1.892, -1.786]
        """
        # The families that a row observes, then those with missing cells, by inference.
        codes = aligned_codes(dataset, self.names, self.states, unseen)
        logs = log_probability_of_families(self, codes)
        incomplete = (codes < 0).any(axis=1)
        if incomplete.any():
            rows = codes[incomplete]
            tables = flat_tables(self.tables)
            layout = buckets(self.parents, self.cardinalities, rows)
            children_first = self.order[::-1]
            logs[incomplete] += log_likelihood_rows(
                layout, tables, rows, children_first
            )
        return logs

    @checked_arguments()
    def log_likelihood(self, dataset: DatasetLike) -> float:
        """Return the total of :meth:`log_likelihood_rows`, rows counted by weight.

        Raises
        ------
        DataError, TooLargeError
            As :meth:`log_likelihood_rows`.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("asia-mnar-complete")
        >>> round(el.read_network("asia").log_likelihood(table), 3)
        -214.923
        """
        return dataset.total(self.log_likelihood_rows(dataset))

    @checked_arguments()
    def sample(self, rows: int, rng: np.random.Generator) -> Dataset:
        """Draw independent complete rows by forward sampling.

        Parameters
        ----------
        rows
            Number of rows.
        rng
            Source of randomness; same generator state, same rows.

        Raises
        ------
        OptionError
            When ``rows`` is negative.

        Examples
        --------
        >>> import exactlearn as el
        >>> el.read_network("asia").sample(1000, np.random.default_rng(1))
        Dataset(rows=1000, variables=8)
        """
        codes = np.empty((self.n_variables, rows), np.int16)
        # Parents before children: each row's distribution of a variable is known by then.
        for i in self.order:
            cumulative = self.tables[i].cumsum(axis=-1)
            family = list(self.parents[i])
            configuration = configurations(codes[family].T, self.cardinalities[family])
            flat = np.ascontiguousarray(cumulative).reshape(-1, cumulative.shape[-1])
            draw(flat, configuration, rng.random(rows), codes[i])
        return Dataset(codes.T, self.names, self.states)


def _check_family(network: BayesianNetwork, i: int) -> None:
    """Verify one variable's parents and table."""
    name = network.names[i]
    family = network.parents[i]
    table = network.tables[i]
    check_parents(network.names, i, family)
    shape = tuple(len(network.states[j]) for j in (*family, i))
    if table.shape != shape or table.dtype != np.float64:
        raise DataError(
            f"variable {name!r}: expected a float64 table of shape {shape} (parents, then the "
            f"variable), found {table.dtype} {table.shape}"
        )
    if message := row_fault(i, network.names, network.states, family, table):
        raise DataError(f"{message}: correct the row")


def check_parents(names: Sequence[str], i: int, family: Sequence[int]) -> None:
    """Raise a `DataError` unless the parents of variable i are different other variables."""
    if len({*family, i}) != len(family) + 1 or any(
        not 0 <= j < len(names) for j in family
    ):
        raise DataError(
            f"variable {names[i]!r}: parents {tuple(family)} must be different indices from 0 to "
            f"{len(names) - 1}, other than its own ({i})"
        )


def row_fault(
    i: int,
    names: Sequence[str],
    states: Sequence[Sequence[str]],
    family: Sequence[int],
    table: Floats,
) -> str | None:
    """Return the message about the first row of a table that is no distribution, or ``None``.

    Parameters
    ----------
    i, family, table
        The variable, its parents and its table, parents' axes first.
    names, states
        Those of all variables.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        sums = table.sum(axis=-1)
        is_one = abs(sums - 1) <= ROW_TOLERANCE
        is_wrong = ~(is_one & (table >= 0).all(axis=-1))
    if not is_wrong.any():
        return None
    row = tuple(np.argwhere(is_wrong)[0].tolist())
    conditions = []
    for j, k in zip(family, row, strict=True):
        conditions.append(f"{names[j]}={states[j][k]}")
    given = ", ".join(conditions)
    return (
        f"variable {names[i]!r}{', given ' + given if given else ''}: expected probabilities >= 0 "
        f"that sum to one within {ROW_TOLERANCE:g}, found {table[row].tolist()} with sum "
        f"{float(sums[row])!r}"
    )


def log_probability_of_families(
    network: BayesianNetwork, codes: NDArray[np.int16]
) -> Floats:
    """Return the log probability of the families that each row observes, shape (rows,)."""
    logs = np.zeros(len(codes))
    for variable in np.flatnonzero((codes >= 0).any(axis=0)).tolist():
        cells = codes[:, [*network.parents[variable], variable]]
        observed = (cells >= 0).all(axis=1)
        rows = slice(None) if observed.all() else observed
        probabilities = network.tables[variable][tuple(cells[rows].T)]
        with np.errstate(divide="ignore"):
            logs[rows] += np.log(probabilities)
    return logs


TOLERANCE = 1e-13
"""Relative difference up to which two probabilities count as equal: rounding, nothing more."""


def normalised(network: BayesianNetwork) -> BayesianNetwork:
    """Return the network with every row of its tables divided by its sum."""
    tables = tuple(t / t.sum(axis=-1, keepdims=True) for t in network.tables)
    return replace(network, tables=tables)


def without_irrelevant_parents(network: BayesianNetwork) -> BayesianNetwork:
    """Return the network without arcs from parents that the variable does not depend on.

    Rows are compared as if normalised, and stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> tables = (np.array([0.5, 0.5]), np.array([[0.2, 0.8], [0.2, 0.8]]))
    >>> network = BayesianNetwork(("a", "b"), (("0", "1"),) * 2, ((), (0,)), tables)
    >>> without_irrelevant_parents(network).parents
    ((), ())
    """
    families = []
    tables = []
    for parents, table in zip(network.parents, network.tables, strict=True):
        rows = table / table.sum(axis=-1, keepdims=True) if parents else table
        # The last axes first, so that the places of the others stay.
        for axis in reversed(range(len(parents))):
            highest = rows.max(axis=axis)
            lowest = rows.min(axis=axis)
            if (highest - lowest <= TOLERANCE * highest).all():
                parents = (*parents[:axis], *parents[axis + 1 :])
                table = np.ascontiguousarray(table.take(0, axis))
                rows = rows.take(0, axis)
        families.append(parents)
        tables.append(table)
    if tuple(families) == network.parents:
        return network
    return replace(network, parents=tuple(families), tables=tuple(tables))


def subnetwork(network: BayesianNetwork, variables: Sequence[int]) -> BayesianNetwork:
    """Return the network of some variables, in increasing order, all their parents among them.

    Barren variables, which have no descendant among the targets and the evidence, can be left out
    (Shachter 1986, "Evaluating influence diagrams").
    """
    number = {v: k for k, v in enumerate(variables)}
    families = [tuple(map(number.__getitem__, network.parents[v])) for v in variables]
    return BayesianNetwork(
        names=tuple(network.names[v] for v in variables),
        states=tuple(network.states[v] for v in variables),
        parents=tuple(families),
        tables=tuple(network.tables[v] for v in variables),
    )


as_network = instance_of(
    BayesianNetwork,
    "a BayesianNetwork",
    "read a file with read_network(path), or estimate one with fit_complete or fit_em",
)
register(network=as_network)

NetworkLike = BayesianNetwork | Any
"""A network, or a result that has one, see :data:`~exactlearn.data.dataset.DatasetLike`."""


@in_place_kernel
def draw(
    cumulative: Floats,
    configuration: NDArray[np.int64],
    uniform: Floats,
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
