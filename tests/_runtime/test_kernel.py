"""Cached kernels must never outlive what they were compiled from."""

import importlib.util
import os
import pickle
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import NamedTuple, get_args

import numba
import numpy as np
import pytest
from numba import TypingError
from numpy.typing import NDArray

import exactlearn
from exactlearn._runtime import kernel as runtime
from exactlearn._runtime.kernel import (
    _Kernel,
    _only_process,
    in_place_kernel,
    kernel,
    overwrite,
)
from exactlearn.errors import OptionError

INNER = (
    "from exactlearn._runtime.kernel import kernel\n\n"
    "@kernel\ndef inner(x):\n    return x + {}\n"
)
OUTER = (
    "from exactlearn._runtime.kernel import kernel\nfrom inner_kernel import inner\n\n"
    "@kernel\ndef outer(x):\n    return 10 * inner(x)\n"
)


IS_COMPILED = "is_compiled = lambda k: Path(k._cache._cache_file._index_path).is_file()"


class Pair(NamedTuple):
    left: NDArray[np.float64]
    right: NDArray[np.float64]


@kernel
def shifted(x, by):
    return x + by


@kernel
def both_ways(x):
    return shifted(x, 1), shifted(x, -1), shifted(np.int16(x), np.int32(2))


@kernel
def long_pair(n):
    total = 0.0
    for k in range(n):
        total += np.sin(k)
    return np.full(2, total), np.arange(3)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    """Keep what processes of a test compile in a folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)


@pytest.fixture
def two_files(tmp_path):
    """Return a folder with a kernel and the one that it calls."""
    (tmp_path / "outer_kernel.py").write_text(OUTER)
    (tmp_path / "inner_kernel.py").write_text(INNER.format(1))
    return tmp_path


def start(folder: Path, command: str, **streams: int) -> subprocess.Popen[str]:
    path = f"import sys; sys.path[:0] = [{str(folder)!r}, {str(Path(__file__).parents[2])!r}]"
    compiled = "from exactlearn._runtime import kernel; kernel.MOST_INTERPRETED = -1"
    imports = f"{compiled}; from pathlib import Path; from outer_kernel import outer; {IS_COMPILED}"
    words = [sys.executable, "-B", "-c", f"{path}; {imports}; {command}"]
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, **streams)


def run(folder: Path) -> str:
    told, _ = start(
        folder, "print(is_compiled(outer), outer(1), is_compiled(outer))"
    ).communicate()
    return told.strip()


def test_a_change_of_a_kernel_called_in_another_file_is_seen(two_files):
    assert run(two_files) == "False 20 True"
    assert run(two_files) == "True 20 True"
    (two_files / "inner_kernel.py").write_text(INNER.format(200))
    assert run(two_files) == "False 2010 True"


LATER = """from exactlearn._runtime.kernel import kernel
from inner_kernel import inner
@kernel
def outer(x):
    return middle(x)
@kernel
def middle(x):
    return inner(x)
"""


def test_a_change_is_seen_through_a_kernel_defined_later(two_files):
    (two_files / "outer_kernel.py").write_text(LATER)
    assert run(two_files) == "False 2 True"
    (two_files / "inner_kernel.py").write_text(INNER.format(200))
    assert run(two_files) == "False 201 True"


TUPLE = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    {}: float\n    {}: float\n"
READER = """from exactlearn._runtime.kernel import kernel
from pair import Pair
@kernel
def outer(pair: Pair) -> float:
    return pair.left
