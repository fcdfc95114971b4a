"""The repository layout and the installed package say the same."""

import multiprocessing as mp
import pkgutil
import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import exactlearn
from exactlearn import Problem  # any class that crosses process borders
from exactlearn.solvers import solve

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PYPROJECT["tool"]["setuptools"]


def test_every_package_is_listed():
    folders = {
        p.parent.relative_to(ROOT)
        for top in ("exactlearn", "solvers", "instances")
        for p in (ROOT / top).rglob("*.py")
    }
    places = set()
    for name in SETUPTOOLS["packages"]:
        place = name
        for package, folder in SETUPTOOLS["package-dir"].items():
            place = re.sub(rf"^{re.escape(package)}\b", folder, place)
        places.add(Path(place.replace(".", "/")))
    links = ("exactlearn/solvers", "exactlearn/instances")
    assert {f for f in folders if not f.as_posix().startswith(links)} == places


@pytest.mark.parametrize("name", ["solvers", "instances"])
def test_a_checkout_sees_the_installed_tree(name):
    link = ROOT / "exactlearn" / name
    assert link.is_symlink()
    assert link.resolve() == ROOT / name


def test_every_bundled_file_is_packaged():
    patterns = SETUPTOOLS["package-data"]["exactlearn.instances"]
    files = [
        p for p in (ROOT / "instances").iterdir() if p.is_file() and p.suffix != ".py"
    ]
    assert files
    assert [p for p in files if not any(p.match(pattern) for pattern in patterns)] == []


def test_solvers_refuses_its_bare_name():
    with pytest.raises(ImportError, match="by that name"):
        __import__("solvers")


def test_public_names():
    assert len(set(exactlearn.__all__)) == len(exactlearn.__all__) <= 72
    assert all(hasattr(exactlearn, name) for name in exactlearn.__all__)
    assert set(exactlearn.__all__) <= set(dir(exactlearn))
    with pytest.raises(AttributeError, match="has no attribute 'solv'"):
        _ = exactlearn.solv


def test_no_module_takes_the_place_of_a_public_name():
    modules = {module.name for module in pkgutil.iter_modules(exactlearn.__path__)}
    assert modules & set(exactlearn.__all__) == set()
    import_module("exactlearn.data.coding")
    assert exactlearn.discretise([1.0, 2.0], "width", 2)[2] == ("<=1.5", ">1.5")


def test_one_version():
    assert exactlearn.__version__ == PYPROJECT["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {exactlearn.__version__}" in changelog


def test_the_console_script_exists():
    module, function = PYPROJECT["project"]["scripts"]["exactlearn"].split(":")
    assert callable(getattr(import_module(module), function))


def test_pickles_to_a_spawned_worker():
    with mp.get_context("spawn").Pool(1) as pool:
        assert pool.map(solve, [Problem()])[0].status == "optimal"
