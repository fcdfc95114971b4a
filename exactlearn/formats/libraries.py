"""Networks as objects of pgmpy and pyAgrum, and back: same names, states, parents and numbers.

pgmpy (1.0 and later) keeps tables with the variable's own axis first, pyAgrum's arrays have the
variable's own axis last and its parents before it in reverse.
"""

import re
from importlib import import_module
from typing import Any

import numpy as np

from exactlearn._runtime.arguments import checked_arguments
from exactlearn.bayesnet.network import BayesianNetwork, NetworkLike
from exactlearn.data.labels import label_of
from exactlearn.errors import ArgumentError, DataError, MissingExtraError
from exactlearn.graphs.dag import arcs_by_name

_UNKEPT = re.compile("[\0\ud800-\udfff]")


def from_pgmpy(model: Any) -> BayesianNetwork:
    """Return the network of a ``DiscreteBayesianNetwork`` of pgmpy.

    Parameters
    ----------
    model
        The model, a table for each of its variables. Names and states that are no strings are
        taken as texts.

    Raises
    ------
    ArgumentError
        When it is no such model.
    DataError
        When a variable has no table, or names are equal as texts.

    Examples
    --------
    >>> import exactlearn as el
    >>> asia = el.read_network("asia")
    >>> model = to_pgmpy(asia)  # doctest: +SKIP
    >>> from_pgmpy(model).names == asia.names  # doctest: +SKIP
    True
    """
    try:
        names, tables = list(model.nodes), {table.variable: table for table in model.cpds}
    except (AttributeError, TypeError):
        raise _refusal(model, "a DiscreteBayesianNetwork of pgmpy") from None
    if absent := [name for name in names if name not in tables]:
        raise DataError(f"variable {absent[0]!r} has no table: add one with add_cpds")
    states = {name: tables[name].state_names[name] for name in names}
    arrays = []
    for name in names:
        own = tables[name]
        # A table may list the states of a parent in another order than the parent's own.
        places = (
            [own.state_names[each].index(state) for state in states[each]] for each in own.variables
        )
        arrays.append(np.moveaxis(np.asarray(own.values, np.float64)[np.ix_(*places)], 0, -1))
    return BayesianNetwork(
        tuple(map(str, names)),
        tuple(tuple(map(label_of, states[name])) for name in names),
        tuple(tuple(map(names.index, tables[name].variables[1:])) for name in names),
        tuple(map(np.ascontiguousarray, arrays)),
    )


@checked_arguments()
def to_pgmpy(network: NetworkLike) -> Any:
    """Return a network as a ``DiscreteBayesianNetwork`` of pgmpy.

    Raises
    ------
    MissingExtraError
        When pgmpy is not installed.

    Examples
    --------
    >>> import exactlearn as el
    >>> model = to_pgmpy(el.read_network("asia"))  # doctest: +SKIP
    >>> model.get_parents("lung")  # doctest: +SKIP
    ['smoke']
    """
    factors = _library("pgmpy.factors.discrete")
    model = _library("pgmpy.models").DiscreteBayesianNetwork()
    names, states = network.names, network.states
    model.add_nodes_from(names)
    model.add_edges_from(arcs_by_name(names, network.parents))
    for v, (parents, table) in enumerate(zip(network.parents, network.tables, strict=True)):
        cpd = factors.TabularCPD(
            names[v],
            len(states[v]),
            np.moveaxis(table, -1, 0).reshape(len(states[v]), -1),
            evidence=[names[parent] for parent in parents],
            evidence_card=[len(states[parent]) for parent in parents],
            state_names={names[k]: list(states[k]) for k in (*parents, v)},
        )
        model.add_cpds(cpd)
    return model


def from_pyagrum(model: Any) -> BayesianNetwork:
    """Return the network of a ``BayesNet`` of pyAgrum.

    Parameters
    ----------
    model
        The model; the states are the labels of its variables, such as ``[0;1.5[``.

    Raises
    ------
    ArgumentError
        When it is no such model.
    DataError
        When a row of a table is no distribution.

    Examples
    --------
    >>> import pyagrum  # doctest: +SKIP
    >>> import exactlearn as el
    >>> from_pyagrum(pyagrum.fastBN("a{no|yes}->b")).states[0]  # doctest: +SKIP
    ('no', 'yes')
    """
    try:
        ids = sorted(model.nodes())
        variables, tables = [model.variable(v) for v in ids], [model.cpt(v) for v in ids]
    except (AttributeError, TypeError):
        raise _refusal(model, "a BayesNet of pyAgrum") from None
    names = [variable.name() for variable in variables]
    return BayesianNetwork(
        tuple(names),
        tuple(tuple(variable.labels()) for variable in variables),
        tuple(tuple(map(names.index, table.names[1:])) for table in tables),
        # Arrays have the variables of a table in reverse.
        tuple(
            np.ascontiguousarray(np.moveaxis(table.toarray().transpose(), 0, -1))
            for table in tables
        ),
    )


@checked_arguments()
def to_pyagrum(network: NetworkLike) -> Any:
    """Return a network as a ``BayesNet`` of pyAgrum.

    Raises
    ------
    MissingExtraError
        When pyAgrum is not installed.
    DataError
        When a name holds a zero byte or half a surrogate pair.

    Examples
    --------
    >>> import exactlearn as el
    >>> model = to_pyagrum(el.read_network("asia"))  # doctest: +SKIP
    >>> model.variable("lung").labels()  # doctest: +SKIP
    ('yes', 'no')
    """
    pyagrum = _library("pyagrum")
    model = pyagrum.BayesNet()
    for name, states in zip(network.names, network.states, strict=True):
        if found := _UNKEPT.search("".join((name, *states))):
            raise DataError(f"variable {name!r}: pyAgrum keeps no {found[0]!r} in names; rename it")
        model.add(pyagrum.LabelizedVariable(name, "", list(states)))
    for parent, child in network.arcs:
        model.addArc(parent, child)
    for v, (parents, table) in enumerate(zip(network.parents, network.tables, strict=True)):
        own = model.cpt(v)
        axes = [(*parents, v).index(model.idFromName(name)) for name in own.names[::-1]]
        own[:] = np.ascontiguousarray(table.transpose(axes))
    return model


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        library = name.partition(".")[0]
        raise MissingExtraError(
            f"{library} is not installed: pip install {library}, or write a file that it reads "
            "(.bif, .xmlbif)"
        ) from None


def _refusal(value: object, expected: str) -> ArgumentError:
    return ArgumentError(f"expected {expected}, found an object of type {type(value).__name__}")
