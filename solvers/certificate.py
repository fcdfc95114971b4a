"""The proof of an optimum as a file that anyone can check: its format, writing and reading.

A certificate is one JSON object. Numbers are whole, or decimal numbers in quotes; variables and
clusters are numbered from 0. :mod:`exactlearn.solvers.certificate_checker`, which stands alone,
checks it against the scores.

``format``
    ``"exactlearn certificate 1"``.
``variables``
    Their names; the scores may list them in another order.
``restrictions``
    What networks are considered: ``["required", parent, child]``, ``["forbidden", parent, child]``
    or ``["at most", number of parents, child]``. Candidates that break one count as not listed.
``parents``, ``score``
    The best network known, and its score exactly.
``bound``, ``gap``
    No network scores more than ``bound``; ``gap`` is ``bound - score``, exactly.
``denominator``, ``clusters``
    Multipliers are whole numbers over the denominator, a power of two. A cluster is
    ``[count, members]``: in every acyclic network at least so many members have fewer than so many
    parents among the members, those that come first in a topological order. Most counts are 1.
``tree``
    The nodes of the proof in the order of depth-first search. Each claims a bound on the networks
    of the *problem* it has been handed, a list of candidates for some variables. The root claims
    ``bound`` for all candidates. Multipliers are pairs ``[cluster, numerator]``, none negative.

    - ``["leaf", multipliers]``: the claim holds by the Lagrangian bound, which for clusters C with
      counts k and multipliers l is ``sum_i max_PA [s_i(PA) + sum of l : i in C, fewer than k of PA
      in C] - sum of k l``, or because no acyclic selection of these candidates exists.
    - ``["arc", parent, child]``: two nodes follow with the same claim, the first for the networks
      with this arc, the second for those without it. So leaves always cover everything.
    - ``["fix", limit, multipliers]``: by the Lagrangian bound, no network with some candidates
      scores more than the limit, which is at most the claim. One node follows without them.
    - ``["split", [members, bound], ...]``: one node follows for each group of variables, with its
      own claim; parents outside of the group are granted. The claims, and the best candidates of
      the variables in no group, add up to at most this node's claim.
``digest``
    SHA-256 of all else and of the scores as numbers: a change of either is detected at once. Who
    forges it too has still to get past the arithmetic.

Scores are read from their text as exact decimals. Every total of scores is a multiple of one over
their least common denominator, so a bound may be rounded down to such a multiple: where scores have
six decimals, multipliers from floating point usually prove a gap of exactly 0. Where they have as
many digits as floating point has, a tiny gap stays and is stated.

The bound is that of weak duality for the cluster inequalities (Jaakkola et al. 2010, "Learning
Bayesian network structure using LP relaxations"; counts: Cussens 2011, "Bayesian network learning
with cutting planes").
"""

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exactlearn._runtime.display import Displayed
from exactlearn._runtime.files import atomic_write
from exactlearn._runtime.tolerance import TOLERANCE
from exactlearn.errors import CheckError

from .certificate_checker import (
    Cut,
    Problem,
    Unproven,
    above,
    digest,
    placeable,
    relax,
    verify,
)

FORMAT = "exactlearn certificate 1"

Restriction = tuple[str, int, int]
"""A rule, a parent or a number, and a child."""

DENOMINATOR = 2**40
"""Of all multipliers: a thousand clusters of a hundred variables are off by 1e-7 at most."""

Cluster = tuple[int, int]
"""The members as bits, and the count."""