"""


def test_a_change_of_the_fields_of_a_named_tuple_is_seen(tmp_path):
    """Fields of equal type that changed places had left the machine code of before."""
    (tmp_path / "outer_kernel.py").write_text(READER)
    for fields in (("left", "right"), ("right", "left")):
        (tmp_path / "pair.py").write_text(TUPLE.format(*fields))
        command = "from pair import Pair; print(outer(Pair(left=1.0, right=2.0)))"
        assert start(tmp_path, command).communicate()[0].strip() == "1.0"


def test_kernels_lie_among_the_files_of_the_user(two_files):
    """In the package they shadowed, once it was uninstalled, the one that was installed next."""
    caches = Path(os.environ["XDG_CACHE_HOME"]) / "exactlearn"
    for name, days in (("unused", 100), ("other", 1)):
        (caches / name).mkdir(parents=True)
        os.utime(caches / name, (time.time() - days * 24 * 3600,) * 2)
    assert run(two_files) == "False 20 True"
    version = f"{exactlearn.__version__}-numba{numba.__version__}"
    assert {folder.name for folder in caches.iterdir()} == {"other", version}
    assert not list(Path(exactlearn.__file__).parent.rglob("*.nb[ic]"))


@pytest.fixture
def no_home(two_files, monkeypatch):
    """Return the folder of temporary files, where that of the user cannot be made."""
    (two_files / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(two_files / "file"))
    temporary = two_files / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    return temporary


def test_without_a_home_kernels_are_cached_in_temporary_files(two_files, no_home):
    assert run(two_files) == "False 20 True"
    assert run(two_files) == "True 20 True"
    (folder,) = no_home.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_kernels_of_another_user_are_not_read(two_files, no_home):
    assert run(two_files) == "False 20 True"
    (folder,) = no_home.iterdir()
    folder.chmod(0o777)
    for _ in range(2):
        assert run(two_files) == "False 20 True"
        assert [*no_home.iterdir()] == [folder]


def test_the_variable_is_named_where_no_folder_can_be_written(no_home, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(
        tempfile, "_candidate_tempdir_list", lambda: [str(no_home / "none")]
    )
    with pytest.raises(OptionError, match="set the environment variable TMPDIR"):
        runtime.cache_folder.__wrapped__()


def test_a_kernel_may_call_itself(tmp_path):
    recursive = INNER.replace(
        "return x + {}", "return x + inner(x - 1) if x > 0 else 0"
    )
    (tmp_path / "outer_kernel.py").write_text(OUTER)
    (tmp_path / "inner_kernel.py").write_text(recursive)
    called = "from inner_kernel import inner; print(inner(3), outer(3))"
    for _ in range(2):
        assert start(tmp_path, called).communicate()[0].strip() == "6 60"


def test_a_kernel_sent_to_a_process_is_called_there():
    code = f"import pickle; print(pickle.loads({pickle.dumps(both_ways)!r})(3))"
    assert both_ways(3) == (4, 2, 5)
    printed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ).stdout  # fmt: skip
    assert printed.strip() == "(4, 2, 5)"


def test_kernels_are_counted_only_where_they_are_compiled(two_files):
    listen = "from exactlearn._runtime.compilation_notice import COMPILATIONS as known"
    command = f"{listen}; print(outer(1), known.started, outer(1.5), known.started)"
    assert start(two_files, command).communicate()[0].split() == [
        "20",
        "2",
        "25.0",
        "4",
    ]
    assert start(two_files, command).communicate()[0].split() == [
        "20",
        "0",
        "25.0",
        "0",
    ]


INTERRUPTED = """
import os, signal
from numba.core.codegen import CPUCodeLibrary
from numba.core.registry import cpu_target
def interrupt_and_write(*arguments):
    os.kill(os.getpid(), signal.SIGINT)
    CPUCodeLibrary._object_compiled_hook(*arguments)
engine = cpu_target.target_context.codegen()._engine
engine.set_object_cache(interrupt_and_write, CPUCodeLibrary._object_getbuffer_hook)
try:
    outer(1)
except KeyboardInterrupt:
    print("interrupted", is_compiled(outer))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_while_a_kernel_is_compiled_is_not_lost(two_files):
    """The code generator called Python back, which printed the exception and went on."""
    with start(two_files, INTERRUPTED, stderr=subprocess.PIPE) as process:
        assert process.communicate() == ("interrupted False\n", "")


