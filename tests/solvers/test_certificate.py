"""Certificates: true claims are proven, and nothing that was tampered with passes for a proof."""

import ast
import gzip
import json
import signal
import subprocess
import sys
from copy import deepcopy
from fractions import Fraction
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactlearn._runtime.files import read_text
from exactlearn.errors import CheckError, FormatError, OptionError
from exactlearn.formats.scores import format_jkl, parse_jkl, read_certificate, read_jkl
from exactlearn.solvers import Problem, certificate_checker, prover, solve
from exactlearn.solvers.certificate import (
    Arc,
    Certificate,
    Fix,
    Leaf,
    Split,
    Writing,
    decimal,
    sealed,
)
from exactlearn.solvers.certificate_checker import Unproven, read_scores, verify
from exactlearn.solvers.constraints import MaxParents, RequiredAncestor, Tiers
from exactlearn.solvers.prover import certify
from tests.interrupts import Looks, press_ctrl_c

CHECKER = Path(certificate_checker.__file__)


def random_text(seed, *, n=5, digits=3):
    """Return scores with cycles worth having, so that proofs need clusters and branching."""
    rng = np.random.default_rng(seed)
    lines = [str(n)]
    for child in range(n):
        others = [v for v in range(n) if v != child]
        sets = [
            s
            for k in range(3)
            for s in combinations(others, k)
            if k < 2 or rng.random() < 0.7
        ]
        lines.append(f"x{child} {len(sets)}")
        for s in sets:
            score = -20.0 + 4 * len(s) + 3.0 * float(rng.random())
            lines.append(
                " ".join([f"{score:.{digits}f}", str(len(s)), *(f"x{p}" for p in s)])
            )
    return "\n".join(lines) + "\n"


def tables_of(text, names, restrictions=()):
    tables = read_scores(text, list(names))
    for rule, number, v in restrictions:
        keep = certificate_checker.RULES[rule]
        tables[v] = {p: s for p, s in tables[v].items() if keep(p, number)}
    return tables


def exact_best(tables):
    """Return the optimum and its parents by trying every order; None when there is none."""
    best = None
    for order in permutations(range(len(tables))):
        before, chosen = 0, {}
        for v in order:
            inside = [(s, -p) for p, s in tables[v].items() if not p & ~before]
            if not inside:
                break
            chosen[v] = max(inside)
            before |= 1 << v
        else:
            total = sum((s for s, _ in chosen.values()), Fraction(0))
            if best is None or total > best[0]:
                parents = [-chosen[v][1] for v in range(len(tables))]
                best = (
                    total,
                    [[u for u in range(len(tables)) if p >> u & 1] for p in parents],
                )
    return best


def made(text, **changes):
    """Return problem, certificate and optimum of scores given as text."""
    problem = parse_jkl(text)
    best, parents = exact_best(tables_of(text, problem.names))
    return problem, certify(problem, parents, scores=text, **changes), best


def content_of(certificate):
    return json.loads(certificate.text())


def resealed(content, text):
    """Return the text of a certificate whose digest fits again, as a forger would write it."""
    del content["digest"]
    try:
        tables = tables_of(text, content["variables"], content["restrictions"])
    except (Unproven, LookupError, TypeError, ValueError):
        return json.dumps({**content, "digest": ""})
    return sealed(Certificate(**content), tables).text()


def numbers(value, path=()):
    """Yield where each number stands, decimals in quotes included."""
    if isinstance(value, dict):
        for key in value.keys() - {"format", "variables", "digest"}:
            yield from numbers(value[key], (*path, key))
    elif isinstance(value, list):
        for k, item in enumerate(value):
            yield from numbers(item, (*path, k))
    elif isinstance(value, int) or value.lstrip("-")[0].isdigit():
        yield path


def changed(content, path, change):
    content = deepcopy(content)
    place = content
    for key in path[:-1]:
        place = place[key]
    old = place[path[-1]]
    place[path[-1]] = (
        old + change if isinstance(old, int) else decimal(Fraction(old) + change)
    )
    return content


def accepts(certificate, text):
    try:
        verify(certificate, text)
    except (Unproven, ValueError):
        return False
    return True


