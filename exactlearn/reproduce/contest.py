"""Which of decision graphs, networks and naive Bayes models is most likely, told plainly."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from exactlearn.reproduce.study import Row

LANGUAGES = ("PDG", "BN", "NB")
"""Decision graphs (any method whose name begins so), networks, naive Bayes models."""


@dataclass(frozen=True)
class Match:
    """What the languages come to on the same rows.

    Parameters
    ----------
    table, experiment
        Where.
    best
        Of each language there is, the row that is most likely on rows not learnt from.
    """

    table: str
    experiment: str
    best: Mapping[str, Row]

    @property
    def winner(self) -> str:
        """The language most likely on rows not learnt from, the first of `LANGUAGES` at a tie."""
        return max(self.best, key=lambda language: self.best[language].log_likelihood)

    @property
    def ahead(self) -> float:
        """By how much the winner is more likely than the next one, in nats per row."""
        first, second = sorted((r.log_likelihood for r in self.best.values()), reverse=True)[:2]
        return first - second

    @property
    def smallest(self) -> str:
        """The language of the smallest of these models."""
        return min(self.best, key=lambda language: self.best[language].size)


def matches(rows: Sequence[Row]) -> Iterator[Match]:
    """Return the experiments in which decision graphs stand beside another language."""
    for table, experiment in dict.fromkeys((row.table, row.experiment) for row in rows):
        own = [row for row in rows if (row.table, row.experiment) == (table, experiment)]
        best = {}
        for language in LANGUAGES:
            known = [
                row
                for row in own
                if row.method.startswith(language) and row.log_likelihood == row.log_likelihood
            ]
            if known:
                best[language] = max(known, key=lambda row: row.log_likelihood)
        if "PDG" in best and len(best) > 1:
            yield Match(table, experiment, best)
