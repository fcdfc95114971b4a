"""Networks as objects of pgmpy and pyAgrum, and back: same names, states, parents and numbers.

pgmpy (1.0 and later) keeps tables with the variable's own axis first, pyAgrum's arrays have the
variable's own axis last and its parents before it in reverse.
"""

from importlib import import_module

import numpy as np

from exactlearn.bayesnet.network import BayesianNetwork


def from_pgmpy(model):
    names, tables = list(model.nodes), {table.variable: table for table in model.cpds}
    states = {name: tables[name].state_names[name] for name in names}
    arrays = []
    for own in map(tables.get, names):
        # A table may list the states of a parent in another order than the parent's own.
        places = (
            [own.state_names[each].index(state) for state in states[each]]
            for each in own.variables
        )
        arrays.append(
            np.moveaxis(np.asarray(own.values, np.float64)[np.ix_(*places)], 0, -1)
        )
    return BayesianNetwork(
        tuple(names),
        tuple(tuple(map(str, states[name])) for name in names),
        tuple(tuple(map(names.index, tables[name].variables[1:])) for name in names),
        tuple(map(np.ascontiguousarray, arrays)),
    )


def to_pgmpy(network):
    factors = import_module("pgmpy.factors.discrete")
    model = import_module("pgmpy.models").DiscreteBayesianNetwork()
    names, states = network.names, network.states
    model.add_nodes_from(names)
    model.add_edges_from(network.arcs)
    for v, (parents, table) in enumerate(
        zip(network.parents, network.tables, strict=True)
    ):
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


def from_pyagrum(model):
    ids = sorted(model.nodes())
    variables, tables = [model.variable(v) for v in ids], [model.cpt(v) for v in ids]
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


def to_pyagrum(network):
    pyagrum = import_module("pyagrum")
    model = pyagrum.BayesNet()
    for name, states in zip(network.names, network.states, strict=True):
        model.add(pyagrum.LabelizedVariable(name, "", list(states)))
    for parent, child in network.arcs:
        model.addArc(parent, child)
    for v, (parents, table) in enumerate(
        zip(network.parents, network.tables, strict=True)
    ):
        own = model.cpt(v)
        axes = [(*parents, v).index(model.idFromName(name)) for name in own.names[::-1]]
        own[:] = np.ascontiguousarray(table.transpose(axes))
    return model