def is_true(content, text):
    """Tell whether what a certificate says of its network and of all others is so."""
    tables = tables_of(text, content["variables"], content["restrictions"])
    best, _ = exact_best(tables)
    masks = [sum(1 << p for p in parents) for parents in content["parents"]]
    score = sum(table[mask] for table, mask in zip(tables, masks, strict=True))
    return (
        score == Fraction(content["score"])
        and best <= Fraction(content["bound"])
        and Fraction(content["gap"]) == Fraction(content["bound"]) - score
    )


@pytest.mark.parametrize("seed", range(30))
def test_optima_are_proven_without_a_gap(seed):
    text = random_text(seed, n=2 + seed % 4)
    _, certificate, best = made(text)
    assert Fraction(certificate.score) == best
    assert certificate.gap == "0"
    certificate.check(text)
    told = verify(certificate.text(), text)
    assert (told["bound"], told["gap"]) == (decimal(best), "0")


def test_proofs_branch_drop_candidates_and_take_problems_apart():
    kinds = set()
    for seed in range(3):
        text = random_text(seed, n=9)
        problem = parse_jkl(text)
        parents = solve(problem, solver="dynamic").parents
        certificate = certify(problem, parents, scores=text)
        certificate.check(text)
        kinds |= {node[0] for node in certificate.tree}
    assert {"leaf", "arc"} <= kinds
    two = random_text(3, n=4).splitlines()
    other = [line.replace("x", "y") for line in two]
    text = "\n".join(["8", *two[1:], *other[1:]]) + "\n"
    problem = parse_jkl(text)
    half = exact_best(tables_of("\n".join(two), ("x0", "x1", "x2", "x3")))[1]
    certificate = certify(
        problem, [*half, *([p + 4 for p in own] for own in half)], scores=text
    )
    assert certificate.tree[0][0] == "split"
    assert certificate.gap == "0"
    certificate.check(text)


@pytest.mark.parametrize("seed", range(4))
def test_any_flipped_number_is_rejected(seed):
    text = random_text(seed, n=4)
    _, certificate, _ = made(text)
    content = content_of(certificate)
    assert accepts(json.dumps(content), text)
    for path in numbers(content):
        for change in (1, -1):
            assert not accepts(json.dumps(changed(content, path, change)), text), path


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_number_never_proves_a_false_bound(seed):
    """The digest is forged to match."""
    text = random_text(seed, n=4)
    _, certificate, _ = made(text)
    content = content_of(certificate)
    rejected = 0
    for path in numbers(content):
        for change in (1, -1, 7 * 10**11, -(10**12)):
            forged = changed(content, path, change)
            if accepts(resealed(deepcopy(forged), text), text):
                assert is_true(forged, text), path
            else:
                rejected += 1
    assert rejected > 0


@pytest.mark.parametrize("seed", range(3))
def test_any_flipped_score_is_rejected_or_the_claim_still_true(seed):
    text = random_text(seed, n=4)
    _, certificate, _ = made(text)
    content, lines = content_of(certificate), text.splitlines()
    for k, line in enumerate(lines):
        score, *rest = line.split()
        if "." not in score:
            continue
        for change in (Fraction(1, 1000), Fraction(-1, 1000), Fraction(2)):
            other = [*lines[:k], " ".join([decimal(Fraction(score) + change), *rest])]
            forged = "\n".join([*other, *lines[k + 1 :]])
            assert not accepts(certificate.text(), forged)
            if accepts(resealed(deepcopy(content), forged), forged):
                assert is_true(content, forged)


@settings(max_examples=60)
@given(st.data())
def test_a_rearranged_tree_never_proves_a_false_bound(data):
    """The digest is forged to match."""
    text = random_text(data.draw(st.integers(0, 5)), n=4)
    content = content_of(_certificate(text))
    best, _ = exact_best(tables_of(text, content["variables"]))
    gain = Fraction(data.draw(st.integers(1, 3000)), 1000)
    content["bound"] = decimal(best - gain)  # false, whatever the tree
    content["gap"] = decimal(-gain)
    n, clusters = 4, len(content["clusters"])
    pairs = st.dictionaries(
        st.integers(0, clusters - 1), st.integers(0, 2**43), max_size=4
    )
    told = pairs.map(lambda chosen: [list(pair) for pair in sorted(chosen.items())])
    arc = st.permutations(range(n)).map(lambda order: ["arc", *order[:2]])
    leaf = told.map(lambda multipliers: ["leaf", multipliers])
    fix = st.tuples(st.integers(0, 4000), told).map(
        lambda drawn: ["fix", decimal(best - Fraction(drawn[0], 1000)), drawn[1]]
    )
    split = st.sampled_from([["split", [[0, 1], "-40"], [[2, 3], "-40"]], ["split"]])
    nodes = st.one_of(arc, leaf, fix, split, st.sampled_from(content["tree"]))
    content["tree"] = data.draw(st.lists(nodes, min_size=1, max_size=8))
    assert not accepts(resealed(content, text), text)


