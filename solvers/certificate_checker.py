"""Check a proof of optimality with exact numbers, by the standard library alone.

Run ``python certificate_checker.py CERTIFICATE SCORES.jkl``; certificate.py documents the format.
Exit status: 0 proven, 5 not proven, 2 unreadable. A problem lists candidates (score, parents as
bits) for each variable; a node of the tree claims that no acyclic selection from its problem scores
more than so much. For clusters C with counts k and multipliers l >= 0, it scores at most ``sum_i
max_PA [s_i(PA) + sum of l : i in C, fewer than k of PA in C] - sum of k l``, as the first k members
of C have fewer than k parents in C. Scores are multiples of 1 / grid, so bounds are rounded down.
"""

# fmt: off
import hashlib
import json
import re
import sys
from decimal import Decimal
from fractions import Fraction
from gzip import GzipFile
from io import BytesIO
from math import floor, lcm
from pathlib import Path
from typing import Any
from urllib.parse import unquote

KEYS = "bound clusters denominator digest format gap parents restrictions score tree variables"
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?0*[0-9]{1,4})?")
# first line of scores; longest number
ENCODED = b"# names are percent-encoded"
LONGEST = 9000
BROKEN = (ArithmeticError, LookupError, RuntimeError, StopIteration, TypeError)
RULES: Any = {"required": lambda p, v: p >> v & 1, "forbidden": lambda p, v: not p >> v & 1,
              "at most": lambda p, number: p.bit_count() <= number}
Problem = dict[int, list[tuple[int, int]]]
class Unproven(Exception):  # noqa: N818
    """The certificate can be read, and does not prove what it claims."""

def need(condition: object, reason: str) -> None:  # noqa: D103
    if not condition:
        raise Unproven(reason)

def exact(text: Any) -> Fraction:  # noqa: D103
    need(type(text) is str and len(text) <= LONGEST and NUMBER.fullmatch(text),
         f"{str(text)[:50]!r} is no decimal number")
    return Fraction(Decimal(text))  # which takes numbers longer than a whole number's text may be

def bits(members: list[int], n: int) -> int:
    """Turn a list of variables into the bits of a whole number."""
    need(all(type(v) is int and 0 <= v < n for v in members) and len(set(members)) == len(members),
         f"{members} are not different variables, numbered from 0 to {n - 1}")
    return sum(1 << v for v in members)

def read_scores(text: str, names: list[str]) -> list[dict[int, Fraction]]:
    """Return the score of each parent set of each variable, numbered as in names."""
    lines = text.encode().splitlines()  # bytes, which are split at ASCII white space only
    plain = unquote if lines[:1] == [ENCODED] else str
    fields = (line.split() for line in lines if line.lstrip(b" \t")[:1] != b"#")
    rows = iter([[plain(field.decode()) for field in row] for row in fields if row])
    index = {name: v for v, name in enumerate(names)}
    tables = dict[str, dict[int, Fraction]]()
    need([str(len(names))] == next(rows), "the scores are of another number of variables")
    for _ in names:
        name, count = next(rows)
        need(name in index and name not in tables, f"scores: {name!r} is unknown or repeated")
        tables[name] = {}
        for score, size, *parents in [next(rows) for _ in range(int(count))]:
            mask = bits([index[parent] for parent in parents if parent != name], len(names))
            need(mask not in tables[name] and int(size) == len(parents) == mask.bit_count(),
                 f"scores of {name!r}: the parents {parents} are unfit or repeated")
            tables[name][mask] = exact(score)
    need(next(rows, None) is None, "the scores go on after the last variable")
    return [tables[name] for name in names]

def placeable(problem: Problem) -> bool:
    """Place variables with a candidate inside those placed; return whether all can be placed."""
    left = sum(1 << v for v in problem)
    while ready := [v for v in problem if left >> v & any(not p & left for _, p in problem[v])]:
        left -= sum(1 << v for v in ready)
    return not left

def relax(problem: Problem, clusters: list[tuple[int, ...]]) -> tuple[int, dict[int, list[Any]]]:
    """Return a bound on all acyclic selections; and each candidate, after one on those with it."""
    bound = -sum(k * m for _, k, m in clusters)
    each = dict[int, list[Any]]()
    for v, own in problem.items():
        near = [(c, k, m) for c, k, m in clusters if c >> v & 1]
        gain = [sum(m for c, k, m in near if (c & p).bit_count() < k) for _, p in own]
        each[v] = [(gained + c[0], c) for gained, c in zip(gain, own, strict=True)]
        bound += max(each[v])[0]
    return bound, {v: [(bound - max(own)[0] + b, c) for b, c in own] for v, own in each.items()}

