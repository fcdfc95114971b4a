"""The equivalence class of a learnt network: in the record, the printed table and the picture."""

import json

from exactlearn.graphs.equivalence import cpdag
from exactlearn.instances import locate
from tests.command_line import run, run_json

TABLE = "cancer-mcar-complete"


def of(record: dict) -> tuple[list[tuple[int, ...]], dict[str, int]]:
    place = {name: v for v, name in enumerate(record["parents"])}
    return [tuple(place[p] for p in own) for own in record["parents"].values()], place


def test_records_have_the_cpdag_and_the_reversible_arcs(tmp_path) -> None:
    assert locate(TABLE, ".csv").exists()
    for words in (
        ("solve", TABLE),
        ("augment", "cancer-mcar"),
        ("solve", TABLE, "--solver=ges"),
    ):
        record = run_json(*words)
        parents, place = of(record)
        found = cpdag(parents)
        for kind in ("directed", "undirected"):
            arcs = {(place[a], place[b]) for a, b in record["cpdag"][kind]}
            assert arcs == getattr(found, kind)
        reversible = {(place[a], place[b]) for a, b in record["reversible"]}
        assert {(min(arc), max(arc)) for arc in reversible} == found.undirected
        assert all(a in parents[b] for a, b in reversible)


def test_constraints_fix_directions_but_keep_the_class() -> None:
    """A required arc is no longer reversible; the equivalence class is the same."""
    free = run_json("solve", TABLE)
    a, b = free["reversible"][0]
    held = run_json("solve", TABLE, "--require", f"{a} -> {b}")
    assert held["cpdag"] == free["cpdag"]
    assert [a, b] not in held["reversible"]
    tiered = run_json("solve", TABLE, "--tiers", f"{a};{b}")
    assert not {(a, b), (b, a)} & set(map(tuple, tiered["reversible"]))


def test_reversible_arcs_are_marked_in_table_and_picture(tmp_path) -> None:
    """The picture draws them dashed."""
    record = run_json("solve", TABLE)
    printed = run("solve", TABLE, "-o", tmp_path / "network.svg")
    assert printed.count("(reversible)") == len(record["reversible"]) > 0
    parent, child = record["reversible"][0]
    (line,) = [line for line in printed.splitlines() if line.startswith(child)]
    assert f"{parent} (reversible)" in line
    drawn = (tmp_path / "network.svg").read_text()
    assert drawn.count("stroke-dasharray") == len(record["reversible"])
    run("solve", TABLE, "-o", tmp_path / "network.json")
    assert json.loads((tmp_path / "network.json").read_text())["reversible"]