_CERTIFICATES = {}


def _certificate(text):
    if text not in _CERTIFICATES:
        _CERTIFICATES[text] = made(text)[1]
    return _CERTIFICATES[text]


class TestExactness:
    def test_ties(self):
        lines = ["3"]
        for child in range(3):
            others = [v for v in range(3) if v != child]
            lines += [f"x{child} 4", "-3 0", *(f"-2 1 x{p}" for p in others)]
            lines.append(f"-2 2 x{others[0]} x{others[1]}")
        text = "\n".join(lines)
        _, certificate, best = made(text)
        assert (best, certificate.bound, certificate.gap) == (-7, "-7", "0")
        certificate.check(text)

    def test_scores_with_more_digits_than_floating_point(self):
        text = "2\na 2\n-1.00000000000000000000001 1 b\n-2 0\nb 2\n-1.00000000000000000000002 1 a\n"
        text += "-2.000 0\n"
        problem, certificate, best = made(text)
        assert certificate.score == decimal(best) == "-3.00000000000000000000001"
        assert Fraction(certificate.gap) <= Fraction(1, 10**8)
        certificate.check(text)
        rounded = certify(problem, [[1], []])
        with pytest.raises(CheckError, match="changed"):
            rounded.check(text)
        rounded.check(format_jkl(problem))

    def test_floating_point_scores_leave_a_stated_tiny_gap(self):
        rng = np.random.default_rng(1)
        problem = parse_jkl(random_text(1, n=4))
        problem = Problem(
            names=problem.names,
            first=problem.first,
            scores=problem.scores * float(rng.random()),
            member_first=problem.member_first,
            members=problem.members,
        )
        text = format_jkl(problem)
        best, parents = exact_best(tables_of(text, problem.names))
        certificate = certify(problem, parents)
        assert 0 <= Fraction(certificate.gap) <= abs(best) / 10**9
        certificate.check(text)

    def test_exponents_signs_and_whole_numbers(self):
        text = "2\na 2\n+2e1 1 b\n.5 0\nb 2\n1E-2 0\n3. 1 a\n"
        _, certificate, best = made(text)
        assert best == Fraction(2001, 100)
        assert certificate.gap == "0"
        certificate.check(text)

    @pytest.mark.parametrize(
        "number", ["nan", "inf", "1/2", "1_0", "0x1", "1e99999", "٣", ""]
    )
    def test_other_numbers_are_none(self, number):
        with pytest.raises((Unproven, ValueError)):
            read_scores(f"1\na 1\n{number} 0\n", ["a"])


NAMES = st.text(
    st.characters(codec="utf-8")
    | st.sampled_from(" #%\t\v\f\r\n\0\x1c\x85\xa0\u2028\ufeff"),
    min_size=1,
)
NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.sampled_from([
        "-3e-4000", "0e99999", "1e-99999", "-3." + "1" * 5000, "1" * 9001, "1e-0000000005", "+.5",
        "5.", "1e5000", "nan", "1_0", "0x1", "-0", "1" * 300 + "." + "1" * 8000,
    ]),
)  # fmt: skip


