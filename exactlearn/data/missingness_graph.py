"""The missingness graph: which variables have missing cells, and what these depend on.

A variable v with missing cells has an indicator R_v, which every row observes: ``no`` where the
cell of v is observed, ``yes`` where it is missing. The parents of R_v are its causes: variables,
v itself among them (self-masking), and indicators of other variables. Indicators are no parents of
variables. Together with the DAG of the variables this is the missingness graph of Mohan, Pearl and
Tian 2013, "Graphical models for inference with missing data", without latent variables.

As text it is one statement for each variable with missing cells, separated by semicolons or lines::

    income <- age, income; children <- missing(income); smoke <-

Here cells of income are missing depending on age and on the income itself, those of children
depending on whether the income is missing, and those of smoke depending on nothing. A name that
holds a comma, a semicolon or ``<-`` cannot be written so: make a :class:`MissingnessGraph` of it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, Self

import numpy as np

from exactlearn._runtime.argument_kinds import refusal
from exactlearn._runtime.display import Displayed
from exactlearn.data.codes import MISSING, repeated
from exactlearn.data.dataset import Dataset
from exactlearn.errors import DataError, FormatError, OptionError, did_you_mean
from exactlearn.graphs.dag import ancestors, topological_order

MissingnessKind = Literal["MCAR", "MAR", "MNAR"]

INDICATOR = "\0missing "
"""What the names of the indicators of a table begin with: no column of a file has such a name."""


@dataclass(frozen=True, repr=False)
class MissingnessGraph(Displayed, shown="kind variables"):
    """Which variables have missing cells, and what their indicators depend on.

    Parameters
    ----------
    causes
        For each variable with missing cells, by name, the variables that its indicator depends on:
        none, others, or itself.
    indicator_causes
        For a variable with missing cells, the variables whose indicators its own depends on;
        variables without such causes may be left out.

    Raises
    ------
    OptionError
        When a cause is named twice, an indicator is that of a variable without missing cells, or
        indicators depend on each other in a circle.

    Examples
    --------
    >>> graph = MissingnessGraph.parse("income <- age; children <- missing(income)")
    >>> graph.kind
    'MAR'
    >>> str(graph)
    'income <- age; children <- missing(income)'
    >>> graph.variables, graph.statements
    (('income', 'children'), ('income <- age', 'children <- missing(income)'))
    """

    causes: Mapping[str, tuple[str, ...]]
    indicator_causes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the graph, and leave out empty lists of indicators: equal graphs compare equal."""
        causes = {name: tuple(named) for name, named in self.causes.items()}
        indicators = {}
        for name, named in self.indicator_causes.items():
            if named:
                indicators[name] = tuple(named)
        vars(self).update(causes=causes, indicator_causes=indicators)
        # Indicators are those of variables that have missing cells.
        for name, indicator_causes in indicators.items():
            for variable in (name, *indicator_causes):
                if variable not in causes:
                    raise OptionError(
                        f"missingness graph: missing({variable}) is a cause or has one, but "
                        f"{variable!r} has no missing cells; add the statement '{variable} <-', or "
                        "remove it"
                    )
        # Each cause once.
        for name, named in (*causes.items(), *indicators.items()):
            if twice := repeated(named):
                raise OptionError(
                    f"missingness graph: {name!r} has the cause {twice[0]!r} twice; name it once"
                )
        # Indicators that cause each other form a DAG.
        try:
            labels = [f"missing({name})" for name in causes]
            topological_order(self._indicator_parents, labels)
        except OptionError as error:
            raise OptionError(f"missingness graph: {error}") from None

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables with missing cells."""
        return tuple(self.causes)

    @property
    def _indicator_parents(self) -> list[list[int]]:
        """The indicators that each one depends on, by index."""
        order = self.variables
        parents = []
        for name in order:
            causes = self.indicator_causes.get(name, ())
            parents.append([*map(order.index, causes)])
        return parents

    @property
    def kind(self) -> MissingnessKind:
        """Missing completely at random, at random, or not at random.

        MCAR: no indicator depends on a variable. MAR: they depend on variables without missing
        cells only. MNAR: one depends on a variable that has missing cells, perhaps its own.
        Indicators as causes change nothing: they are observed.
        """
        # Indicators as causes are observed, and change nothing.
        all_causes = {*chain.from_iterable(self.causes.values())}
        if not all_causes:
            return "MCAR"
        return "MNAR" if all_causes & self.causes.keys() else "MAR"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the graph that a text writes, in the grammar of this module.

        Raises
        ------
        FormatError
            When the text does not follow the grammar; says where.
        OptionError
            As the class does.
        """
        causes: dict[str, tuple[str, ...]] = {}
        indicator_causes: dict[str, tuple[str, ...]] = {}
        for statement in filter(None, map(str.strip, re.split(r"[;\n]", text))):
            name, arrow, listed = map(str.strip, statement.partition("<-"))
            # A statement: a name, an arrow, and its causes, perhaps none.
            items = [item.strip() for item in listed.split(",")] if listed else []
            if not name or not arrow or "" in items or "<-" in listed:
                raise FormatError(
                    f"missingness graph: expected statements such as 'income <- age, income', "
                    f"with ';' or a new line between them, found {statement!r}"
                )
            if name in causes:
                raise FormatError(
                    f"missingness graph: two statements for {name!r}; put all its causes into one"
                )
            variables: list[str] = []
            indicators: list[str] = []
            for item in items:
                match = re.fullmatch(r"missing *\((.+)\)", item)
                if match is None:
                    variables.append(item)
                else:
                    indicators.append(match[1].strip())
            causes[name] = tuple(variables)
            indicator_causes[name] = tuple(indicators)
        return cls(causes, indicator_causes)

    @property
    def statements(self) -> tuple[str, ...]:
        """The statement of each variable with missing cells, in the grammar of this module."""
        statements = []
        for name, family in self._families("missing({})").items():
            statements.append(f"{name} <- {', '.join(family)}".rstrip(" "))
        return tuple(statements)

    def _families(self, indicator: str) -> dict[str, list[str]]:
        """Return the causes of each variable's indicator, first variables and then indicators.

        Parameters
        ----------
        indicator
            The name of the indicator of a variable, to be formatted with that.
        """
        families = {}
        for name, causes in self.causes.items():
            indicators = self.indicator_causes.get(name, ())
            families[name] = [*causes, *map(indicator.format, indicators)]
        return families

    def __str__(self) -> str:
        """Return the text of the graph, as :meth:`parse` takes it."""
        return "; ".join(self.statements)

    def all_causes(self, variables: Iterable[str]) -> frozenset[str]:
        """Return the variables that indicators depend on, also through other indicators.

        Examples
        --------
        >>> graph = MissingnessGraph.parse("a <- x; b <- missing(a); c <- missing(b), y")
        >>> sorted(graph.all_causes(["b"])), sorted(graph.all_causes(["c"]))
        (['x'], ['x', 'y'])
        """
        order = self.variables
        # Through indicators of other variables, to the variables that these depend on.
        indicators = ancestors(self._indicator_parents, map(order.index, variables))
        causes = [self.causes[order[k]] for k in indicators]
        return frozenset(chain.from_iterable(causes))

    def check(self, names: Sequence[str]) -> None:
        """Raise an `OptionError` if a variable of the graph is not among some names.

        Examples
        --------
        >>> import exactlearn as el
        >>> MissingnessGraph.parse("lung <- smoke").check(el.read_network("asia").names)
        """
        for name, causes in self.causes.items():
            for variable in (name, *causes):
                if variable not in names:
                    raise OptionError(
                        f"missingness graph: {variable!r} is no variable"
                        f"{did_you_mean(variable, names)}"
                    )

    def check_table(self, dataset: Dataset) -> None:
        """Raise an error if a graph does not fit a table.

        Raises
        ------
        OptionError
            When a variable of the graph is no column of the table.
        DataError
            When a column has missing cells and the graph has no indicator for it.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("earthquake-mar")
        >>> graph = MissingnessGraph({name: () for name in table.names})
        >>> graph.check_table(table)
        """
        self.check(dataset.names)
        for name, column in zip(dataset.names, dataset.codes.T, strict=True):
            if name not in self.causes and MISSING in column:
                row = int(np.argmax(column == MISSING))
                place = dataset.row_place(row)
                raise DataError(
                    f"column {name!r}, {place}: a missing cell, but the missingness graph says "
                    "that this variable has none; add the "
                    f"statement '{name} <- ...' with what its missing cells depend on"
                )

    def parents(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the parents of each indicator, by index.

        Parameters
        ----------
        names
            Names of all variables; the indicators follow them in the order of :attr:`variables`,
            as in :meth:`extended`.

        Examples
        --------
        >>> MissingnessGraph.parse("a <- x; b <- missing(a)").parents(["a", "b", "x"])
        [(2,), (3,)]
        """
        self.check(names)
        places = [*names, *self._indicators]
        families = []
        for family in self._families(INDICATOR + "{}").values():
            families.append(tuple(map(places.index, family)))
        return families

    @property
    def _indicators(self) -> list[str]:
        """The names of the indicators."""
        return [f"{INDICATOR}{name}" for name in self.causes]

    def extended(self, dataset: Dataset) -> Dataset:
        """Return a table with the indicators as its last columns, states ``no`` and ``yes``.

        Examples
        --------
        >>> table = Dataset(np.array([[0, -1], [1, 0]]), ("x", "a"), (("no", "yes"),) * 2)
        >>> MissingnessGraph.parse("a <- x").extended(table).codes.tolist()
        [[0, -1, 1], [1, 0, 0]]
        """
        if not self.causes:
            return dataset
        columns = [*map(dataset.names.index, self.causes)]
        missing = dataset.codes[:, columns] == MISSING
        return replace(
            dataset,
            codes=np.column_stack([dataset.codes, missing]),
            names=(*dataset.names, *self._indicators),
            states=(*dataset.states, *[("no", "yes")] * len(columns)),
        )


def as_missingness_graph(value: Any, name: str = "missingness") -> MissingnessGraph:
    """Return a missingness graph; a string is its text.

    Raises
    ------
    ArgumentError
        When it is neither.
    FormatError, OptionError
        As :meth:`MissingnessGraph.parse`.
    """
    if isinstance(value, MissingnessGraph):
        return value
    if isinstance(value, str):
        return MissingnessGraph.parse(value)
    instead = "read a file with read_missingness(path), or pass its text"
    raise refusal(
        name,
        "a MissingnessGraph or its text, as 'income <- age'",
        value,
        instead,
    )


IGNORABLE = MissingnessGraph({})
"""No indicators: missing cells that do not depend on their values are left out of the model."""
