"""Learning of decision graphs, repeated: the tables of THESIS and PDG-SEM, with their notes."""

from collections.abc import Callable, Iterator, Mapping

from exactlearn.reproduce.incomplete import table1
from exactlearn.reproduce.random_tables import random
from exactlearn.reproduce.runner import Setup
from exactlearn.reproduce.study import Row, published
from exactlearn.reproduce.thesis import hybrid, languages, logic, synthetic

Study = Callable[[Setup], Iterator[Row]]
"""Yields the rows of a table."""

STUDIES: Mapping[str, Study] = {
    "logic": logic,
    "languages": languages,
    "hybrid": hybrid,
    "synthetic": synthetic,
    "table1": table1,
    "random": random,
}
"""THESIS, Tables 4.3, 5.7, 5.10 and 5.11; PDG-SEM, Table 1 and sections 6.1 and 6.2."""

_THESIS, _PDG_SEM = published("thesis")["notes"], published("pdg_sem")["notes"]

NOTES: Mapping[str, str] = {
    **{table: f"{note} {_THESIS['bits']}" for table, note in _THESIS.items() if table in STUDIES},
    **_PDG_SEM,
}
"""What a reader must know beside each table."""