class TestWhatReadersAccept:
    @settings(max_examples=60)
    @given(st.lists(NAMES, min_size=2, max_size=3, unique=True), st.floats(-9, 9))
    def test_any_names_go_through_writer_reader_and_proof(self, names, score):
        problem = Problem.from_candidates(
            names, [{(): -2.0, (1,): score}, *[{(): 1.0}] * 2][: len(names)]
        )
        text = format_jkl(problem)
        read = parse_jkl(text)
        assert read.names == problem.names
        assert read.scores.tolist() == problem.scores.tolist()
        parents = [[1] if score > -2.0 else [], *[[]] * (len(names) - 1)]
        certify(problem, parents).check(text)

    @settings(max_examples=150)
    @given(
        NUMBERS,
        st.sampled_from(" \t\v\f"),
        NAMES.filter(lambda n: n.encode().split() == [n.encode()]),
    )
    def test_what_the_reader_reads_is_proven(self, number, blank, name):
        text = f"2\na{blank}2\n-1 0\n{number}{blank}1 _{name}\n_{name} 1\n-2{blank}0\n"
        try:
            problem = parse_jkl(text)
        except FormatError:
            return
        better = problem.scores[1] > -1.0
        certificate = certify(problem, [[1] if better else [], []], scores=text)
        certificate.check(text)
        assert float(certificate.bound) == pytest.approx(
            problem.scores[1 if better else 0] - 2.0
        )

    def test_literal_names_stay_literal(self):
        assert parse_jkl("1\na%20b 1\n-1 0\n").names == ("a%20b",)
        assert parse_jkl("# names are percent-encoded\n1\na%20b 1\n-1 0\n").names == (
            "a b",
        )

    def test_a_variable_without_a_name_is_refused_before_the_search(self):
        with pytest.raises(OptionError, match="needs a name"):
            solve(Problem.from_candidates([""], [{(): -1.0}]), certify=True)


class TestRestrictions:
    @pytest.mark.parametrize(
        "told", [["forbidden", 9, 0], ["at most", 1, -1], ["required", 0, 0]]
    )
    def test_one_that_names_no_variable_proves_nothing(self, told):
        text = random_text(0, n=4)
        content = content_of(_certificate(text)) | {"restrictions": [told]}
        with pytest.raises(Unproven):
            verify(resealed(content, text), text)

    CONSTRAINED = (
        {"required": frozenset({(0, 1)})},
        {"forbidden": frozenset({(2, 3), (3, 2)})},
        {"required": frozenset({(3, 0)}), "forbidden": frozenset({(1, 0)})},
        {"constraints": (MaxParents(2, 1), MaxParents(0, 0))},
        {"constraints": (Tiers(((0, 1), (2, 3))),)},
    )

    @pytest.mark.parametrize("constraints", CONSTRAINED)
    @pytest.mark.parametrize("seed", range(3))
    def test_the_best_of_the_networks_considered_is_proven(self, seed, constraints):
        text = random_text(seed, n=4)
        plain = parse_jkl(text)
        problem = Problem(
            names=plain.names, first=plain.first, scores=plain.scores,
            member_first=plain.member_first, members=plain.members, **constraints,
        )  # fmt: skip
        kept = format_jkl(problem)
        best, parents = exact_best(tables_of(kept, problem.names))
        certificate = certify(problem, parents, scores=text)
        assert certificate.restrictions
        assert certificate.score == decimal(best)
        assert certificate.gap == "0"
        certificate.check(text)
        certificate.check(kept)  # what is left out counts as not listed
        content = content_of(certificate)
        for k in range(len(content["restrictions"])):
            fewer = deepcopy(content)
            del fewer["restrictions"][k]
            assert not accepts(json.dumps(fewer), text)
            if accepts(resealed(deepcopy(fewer), text), text):
                assert is_true(fewer, text)

    def test_constraints_on_whole_networks_are_refused(self):
        plain = parse_jkl(random_text(0, n=3))
        problem = Problem(
            names=plain.names, first=plain.first, scores=plain.scores,
            member_first=plain.member_first, members=plain.members,
            constraints=(RequiredAncestor(0, 2),),
        )  # fmt: skip
        with pytest.raises(OptionError, match="whole networks"):
            certify(problem, [[], [], []])

    def test_a_network_that_is_none_of_the_problem_is_refused(self):
        with pytest.raises(CheckError, match="none of its candidates"):
            certify(parse_jkl("2\na 1\n-1 0\nb 1\n-1 0\n"), [[1], []])


class TestLimits:
    @pytest.mark.parametrize(
        "limit",
        [
            {"most_nodes": 0},
            {"most_nodes": 1},
            {"gap": 0.5},
            {"control": Looks(0)},
        ],
    )
    @pytest.mark.parametrize("seed", range(5))
    def test_what_is_left_open_is_stated(self, seed, limit):
        text = random_text(seed, n=6)
        _, certificate, _ = made(text, **limit)
        assert Fraction(certificate.gap) >= 0
        certificate.check(text)

    def test_a_worse_network_gets_a_gap(self):
        text = random_text(2, n=5)
        problem = parse_jkl(text)
        best, _ = exact_best(tables_of(text, problem.names))
        certificate = certify(problem, [[] for _ in range(5)], scores=text)
        assert Fraction(certificate.score) + Fraction(certificate.gap) >= best
        certificate.check(text)

    def test_the_same_problem_gives_the_same_bytes(self):
        text = random_text(7, n=6)
        assert made(text)[1].text() == made(text)[1].text()


