"""Check a proof of optimality with exact numbers, by the standard library alone.

Run ``python certificate_checker.py CERTIFICATE SCORES.jkl``; certificate.py documents the format.
Exit status: 0 proven, 5 not proven, 2 unreadable. The theorem is "Exact certificates" of
docs/theory/solvers.md, whose words are used here:

candidate
    A pair ``(score, parents)``: a possible parent set of a variable. Sets are whole numbers, whose
    bit v says whether variable v is in the set.
problem
    The candidates of each of some variables. A selection takes one candidate of each; the question
    is how much an acyclic selection scores at most.
claim
    A number that no acyclic selection of a problem is said to exceed. Each node of the tree is
    handed a problem with a claim, and proves it or hands smaller problems to the nodes that follow.
grid, unit
    Scores are multiples of ``1 / grid``, multipliers of ``1 / unit``. So claims are counted in
    ``1 / grid`` and rounded down, scores of candidates and Lagrangian bounds in ``1 / grid unit``.
cut
    ``(members, count, multiplier)``: in an acyclic selection at least ``count`` members of a
    cluster have fewer than ``count`` parents in it, as its first ``count`` members in an order do.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from gzip import GzipFile
from io import BytesIO
from math import floor, lcm
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

KEYS = "bound clusters denominator digest format gap parents restrictions score tree variables"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?0*[0-9]{1,4})?")
LONGEST = 9000  # characters of a number
ENCODED = b"# names are percent-encoded"  # first line of such scores
LARGEST = 2**27  # bytes of an unpacked file
BROKEN = (ArithmeticError, LookupError, RuntimeError, StopIteration, TypeError)

RULES: Any = {
    "required": lambda parents, parent: parents >> parent & 1,
    "forbidden": lambda parents, parent: not parents >> parent & 1,
    "at most": lambda parents, number: parents.bit_count() <= number,
}

FORMAT = "exactlearn certificate 1"
KINDS = ("leaf", "fix", "arc", "split")
UNKNOWN_KIND = "node {} is of an unknown kind, or has bad multipliers"

Problem = dict[int, list[tuple[int, int]]]
Bounds = dict[int, list[int]]  # one for each candidate
Cut = tuple[int, int, int]
Task = tuple[Problem, int]  # a problem and the claim to be proven for it


class Unproven(Exception):  # noqa: N818
    """The certificate can be read, and does not prove what it claims."""


def need(condition: object, reason: str) -> None:
    """Raise :class:`Unproven` unless a condition holds."""
    if not condition:
        raise Unproven(reason)


# Reading


def exact(text: Any) -> Fraction:
    """Return a decimal number as a fraction."""
    is_number = type(text) is str and len(text) <= LONGEST and NUMBER.fullmatch(text)
    need(is_number, f"{str(text)[:50]!r} is no decimal number")
    return Fraction(Decimal(text))  # Decimal takes more digits than int


def bit_set(members: list[int], n: int) -> int:
    """Return a list of variables, numbered below ``n``, as the bits of a whole number."""
    are_variables = all(type(v) is int and 0 <= v < n for v in members)
    is_set = are_variables and len(set(members)) == len(members)
    need(is_set, f"{members} are not different variables, numbered from 0 to {n - 1}")
    return sum(1 << v for v in members)


def score_rows(text: str) -> Iterator[list[str]]:
    """Yield the words of each line of a .jkl file that is neither empty nor a comment."""
    lines = text.encode().splitlines()  # bytes split at ASCII white space only
    decoded = unquote if lines[:1] == [ENCODED] else str
    for line in lines:
        words = line.split()
        if words and line.lstrip(b" \t")[:1] != b"#":
            yield [decoded(word.decode()) for word in words]


def read_scores(text: str, names: list[str]) -> list[dict[int, Fraction]]:
    """Return the score of each parent set of each variable, numbered as in ``names``."""
    rows = score_rows(text)
    index = {name: v for v, name in enumerate(names)}
    tables = dict[str, dict[int, Fraction]]()
    n = str(len(names))
    need([n] == next(rows), "the scores are of another number of variables")
    for _ in names:
        name, count = next(rows)
        is_new = name in index and name not in tables
        need(is_new, f"scores: {name!r} is unknown or repeated")
        table = tables[name] = {}
        # its parent sets, each with a score and the number of parents
        for _ in range(int(count)):
            score, size, *parents = next(rows)
            numbers = [index[parent] for parent in parents if parent != name]
            mask = bit_set(numbers, len(names))
            fits = mask not in table and int(size) == len(parents) == mask.bit_count()
            reason = f"scores of {name!r}: the parents {parents} are unfit or repeated"
            need(fits, reason)
            table[mask] = exact(score)
    need(next(rows, None) is None, "the scores go on after the last variable")
    return [tables[name] for name in names]


def digest(content: dict[str, Any], tables: list[dict[int, Fraction]]) -> str:
    """Return the SHA-256 of a certificate's content, without its digest, and of the scores."""
    listed = []
    for table in tables:
        rows = [map(Decimal, (p, *s.as_integer_ratio())) for p, s in table.items()]
        listed.append(sorted("({}, Fraction({}, {}))".format(*row) for row in rows))
    text = json.dumps([content, listed], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


# The theorems that nodes use


def placeable(problem: Problem) -> bool:
    """Return whether an acyclic selection exists.

    Variables are placed in an order, each after all parents of one of its candidates. Where none
    can be placed any more, each candidate of those left has a parent among them: a cycle.
    """
    left = sum(1 << v for v in problem)
    some_placed = True
    while some_placed:
        some_placed = False
        for v, candidates in problem.items():
            if left >> v & 1 and any(not parents & left for _, parents in candidates):
                left -= 1 << v
                some_placed = True
    return not left


def relax(problem: Problem, cuts: list[Cut]) -> tuple[int, Bounds]:
    """Return the Lagrangian bound, and the bound on the selections with each candidate.

    With multipliers l >= 0 of clusters C with counts k, an acyclic selection scores at most ``sum_i
    max_PA [s_i(PA) + sum of l : i in C, fewer than k of PA in C] - sum of k l``. With a candidate
    in place of the one that attains the maximum of its variable, it scores at most as much less as
    the two differ.
    """
    bound = -sum(count * multiplier for _, count, multiplier in cuts)
    adjusted = Bounds()
    for child, candidates in problem.items():
        near = [cut for cut in cuts if cut[0] >> child & 1]
        adjusted[child] = [s + reward(parents, near) for s, parents in candidates]
        bound += max(adjusted[child])
    reach = Bounds()
    # a candidate in place of the maximum of its child
    for child, scores in adjusted.items():
        without_child = bound - max(scores)
        reach[child] = [without_child + score for score in scores]
    return bound, reach


def reward(parents: int, cuts: list[Cut]) -> int:
    """Return the sum of the multipliers of the clusters with fewer parents than their count."""
    return sum(m for c, count, m in cuts if (c & parents).bit_count() < count)


def above(problem: Problem, reach: Bounds, limit: int, unit: int) -> Problem:
    """Return the candidates that a selection above a limit may have (reduced-cost fixing)."""
    remaining = Problem()
    for child, candidates in problem.items():
        pairs = zip(candidates, reach[child], strict=True)
        remaining[child] = [c for c, bound in pairs if bound // unit > limit]
    return remaining


def sides(problem: Problem, parent: int, child: int) -> tuple[Problem, Problem]:
    """Return both sides of a branching on an arc: the selections with it, and without it."""
    present = [c for c in problem[child] if c[1] >> parent & 1]
    absent = [c for c in problem[child] if not c[1] >> parent & 1]
    return {**problem, child: present}, {**problem, child: absent}


def group(problem: Problem, members: Iterable[int], inside: int) -> Problem:
    """Return the problem of some variables, also given as bits; parents outside are granted."""
    part = Problem()
    for v in members:
        part[v] = [(score, parents & inside) for score, parents in problem[v]]
    return part


# The tree


class Tree(NamedTuple):
    """The nodes of a proof; each kind of node is checked by the method of its name.

    A method gets the node's number, its task, and its fields. It returns the tasks of the nodes
    that follow, which together imply the node's own claim.
    """

    n: int
    grid: int
    unit: int
    clusters: list[tuple[int, int]]

    def leaf(self, number: int, task: Task, pairs: Any) -> list[Task]:
        """Check a claim by the Lagrangian bound, if there is an acyclic selection at all."""
        problem, claim = task
        cuts = self.cuts(number, problem, pairs)
        if placeable(problem):
            bound = relax(problem, cuts)[0] // self.unit
            need(bound <= claim, f"the bound of node {number} exceeds its claim")
        return []

    def fix(self, number: int, task: Task, limit: Any, pairs: Any) -> list[Task]:
        """Leave out the candidates of no selection above a limit, which is at most the claim."""
        problem, claim = task
        _, reach = relax(problem, self.cuts(number, problem, pairs))
        rounded_limit = self.floor(limit)
        need(rounded_limit <= claim, f"the bound of node {number} exceeds its claim")
        return [(above(problem, reach, rounded_limit, self.unit), claim)]

    def arc(self, number: int, task: Task, parent: Any, child: Any) -> list[Task]:
        """Tell the selections that have an arc, proven first, from those that do not."""
        problem, claim = task
        is_arc = bit_set([parent, child], self.n) and child in problem
        need(is_arc, f"node {number} branches outside of its part")
        return [(side, claim) for side in sides(problem, parent, child)]

    def split(self, number: int, task: Task, *parts: Any) -> list[Task]:
        """Bound groups of variables alone, and the variables of no group by their best scores."""
        problem, claim = task
        # parents outside of a group are granted
        left = problem
        tasks = []
        for members, bound in parts:
            inside = bit_set(members, self.n)
            tasks.append((group(left, members, inside), self.floor(bound)))
            left = {v: left[v] for v in left if not inside >> v & 1}
        best_outside = relax(left, [])[0] // self.unit
        total = best_outside + sum(part_claim for _, part_claim in tasks)
        need(total <= claim, f"the parts of node {number} exceed its claim")
        return tasks

    def cuts(self, number: int, problem: Problem, pairs: Any) -> list[Cut]:
        """Return the cuts of a node, their multipliers in the unit of the candidates' scores."""
        are_multipliers = all(type(m) is int and m >= 0 for _, m in pairs)
        need(are_multipliers, UNKNOWN_KIND.format(number))
        cuts = [(*self.clusters[cluster], m * self.grid) for cluster, m in pairs]
        outside = ~sum(1 << v for v in problem)
        need(not any(members & outside for members, _, _ in cuts), f"node {number}")
        return cuts

    def floor(self, bound: Any) -> int:
        """Return a bound in multiples of ``1 / grid``, rounded down."""
        return floor(exact(bound) * self.grid)


def walk(problem: Problem, claim: int, content: dict[str, Any], grid: int) -> None:
    """Check that the tree proves a claim, node by node in the order of depth-first search."""
    n = len(problem)
    unit = content["denominator"]
    clusters = [(bit_set(members, n), count) for count, members in content["clusters"]]
    counts_fit = all(type(k) is int and 0 < k <= c.bit_count() for c, k in clusters)
    need(counts_fit and unit > 0, "a count")
    tree = Tree(n, grid, unit, clusters)
    tasks = [(problem, claim)]
    for number, (kind, *fields) in enumerate(content["tree"]):
        need(tasks, "the tree goes on after its last leaf")
        need(kind in KINDS, UNKNOWN_KIND.format(number))
        tasks += reversed(getattr(tree, kind)(number, tasks.pop(), *fields))
    need(not tasks, "the tree ends before its last leaf")


# The certificate


def check(content: dict[str, Any], scores: str) -> dict[str, Any]:
    """Check a certificate's content against the text of a .jkl file; return what it proves."""
    seal = content.pop("digest")
    unit = content["denominator"]
    need(content["format"] == FORMAT and type(unit) is int, "another format")
    tables = read_scores(scores, content["variables"])
    restrict(tables, content["restrictions"])
    need(seal == digest(content, tables), "certificate or scores were changed")
    check_network(content, tables)
    # no network scores more than the bound
    grid = lcm(*(s.denominator for table in tables for s in table.values()))
    problem = Problem()
    for v, table in enumerate(tables):
        problem[v] = [(int(s * grid) * unit, p) for p, s in table.items()]
    walk(problem, floor(exact(content["bound"]) * grid), content, grid)
    return {key: content[key] for key in ("score", "bound", "gap", "restrictions")}


def restrict(tables: list[dict[int, Fraction]], restrictions: list[Any]) -> None:
    """Take the candidates that break a restriction out of the tables, in place."""
    for rule, number, v in restrictions:
        variables = [v] if rule == "at most" else [number, v]
        need(type(number) is int and bit_set(variables, len(tables)), "a rule")
        tables[v] = {p: s for p, s in tables[v].items() if RULES[rule](p, number)}


def check_network(content: dict[str, Any], tables: list[dict[int, Fraction]]) -> None:
    """Check that the certificate's network is acyclic, and scores what is claimed."""
    network = [bit_set(parents, len(tables)) for parents in content["parents"]]
    are_candidates = all(p in table for p, table in zip(network, tables, strict=True))
    need(are_candidates, "a parent set is no candidate")
    is_acyclic = placeable({v: [(0, p)] for v, p in enumerate(network)})
    need(is_acyclic, "the network has a cycle")
    score, bound, gap = (exact(content[key]) for key in ("score", "bound", "gap"))
    total = sum(table[p] for p, table in zip(network, tables, strict=True))
    is_exact = total == score == bound - gap
    need(is_exact, "the score is not the network's, or not bound less gap")


def verify(certificate: str, scores: str) -> dict[str, Any]:
    """Check texts; raise Unproven, or ValueError where one does not follow its format."""
    try:
        pairs = json.loads(certificate, object_pairs_hook=list)
        keys = " ".join(sorted(key for key, _ in pairs))
        need(keys == KEYS, f"the keys are not {KEYS}")
        return check(dict(pairs), scores)
    except BROKEN as error:
        message = f"the certificate or the scores are damaged: {error!r}"
        raise ValueError(message) from error


def read_text(path: str) -> str:
    """Return the text of a file, unpacked if it is compressed."""
    content = Path(path).read_bytes()
    if content[:1] == b"\x1f":
        content = GzipFile(fileobj=BytesIO(content)).read(LARGEST)
    if len(content) == LARGEST:
        raise ValueError(f"a file unpacks to {LARGEST} bytes or more: unpack it first")
    return content.decode("utf-8-sig")


if __name__ == "__main__":
    try:
        print(verify(*(read_text(path) for path in sys.argv[1:])))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(5 if isinstance(error, Unproven) else 2)
