"""Files of local scores in every format: what one writes, all read alike."""

import gzip
from dataclasses import replace

import pytest

from exactlearn.errors import (
    FormatError,
    InfeasibleError,
    OptionError,
)
from exactlearn.formats.scores import is_score_file, read_scores, write_scores
from exactlearn.solvers.constraints import RequiredAncestor
from exactlearn.solvers.problem import Problem

EARTHQUAKE = Problem.from_candidates(
    ["quake", "alarm", "call"],
    [{(): -3.5}, {(0,): -1.25, (): -4.0, (0, 2): -1.0}, {(1,): -0.1, (): -2.0}],
)


@pytest.mark.parametrize("name", ["s.jkl", "s.scores", "s.jkl.gz", "s.SCORES.gz"])
def test_every_format_keeps_every_bit(tmp_path, name):
    path = tmp_path / name
    write_scores(EARTHQUAKE, path)
    assert read_scores(path) == EARTHQUAKE
    assert is_score_file(path)


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(OptionError, match=r"ending in \.jkl, .*found '\.csv'"):
        read_scores(tmp_path / "s.csv")
    with pytest.raises(OptionError, match=r"found '\.txt'"):
        write_scores(EARTHQUAKE, tmp_path / "s.txt")


def test_a_cut_gzip_file_is_refused(tmp_path):
    write_scores(EARTHQUAKE, tmp_path / "s.scores.gz")
    whole = (tmp_path / "s.scores.gz").read_bytes()
    assert gzip.decompress(whole).startswith(b"3\nquake 1\n")
    (tmp_path / "s.scores.gz").write_bytes(whole[:-9])
    with pytest.raises(FormatError, match="damaged gzip file"):
        read_scores(tmp_path / "s.scores.gz")


def test_what_no_score_file_holds_is_refused(tmp_path):
    arcs = {"required": [(2, 0)]}
    bare = Problem.from_candidates("abc", [{(1,): 1.0}, {(): 0.0}, {(): 0.0}], **arcs)
    with pytest.raises(InfeasibleError, match="'a' has no candidate"):
        write_scores(bare, tmp_path / "s.jkl")
    with pytest.raises(OptionError, match="needs a variable"):
        write_scores(Problem(), tmp_path / "s.jkl")
    whole = Problem.from_candidates("ab", [{(): 0.0}, {(): 0.0, (0,): 1.0}])
    whole = replace(whole, constraints=(RequiredAncestor(0, 1),))
    with pytest.raises(OptionError, match="concerns the whole network"):
        write_scores(whole, tmp_path / "s.jkl")