def hand_made(tree, *, bound, clusters=(), text, parents, score):
    names = [line.split()[0] for line in text.splitlines()[1:] if line[0].isalpha()]
    certificate = Certificate(
        variables=names, restrictions=[], parents=parents, score=score, bound=bound,
        gap=decimal(Fraction(bound) - Fraction(score)), denominator=4,
        clusters=[list(c) for c in clusters], tree=tree,
    )  # fmt: skip
    return sealed(certificate, tables_of(text, names)).text()


PAIR = "2\na 2\n-1 1 b\n-3 0\nb 2\n-1 1 a\n-4 0\n"
"""The best network is b <- a with -4; both arcs together would score -2."""

TRIPLE = "3\na 3\n0 2 b c\n-5 1 b\n-5 0\nb 3\n0 2 a c\n-5 1 a\n-5 0\nc 3\n0 2 a b\n-5 1 a\n-5 0\n"
"""At most one of three variables has both others as parents: a cluster with count 2."""


class TestByHand:
    def test_forced_arcs_that_close_a_cycle_make_a_leaf_infeasible(self):
        tree = [["arc", 0, 1], ["arc", 1, 0], ["leaf", []], ["leaf", []], ["leaf", []]]
        known = {"text": PAIR, "parents": [[], [0]], "score": "-4"}
        assert accepts(hand_made(tree, bound="-4", **known), PAIR)
        assert not accepts(hand_made(tree, bound="-4.1", **known), PAIR)
        assert not accepts(hand_made(tree[:-1], bound="-4", **known), PAIR)
        assert not accepts(hand_made([*tree, ["leaf", []]], bound="-4", **known), PAIR)

    def test_a_cluster_with_its_multiplier(self):
        known = {
            "text": PAIR,
            "parents": [[], [0]],
            "score": "-4",
            "clusters": [[1, [0, 1]]],
        }
        assert accepts(hand_made([["leaf", [[0, 8]]]], bound="-4", **known), PAIR)
        for multiplier in (0, 4):
            assert not accepts(
                hand_made([["leaf", [[0, multiplier]]]], bound="-4", **known), PAIR
            )

    def test_a_cluster_with_count_two(self):
        known = {"text": TRIPLE, "parents": [[1, 2], [], []], "score": "-10"}
        tree = [["leaf", [[0, 20]]]]
        assert accepts(
            hand_made(tree, bound="-10", clusters=[[2, [0, 1, 2]]], **known), TRIPLE
        )
        assert not accepts(
            hand_made(tree, bound="-10", clusters=[[1, [0, 1, 2]]], **known), TRIPLE
        )

    def test_clusters_that_say_too_much(self):
        known = {"text": PAIR, "parents": [[], [0]], "score": "-4"}
        for cluster in (
            [1, []], [2, [0]], [0, [0, 1]], [3, [0, 1]], [-1, [0]], [True, [0, 1]], [1, [0, 2]],
            [1, [0, 0]], [1, [0, -1]], [1, [0, True]], [1, "01"],
        ):  # fmt: skip
            for bound in ("-4", "100"):
                forged = hand_made(
                    [["leaf", [[0, 8]]]], bound=bound, clusters=[cluster], **known
                )
                assert not accepts(forged, PAIR), cluster

    def test_a_cluster_that_leaves_its_part(self):
        text = "3\na 2\n-1 1 b\n-3 0\nb 2\n-1 1 a\n-4 0\nc 1\n0 0\n"
        known = {
            "text": text,
            "parents": [[], [0], []],
            "score": "-4",
            "clusters": [[1, [0, 2]]],
        }
        tree = [["split", [[0, 1], "-4"]], ["leaf", [[0, 8]]]]
        with pytest.raises(Unproven, match="node 1"):
            verify(hand_made(tree, bound="-4", **known), text)

    @pytest.mark.parametrize(
        "tree",
        [
            [], [["leaf"]], [["leaf", [[0, -1]]]], [["leaf", [[0, 1.0]]]], [["leaf", [[0, True]]]],
            [["leaf", [[9, 1]]]], [["leaf", [[0]]]], [["leaf", 3]], [["twig", []]], [[]], ["leaf"],
            [["arc", 0, 0], ["leaf", []], ["leaf", []]], [["arc", 0], ["leaf", []]], 7, None,
            [["arc", 0, 5], ["leaf", []], ["leaf", []]], [["split", [[0, 0], "9"]], ["leaf", []]],
            [["split", [[0], "9"], [[0], "9"]], ["leaf", []], ["leaf", []]],
            [["fix", 3, []], ["leaf", []]], [["fix", "100", []], ["leaf", []]],
        ],
    )  # fmt: skip
    def test_trees_that_are_none(self, tree):
        forged = hand_made(
            tree,
            bound="9",
            text=PAIR,
            parents=[[], [0]],
            score="-4",
            clusters=[[1, [0, 1]]],
        )
        assert not accepts(forged, PAIR)