def walk(problem: Problem, claim: int, content: dict[str, Any], grid: int) -> None:
    """Check that the tree proves the claim, a multiple of 1 / grid."""
    n = len(problem)
    unit = content["denominator"]
    stack = [(problem, claim)]
    clusters = [(bits(members, n), k, members) for k, members in content["clusters"]]
    need(all(type(k) is int and 0 < k <= len(c) for _, k, c in clusters) and unit > 0, "a count")
    for at, (kind, *rest) in enumerate(content["tree"]):
        need(stack, "the tree goes on after its last leaf")
        problem, claim = stack.pop()
        if kind == "arc":  # selections that have it, proven first, and those that do not
            parent, child = rest
            need(bits(rest, n) and child in problem, f"node {at} branches outside of its part")
            for there in (0, 1):
                side = [(s, p) for s, p in problem[child] if p >> parent & 1 == there]
                stack.append(({**problem, child: side}, claim))
        elif kind == "split":  # parts are bounded alone, the other variables by their best
            left = dict(problem)
            for members, bound in reversed(rest):
                part = bits(members, n)
                least = floor(exact(bound) * grid)
                stack.append(({v: [(s, p & part) for s, p in left.pop(v)] for v in members}, least))
                claim -= least
            need(relax(left, [])[0] // unit <= claim, f"the parts of node {at} exceed its claim")
        else:  # "leaf", or "fix": candidates of no selection above a limit are left out
            *limit, pairs = rest
            need(kind == ("fix" if limit else "leaf") and all(type(m) is int and m >= 0
                 for _, m in pairs), f"node {at} is of an unknown kind, or has bad multipliers")
            need(problem.keys() >= {v for c, _ in pairs for v in clusters[c][2]}, f"node {at}")
            if limit or placeable(problem):
                bound, each = relax(problem, [(*clusters[c][:2], m * grid) for c, m in pairs])
                low = floor(exact(*limit) * grid) if limit else bound // unit
                need(low <= claim, f"the bound of node {at} exceeds its claim")
            if limit:
                near = {v: [c for b, c in own if b // unit > low] for v, own in each.items()}
                stack.append((near, claim))
    need(not stack, "the tree ends before its last leaf")

def digest(content: dict[str, Any], tables: list[dict[int, Fraction]]) -> str:  # noqa: D103
    said = [sorted(f"({Decimal(p)}, Fraction({Decimal(s.numerator)}, {Decimal(s.denominator)}))"
                   for p, s in table.items()) for table in tables]
    return hashlib.sha256(json.dumps([content, said], sort_keys=True).encode()).hexdigest()

def check(content: dict[str, Any], scores: str) -> dict[str, Any]:
    """Check a certificate's content against the text of a .jkl file; return what it proves."""
    seal = content.pop("digest")
    names = content["variables"]
    unit = content["denominator"]
    need(content["format"] == "exactlearn certificate 1" and type(unit) is int, "another format")
    tables = read_scores(scores, names)
    n = len(names)
    for rule, number, v in content["restrictions"]:
        need(type(number) is int and bits([v] if rule == "at most" else [number, v], n), "a rule")
        tables[v] = {p: s for p, s in tables[v].items() if RULES[rule](p, number)}
    need(seal == digest(content, tables), "certificate or scores were changed")
    chosen = [bits(parents, n) for parents in content["parents"]]
    need(all(p in t for p, t in zip(chosen, tables, strict=True)), "a parent set is no candidate")
    need(placeable({v: [(0, p)] for v, p in enumerate(chosen)}), "the network has a cycle")
    score, bound, gap = (exact(content[key]) for key in ("score", "bound", "gap"))
    total = sum(t[p] for p, t in zip(chosen, tables, strict=True))
    need(total == score == bound - gap, "the score is not the network's, or not bound less gap")
    grid = lcm(*(s.denominator for t in tables for s in t.values()))
    problem = {v: [(int(s * grid) * unit, p) for p, s in t.items()] for v, t in enumerate(tables)}
    walk(problem, floor(bound * grid), content, grid)
    return {key: content[key] for key in ("score", "bound", "gap", "restrictions")}

def verify(certificate: str, scores: str) -> dict[str, Any]:
    """Check texts; raise Unproven, or ValueError where one does not follow its format."""
    try:
        pairs = json.loads(certificate, object_pairs_hook=list)
        need(" ".join(sorted(key for key, _ in pairs)) == KEYS, f"the keys are not {KEYS}")
        return check(dict(pairs), scores)
    except BROKEN as error:
        raise ValueError(f"the certificate or the scores are damaged: {error!r}") from error

if __name__ == "__main__":
    try:
        raw = [Path(path).read_bytes() for path in sys.argv[1:]]
        raw = [GzipFile(fileobj=BytesIO(r)).read(2**27) if r[:1] == b"\x1f" else r for r in raw]
        if 2**27 in map(len, raw):
            raise ValueError(f"a file unpacks to {2**27} bytes or more: unpack it first")
        print(verify(*(r.decode("utf-8-sig") for r in raw)))
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        sys.exit(5 if isinstance(error, Unproven) else 2)