Pairs = tuple[tuple[Cluster, int], ...]
"""Clusters with the numerators of their multipliers."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(Displayed, shown="score bound gap variables leaves clusters"):
    """A proof that no network scores more than ``bound``; see the module for the fields.

    Made by :func:`exactlearn.solvers.prover.certify`.

    Examples
    --------
    >>> import exactlearn as el
    >>> table = el.read_dataset("cancer-mcar-complete")
    >>> problem = el.candidate_parent_sets(table, "bdeu", max_parents=1)
    >>> certificate = el.solve(problem, certify=True).certificate
    >>> certificate.variables, certificate.leaves, certificate.described_restrictions()
    (['Pollution', 'Smoker', 'Cancer', 'Xray', 'Dyspnoea'], 1, [])
    >>> certificate.text()[:30]
    '{"bound": "-597.56168895448422'
    """

    variables: list[str]
    restrictions: list[Restriction]
    parents: list[list[int]]
    score: str
    bound: str
    gap: str
    denominator: int
    clusters: list[list[Any]]
    tree: list[list[Any]]
    digest: str = ""
    format: str = FORMAT

    @property
    def leaves(self) -> int:
        """Number of leaves of the tree."""
        return sum(node[0] == "leaf" for node in self.tree)

    def is_within(self, gap: float) -> bool:
        """Return whether its gap is at most so many nats, up to the tolerance of results.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("cancer-mcar-complete")
        >>> problem = el.candidate_parent_sets(table, "bdeu", max_parents=1)
        >>> el.solve(problem, certify=True).certificate.is_within(0.0)
        True
        """
        return Fraction(self.gap) <= Fraction(gap) + Fraction(TOLERANCE)

    def described_restrictions(self) -> list[str]:
        """Return the restrictions in words."""
        descriptions = []
        for rule, number, child in self.restrictions:
            if rule == "at most":
                descriptions.append(
                    f"at most {number} parents of {self.variables[child]}"
                )
            else:
                descriptions.append(
                    f"{rule} {self.variables[number]} -> {self.variables[child]}"
                )
        return descriptions

    def text(self) -> str:
        """Return the JSON text, one line for each cluster and node."""
        content = asdict(self)
        # keys in order, so that equal certificates are equal texts
        lines = [
            f"{_json(key)}: {_json_lines(content[key])}" for key in sorted(content)
        ]
        return "{" + ",\n".join(lines) + "}\n"

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate in one step, compressed when the name ends in ``.gz``.

        Raises
        ------
        OptionError
            When the file cannot be written.

        Examples
        --------
        >>> import exactlearn as el
        >>> table = el.read_dataset("cancer-mcar-complete")
        >>> problem = el.candidate_parent_sets(table, "bdeu", max_parents=1)
        >>> el.solve(problem, certify=True).certificate.write("proof.json")
        """
        atomic_write(path, self.text())

    def check(self, scores: str) -> None:
        """Check the proof against the text of a ``.jkl`` file.

        Raises
        ------
        CheckError
            When it proves nothing; the message is the reason.

        Examples
        --------
        >>> from pathlib import Path
        >>> import exactlearn as el
        >>> table = el.read_dataset("cancer-mcar-complete")
        >>> problem = el.candidate_parent_sets(table, "bdeu", max_parents=1)
        >>> el.write_scores(problem, "scores.jkl")
        >>> certificate = el.solve(el.read_scores("scores.jkl"), certify=True).certificate
        >>> certificate.check(Path("scores.jkl").read_text())
        """
        try:
            verify(self.text(), scores)
        except Unproven as error:
            raise CheckError(f"the certificate is not valid: {error}") from error


def sealed(certificate: Certificate, tables: list[dict[int, Fraction]]) -> Certificate:
    """Return the certificate with its digest, which covers the candidates that are left."""
    content = asdict(certificate)
    del content["digest"]
    return Certificate(**content, digest=digest(content, tables))


def decimal(number: Fraction) -> str:
    """Write a number whose denominator divides a power of ten, exactly.

    Examples
    --------
    >>> decimal(Fraction(-5, 4)), decimal(Fraction(3))
    ('-1.25', '3')
    """
    with localcontext() as context:
        # digits enough for the exact quotient
        context.prec = (
            number.numerator.bit_length() + number.denominator.bit_length() + 1
        )
        return (
            f"{(Decimal(number.numerator) / Decimal(number.denominator)).normalize():f}"
        )


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _json_lines(value: Any) -> str:
    if not isinstance(value, list):
        return _json(value)
    return "[" + ",\n".join(map(_json, value)) + "]"


@dataclass(frozen=True)
class Leaf:
    """A node proven by its multipliers, or without any acyclic selection."""

    bound: int
    pairs: Pairs = ()