class TestMalformed:
    @pytest.fixture
    def content(self):
        return content_of(_certificate(random_text(0, n=4)))

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("format", "exactlearn certificate 2"), ("denominator", 0), ("denominator", -4),
            ("denominator", 2.0), ("denominator", "4"), ("score", -3.5), ("bound", "1e5000"),
            ("gap", None), ("variables", ["x0", "x0", "x1", "x2"]), ("variables", ["x0", "x1"]),
            ("variables", None), ("parents", [[], []]), ("parents", [[1], [0], [], []]),
            ("parents", {}), ("restrictions", [["sometimes", 0, 1]]), ("clusters", 5),
            ("restrictions", [["required", 0]]), ("tree", {"leaf": []}), ("score", "nan"),
        ],
    )  # fmt: skip
    def test_wrong_values(self, content, key, value):
        text = random_text(0, n=4)
        assert not accepts(json.dumps(content | {key: value}), text)
        assert not accepts(resealed(deepcopy(content) | {key: value}, text), text)

    def test_keys_are_those_and_stand_once(self, content):
        text = random_text(0, n=4)
        whole = json.dumps(content)
        assert accepts(whole, text)
        assert not accepts(json.dumps(content | {"remark": 1}), text)
        assert not accepts(
            json.dumps({k: v for k, v in content.items() if k != "gap"}), text
        )
        assert not accepts(whole[:-1] + ', "gap": "0"}', text)
        for other in ("", "[]", "3", "null", '"x"', "{", "[" * 100_000, whole[:-5]):
            assert not accepts(other, text)

    @pytest.mark.parametrize(
        "scores",
        ["", "1\n", "x\n", "4\n", "2\nx0 1\n-1 0\nx1 1\n-1 0\n", "4\nx0 2\n-1 0\n"],
    )
    def test_scores_that_are_none(self, content, scores):
        assert not accepts(json.dumps(content), scores)

    def test_scores_in_another_order_with_comments_are_the_same(self, content):
        lines = random_text(0, n=4).splitlines()
        starts = [k for k, line in enumerate(lines) if line[0] == "x"]
        blocks = [lines[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]
        told = [
            "# scores",
            "4",
            *(x for b in blocks[::-1] for x in [b[0], *b[:0:-1]]),
            "",
        ]
        assert accepts(json.dumps(content), "\n".join(told))

    def test_reading_refuses_what_is_no_certificate(self, tmp_path):
        path = tmp_path / "c.json"
        for text in (
            "{",
            "[]",
            "{}",
            "7",
            "[" * 100_000,
            '{"format": "exactlearn certificate 1"}',
        ):
            path.write_text(text)
            with pytest.raises(FormatError, match=r"c\.json"):
                read_certificate(path)

    def test_writing_and_reading(self, tmp_path):
        text = random_text(0, n=4)
        certificate = _certificate(text)
        for name in ("c.json", "c.json.gz"):
            certificate.write(tmp_path / name)
            read = read_certificate(tmp_path / name)
            read.check(text)
            assert read.text() == certificate.text()


class TestStandAlone:
    def run(self, *words):
        done = subprocess.run(
            [sys.executable, "-I", CHECKER, *words],
            text=True,
            capture_output=True,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def test_it_is_short_and_imports_the_standard_library_only(self):
        source = CHECKER.read_text()
        assert len(source.splitlines()) <= 360
        tree = ast.parse(source)
        imported = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import)
                    for a in node.names}  # fmt: skip
        imported |= {
            node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
        }
        assert {name.partition(".")[0] for name in imported} <= set(
            sys.stdlib_module_names
        )

    def test_exit_statuses(self, tmp_path):
        text = random_text(0, n=4)
        certificate, scores = tmp_path / "c.json", tmp_path / "s.jkl.gz"
        _certificate(text).write(certificate)
        scores.write_bytes(gzip.compress(text.encode()))
        status, told, _ = self.run(certificate, scores)
        assert status == 0
        assert "'gap': '0'" in told
        scores.write_text(text.replace("-1", "-2", 1))
        status, _, told = self.run(certificate, scores)
        assert status == 5
        assert "changed" in told
        for words in ([certificate], [certificate, tmp_path], [scores, scores], []):
            assert self.run(*words)[0] == 2

    def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(self, tmp_path):
        bomb = tmp_path / "s.jkl.gz"
        bomb.write_bytes(gzip.compress(bytes(2**28), 1))
        status, _, told = self.run(bomb, bomb)
        assert status == 2
        assert "unpacks to 134217728 bytes or more" in told