STOPPED = """
import os, signal
from exactlearn._runtime.compilation_notice import COMPILATIONS
from exactlearn._runtime.control import Event, SearchControl
from inner_kernel import inner
from outer_kernel import outer

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background shell ignores it
COMPILATIONS.announce = lambda note: os.kill(os.getpid(), signal.SIGINT)
try:
    with SearchControl().running() as control:
        if {incumbent}:
            control.state = lambda: Event(0.0, 0.0, 0.0, 0, ((),))
            control.record()
        print(inner(1))
        print(outer(1))
except KeyboardInterrupt:
    print("interrupted")
print(control.is_stopped, is_compiled(inner), is_compiled(outer))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    ("incumbent", "printed"),
    [(False, "interrupted\nTrue True False\n"), (True, "2\n20\nTrue True True\n")],
)
def test_ctrl_c_ends_a_search_after_the_kernel_that_is_compiled(
    two_files, incumbent, printed
):
    """The search went on to compile all others, for up to a minute; it keeps its incumbent."""
    with start(two_files, STOPPED.format(incumbent=incumbent)) as process:
        assert process.communicate()[0] == printed


def loaded(file: Path):
    """Return the kernel of a file, as a new process would load it."""
    spec = importlib.util.spec_from_file_location("inner_kernel", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.inner


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda file: file.write_bytes(b""), id="empty"),
        pytest.param(
            lambda file: file.write_bytes(file.read_bytes()[:-50]), id="truncated"
        ),
        pytest.param(lambda file: file.write_bytes(b"garbage" * 99), id="garbage"),
        pytest.param(Path.unlink, id="absent"),
    ],
)
def test_a_damaged_cache_is_built_anew(tmp_path, monkeypatch, suffix, damage):
    folder = tmp_path / "exactlearn"
    monkeypatch.setattr("exactlearn._runtime.kernel.cache_folder", lambda: folder)
    file = tmp_path / "inner_kernel.py"
    file.write_text(INNER.format(1))
    assert loaded(file)(1) == 2
    (cached,) = folder.rglob(f"*.{suffix}")
    damage(cached)
    again, then = loaded(file), loaded(file)
    assert (again(1), then(1)) == (2, 2)
    assert not again.stats.cache_hits
    assert sum(then.stats.cache_hits.values()) == 1


def test_of_two_processes_one_compiles_and_the_other_waits(two_files):
    counted = "print(outer(1), sum(outer.stats.cache_misses.values()))"
    both = [start(two_files, counted) for _ in range(2)]
    assert sorted(process.communicate()[0].split() for process in both) == [
        ["20", "0"],
        ["20", "1"],
    ]


def test_a_lock_that_never_opens_is_not_waited_for_long(tmp_path, monkeypatch):
    monkeypatch.setattr("exactlearn._runtime.kernel.PATIENCE", 0.1)
    path = tmp_path / "kernel.lock"
    with _only_process(path), _only_process(path), _only_process(tmp_path):
        assert path.exists()


def test_one_compilation_for_all_constants_and_integer_widths():
    assert both_ways(3) == (4, 2, 5)
    # the caller may come from the disk, where its callee then lies, too
    assert len(list(shifted.folder.rglob("*.shifted-*.nbc"))) == 1


def test_a_vector_is_overwritten_also_where_it_has_strides():
    target = np.zeros((3, 2))
    overwrite(target[:, 1], np.arange(3.0))
    assert target.tolist() == [[0, 0], [0, 1], [0, 2]]


@in_place_kernel
def doubled(pair: Pair, row: int) -> int:
    here = pair.left[row]
    for k in range(len(here)):
        pair.right[k] += 2 * here[k]
    return len(here)


@kernel
def doubled_rows(pair: Pair) -> float:
    total = np.zeros(1)
    for row in range(len(pair.left)):
        total[0] += doubled(pair, row)
    return total[0]


def test_in_place_kernels_leave_reference_counts_unchanged():
    pair = Pair(np.arange(6.0).reshape(2, 3), np.zeros(3))
    before = [sys.getrefcount(array) for array in pair]
    assert doubled(pair, 1) == 3
    assert doubled_rows(pair) == 6
    assert pair.right.tolist() == [12, 18, 24]
    assert [sys.getrefcount(array) for array in pair] == before


def test_a_kernel_in_place_neither_allocates_nor_returns_arrays():
    """Nobody would release them."""
    numbers = {None, bool, int, float, np.int64, np.uint64, np.float64}
    modules = walk_packages(exactlearn.__path__, "exactlearn.")
    found = [one for m in modules for one in vars(import_module(m.name)).values()]
    kernels = [one for one in found if isinstance(one, _Kernel)]
    for one in [one for one in kernels if not owns_arrays(one)]:
        returned, code = one.py_func.__annotations__["return"], one.py_func.__code__
        assert {*get_args(returned)} or {returned} <= numbers
        assert not any(
            map(owns_arrays, map(one.py_func.__globals__.get, code.co_names))
        )
    assert len(kernels) > 100

    def allocated(n: int) -> float:
        return np.zeros(n)[0]

    with pytest.raises(TypingError):
        in_place_kernel(allocated)(3)


def owns_arrays(found) -> bool:
    return isinstance(found, _Kernel) and found.targetoptions.get("_nrt", True)


def test_small_jobs_compile_nothing(monkeypatch, tmp_path):
    def total(values: NDArray[np.float64]) -> float:
        return values[0] * len(values)

    monkeypatch.setattr(runtime, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(runtime, "MOST_INTERPRETED", 60.0)
    large, slow = kernel(total), kernel(total)
    for one in (large, slow):
        assert (one(np.ones(3)), len(one.overloads)) == (3.0, 0)
    assert large(np.ones(runtime.MOST_ELEMENTS + 1)) == runtime.MOST_ELEMENTS + 1
    monkeypatch.setattr(runtime, "MOST_INTERPRETED", 0.0)
    assert slow(np.ones(3)) == 3.0
    known = kernel(total)
    assert known(np.ones(3)) == 3.0
    assert [sum(one.stats.cache_misses.values()) for one in (large, slow, known)] == [
        1,
        0,
        0,
    ]
    assert all(one.overloads for one in (large, slow, known))