@dataclass
class Arc:
    """Two nodes: the networks with an arc, and those without."""

    parent: int
    child: int
    present: "Node"
    absent: "Node"

    @property
    def bound(self) -> int:
        """Largest bound of the two nodes."""
        return max(self.present.bound, self.absent.bound)


@dataclass
class Fix:
    """A node after candidates have been dropped that take part in nothing above the limit."""

    limit: int
    pairs: Pairs
    remaining: "Node"

    @property
    def bound(self) -> int:
        """Bound of all selections, with the candidates dropped and without."""
        return max(self.limit, self.remaining.bound)


@dataclass
class Split:
    """A node for each of several groups of variables, and the best scores of the other ones."""

    parts: list[tuple[tuple[int, ...], "Node"]]
    best_outside: int

    @property
    def bound(self) -> int:
        """Sum of the parts' bounds and of the best scores of the variables in no part."""
        return self.best_outside + sum(node.bound for _, node in self.parts)


Node = Leaf | Arc | Fix | Split


@dataclass
class Writing:
    """Turns nodes into what a certificate holds of them.

    Parameters
    ----------
    grid
        Least common denominator of the scores.

    Attributes
    ----------
    number
        Number of each cluster in the certificate.
    """

    grid: int
    number: dict[Cluster, int] = field(default_factory=dict)

    def tree(self, root: Node) -> list[list[Any]]:
        """Return the nodes in the order of depth-first search."""
        nodes: list[list[Any]] = []
        stack = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Leaf):
                nodes.append(["leaf", self._multipliers(node.pairs)])
            # the node that is popped next is pushed last
            elif isinstance(node, Arc):
                nodes.append(["arc", node.parent, node.child])
                stack += [node.absent, node.present]
            elif isinstance(node, Fix):
                nodes.append(
                    ["fix", self.score(node.limit), self._multipliers(node.pairs)]
                )
                stack.append(node.remaining)
            else:
                parts = [
                    [list(members), self.score(part.bound)]
                    for members, part in node.parts
                ]
                nodes.append(["split", *parts])
                stack += [part for _, part in reversed(node.parts)]
        return nodes

    def clusters(self) -> list[list[Any]]:
        """Return count and members of each cluster that the nodes written so far use."""
        return [[count, members_of(bits)] for bits, count in self.number]

    def score(self, units: int) -> str:
        """Return a bound as a decimal number."""
        return decimal(Fraction(units, self.grid))

    def _multipliers(self, pairs: Pairs) -> list[list[int]]:
        return sorted(
            [self.number.setdefault(c, len(self.number)), m] for c, m in pairs
        )


def members_of(bits: int) -> list[int]:
    """Return the variables in a set given as bits."""
    return [v for v in range(bits.bit_length()) if bits >> v & 1]


def bits_of(members: Iterable[int]) -> int:
    """Return the bits of a set of variables."""
    return sum(1 << v for v in members)


def rounded(clusters: Sequence[Cluster], values: NDArray[np.float64]) -> Pairs:
    """Return the multipliers of clusters as whole numbers; without those of 0."""
    numerators = (round(value * DENOMINATOR) for value in values.tolist())
    pairs = zip(clusters, numerators, strict=True)
    return tuple(pair for pair in pairs if pair[1] > 0)


def leaf(problem: Problem, pairs: Pairs, grid: int, target: int) -> Leaf:
    """Return the leaf of these multipliers; the target is its bound where nothing can be chosen."""
    if not placeable(problem):
        return Leaf(target)
    return Leaf(relax(problem, _cuts(pairs, grid))[0] // DENOMINATOR, pairs)


def left(problem: Problem, pairs: Pairs, grid: int, limit: int) -> Problem:
    """Return the candidates that may take part in a selection above the limit."""
    _, reach = relax(problem, _cuts(pairs, grid))
    return above(problem, reach, limit, DENOMINATOR)


def _cuts(pairs: Pairs, grid: int) -> list[Cut]:
    return [(*cluster, m * grid) for cluster, m in pairs]