@pytest.mark.parametrize("pauses", [*range(24), 30, 40, 50, 60, 80, 120])
def test_a_proof_that_is_stopped_holds(pauses):
    problem = parse_jkl(LONG)
    certificate = certify(problem, LONG_OPTIMUM, scores=LONG, control=Looks(pauses))
    certificate.check(LONG)
    assert Fraction(certificate.gap) >= 0


LONG = random_text(1, n=9)
LONG_OPTIMUM = solve(parse_jkl(LONG), solver="dynamic").parents


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
class TestInterrupts:
    @pytest.fixture
    def interrupted(self, monkeypatch):
        """Send Ctrl-C when a proof begins, so many times."""
        usual = signal.signal(signal.SIGINT, signal.default_int_handler)

        def begin(times):
            def certify_interrupted(*arguments, **options):
                for _ in range(times):
                    signal.raise_signal(signal.SIGINT)
                return certify(*arguments, **options)

            monkeypatch.setattr(prover, "certify", certify_interrupted)

        yield begin
        signal.signal(signal.SIGINT, usual)

    def test_the_first_ends_the_proof_with_what_it_has(self, interrupted):
        interrupted(1)
        result = solve(parse_jkl(LONG), certify=True)
        assert (result.status, result.gap, result.is_certified) == (
            "optimal",
            0.0,
            False,
        )
        result.certificate.check(format_jkl(parse_jkl(LONG)))
        unfinished = (
            f"certificate unfinished: it proves the bound {result.certificate.bound}"
        )
        assert unfinished in result.message

    def test_the_second_gives_it_up(self, interrupted):
        interrupted(2)
        result = solve(parse_jkl(LONG), certify=True)
        assert (result.status, result.certificate) == ("optimal", None)
        assert "certificate unfinished: it was given up" in result.message
        assert result.parents is not None

    def test_a_search_that_is_interrupted_begins_none(self):
        heard = []

        def interrupt(event):
            heard.append(event)
            if len(heard) == 1:
                press_ctrl_c()

        result = solve(parse_jkl(LONG), certify=True, on_event=interrupt)
        assert (result.status, result.certificate) == ("optimal", None)
        assert "certificate unfinished: it was not begun" in result.message


def test_trees_are_written_depth_first():
    tree = Arc(
        0, 1, Fix(3, (), Leaf(2)), Split([((0, 1), Leaf(5)), ((2, 3), Leaf(7))], 1)
    )
    assert tree.bound == 13
    told = Writing(10).tree(tree)
    assert told == [
        ["arc", 0, 1], ["fix", "0.3", []], ["leaf", []],
        ["split", [[0, 1], "0.5"], [[2, 3], "0.7"]], ["leaf", []], ["leaf", []],
    ]  # fmt: skip


def test_a_public_instance_solved_at_the_root(data_dir):
    path = data_dir / "bnsl" / "child-5000.jkl.gz"
    problem, text = read_jkl(path), read_text(path)

    parents = solve(problem).parents
    certificate = certify(problem, parents, scores=text)
    assert (certificate.score, certificate.gap) == ("-62059.5035", "0")
    certificate.check(text)
    content = content_of(certificate)
    rng = np.random.default_rng(0)
    places = list(numbers(content))
    for k in rng.permutation(len(places))[:20]:
        forged = changed(content, places[k], 1)
        assert not accepts(json.dumps(forged), text)
        if accepts(resealed(deepcopy(forged), text), text):
            assert Fraction(forged["bound"]) >= Fraction("-62059.5035")
