"""The one decorator for compiled kernels: numba, cached on disk, free of the interpreter lock.

Numba renews a cached kernel when the kernel's own source file changes, but not when a kernel that
it calls, in another file, does: an update could then run old machine code. So the cache of each
kernel lies in a folder named after everything that went into it: its source file, the kernels it
calls, the constants it reads and the fields of the named tuples it takes. These folders lie among
the user's files, never in the package, where a later installation would find them: one folder for
each version. Of several processes that want the same kernel at once, one compiles
it, and the others wait until it lies on the disk.

A cached file may be cut short by a full disk: what cannot be read, for any reason, is removed and
compiled again.

Small jobs compile nothing: a kernel that does not lie on the disk runs as plain Python, to the same
bits, while its arguments are small and it has not taken long so far. How long a call will take is
estimated from those before, by the square of the arguments' size (benchmarks/ablation.md).
"""

import atexit
import inspect
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, cached_property
from hashlib import sha256
from math import inf
from pathlib import Path
from time import monotonic, sleep, thread_time, time
from types import FunctionType
from typing import Any, Self, TypeVar, cast, get_args

import numba
import numpy as np
from numba.core import event
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numpy.typing import NDArray

from exactlearn import __version__
from exactlearn._runtime.compilation_notice import COMPILATIONS
from exactlearn._runtime.control import interrupts_deferred
from exactlearn._runtime.files import temporary_folder

if sys.platform != "win32":
    import fcntl

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}
"""How numba compiles a kernel: without the interpreter lock, and dividing as numpy does."""

_IN_PLACE = _OPTIONS | {"_nrt": False}
"""How numba compiles a kernel that owns no arrays: without counting references to them."""

MOST_INTERPRETED = 0.15
"""Seconds of a kernel in plain Python, above which it is compiled (benchmarks/ablation.md)."""

MOST_ELEMENTS = 12_000
"""Size of a kernel's arguments above which it is compiled."""

OVERHEAD = 1000
"""Size of arguments that takes as long as a call itself."""

PATIENCE = 60.0
"""Seconds that a process waits for another one that compiles the same kernel."""


def kernel(function: F) -> F:
    """Compile a function of arrays and scalars on first call and keep the machine code on disk.

    The plain Python function stays reachable as ``.twin``, with all kernels it calls as such.
    """
    return _compiled(function, _OPTIONS)


def in_place_kernel(function: F) -> F:
    """Compile a kernel that allocates no arrays and returns numbers, as :func:`kernel` does.

    Its machine code counts no references to arrays, an atomic operation for each array of each call
    and a third of the time of short kernels in long loops; it also compiles sooner. Numba refuses
    to compile what allocates. It must return numbers, and call kernels of its kind only: nobody
    would release arrays.
    """
    return _compiled(function, _IN_PLACE)


def _compiled(function: F, options: dict[str, object]) -> F:
    compiled: Any = _Kernel(function, targetoptions=options)
    compiled._cache = KernelCache(function)
    compiled.folder = Path(compiled._cache.cache_path)
    return cast(F, compiled)


class _Compilations(event.Listener):
    """Counts the kernels that lie neither in memory nor on the disk."""

    def on_start(self, event: Any) -> None:
        """Count a kernel, not what numba compiles of its own."""
        if isinstance(event.data["dispatcher"], _Kernel):
            COMPILATIONS.begin()

    def on_end(self, event: Any) -> None:
        """Note that a kernel is compiled."""
        if isinstance(event.data["dispatcher"], _Kernel):
            COMPILATIONS.end()


cast(Any, event.register)("numba:compile", _Compilations())


class _Kernel(CPUDispatcher):
    """A kernel, compiled once for all constants, whose calls from Python can be interrupted."""

    folder: Path | None = None
    """Where its machine code lies; that of a kernel sent to a process is not kept."""

    _rate = 0.0
    """The most seconds of a call in plain Python, divided by the square of its size."""

    def compile(self, signature: Any) -> Any:
        """Compile, or read from the disk what this or another process compiled.

        Numba's own lock comes first: a thread that waits for another process then holds up no
        thread of its own that this other process waits for.
        """
        lock = self.folder and self.folder / f"{self.py_func.__name__}.lock"
        with global_compiler_lock, _only_process(lock), interrupts_deferred():
            return super().compile(signature)

    def get_call_template(self, types: Any, keywords: Any) -> Any:
        """Let the type not depend on constants and widths of integers that another kernel passes.

        Otherwise numba compiles once more for each constant and width.
        """
        keywords = {name: _widest(t) for name, t in dict(keywords).items()}
        return super().get_call_template(tuple(map(_widest, types)), keywords)

    @cached_property
    def twin(self) -> Callable[..., Any]:
        """The plain function, which calls those of other kernels."""
        function = self.py_func
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            if isinstance(called := names.get(name), _Kernel):
                names[name] = called.twin
        return FunctionType(function.__code__, names, function.__name__)

    @cached_property
    def _interpreted(self) -> float:
        """Seconds spent in plain Python; infinite for what is never interpreted.

        That is what lies on the disk, and what sums arrays, which numpy does in another order.
        """
        name = self.py_func.__name__
        is_sum = "sum" in self.py_func.__code__.co_names
        if is_sum or self.folder is None or any(self.folder.glob(f"*{name}-*.nbi")):
            return inf
        return 0.0

    def _is_small(self, size: int) -> bool:
        """Return whether a call takes little time in plain Python."""
        seconds = self._interpreted + self._rate * (OVERHEAD + size) ** 2
        return size <= MOST_ELEMENTS and seconds <= MOST_INTERPRETED

    def _interpret(self, arguments: tuple[Any, ...], size: int) -> Any:
        """Call the plain function, and note how long it takes."""
        began = thread_time()
        with np.errstate(all="ignore"):
            result = self.twin(*arguments)
        seconds = thread_time() - began
        self._interpreted += seconds
        self._rate = max(self._rate, seconds / (OVERHEAD + size) ** 2)
        return result

    def __call__(self, *arguments: Any) -> Any:
        """Call; Ctrl-C comes out as such.

        Numba boxes several arrays by Python code that goes on after an exception, so that a
        signal taken there would come out as a `SystemError`, which nobody expects.
        """
        if not self.overloads and self._is_small(size := _size(arguments)):
            return self._interpret(arguments, size)
        try:
            return super().__call__(*arguments)
        except SystemError as error:
            # The interrupt is among the causes of numba's error.
            cause = error.__cause__
            while cause is not None and not isinstance(cause, KeyboardInterrupt):
                cause = cause.__cause__
            if cause is None:
                raise
            raise cause from None


def _size(argument: Any) -> int:
    """Return the size of arrays and tuples; a number counts, as it may be one of steps."""
    if isinstance(argument, tuple):
        return sum(map(_size, argument))
    return argument if isinstance(argument, int) else getattr(argument, "size", 1)


def _widest(of: Any) -> Any:
    """Return the type of a scalar or an array that a kernel is compiled for."""
    of = numba.types.unliteral(of)
    return numba.types.int64 if of in numba.types.signed_domain else of


@contextmanager
def _only_process(path: Path | None) -> Iterator[None]:
    """Wait for other processes that hold the lock of a file, then hold it.

    Nothing hangs on it but time: who waits in vain, as for a process that was halted, or cannot
    write or lock there compiles as well; under Windows everybody does.
    """
    with ExitStack() as held:
        with suppress(OSError):
            if path is not None and sys.platform != "win32":
                path.parent.mkdir(parents=True, exist_ok=True)
                file = held.enter_context(path.open("ab"))
                deadline = monotonic() + PATIENCE
                while monotonic() < deadline:
                    with suppress(BlockingIOError):
                        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                        break
                    sleep(0.05)
        yield


def _fingerprint(function: Callable[..., Any]) -> str:
    """Hash what a kernel is compiled from: source file, kernels called, constants, named tuples."""
    # The source, and how it is compiled.
    digest = sha256(Path(inspect.getfile(function)).read_bytes())
    digest.update(f"{numba.__version__} {sys.version} {_OPTIONS}".encode())
    # What the module has of other files: kernels and numbers, which a kernel that is defined later
    # may read for this one; and the constants and named tuples that this one reads.
    for name, value in sorted(function.__globals__.items()):
        if isinstance(value, _Kernel) and value.folder:
            digest.update(f"{name} {value.folder.name}".encode())
        elif isinstance(value, bool | int | float):
            digest.update(f"{name} {value!r}".encode())
        elif name not in function.__code__.co_names:
            continue
        elif isinstance(value, str | tuple):
            digest.update(f"{name} {value!r}".encode())
        else:
            digest.update(_fields(value).encode())
    # The named tuples that it takes.
    for annotation in function.__annotations__.values():
        digest.update(_fields(annotation).encode())
    return digest.hexdigest()[:16]


def _fields(annotation: Any) -> str:
    """Return the fields of a named tuple and of those in it: kernels reach them by their places."""
    inner: dict[str, Any] = {}
    if hasattr(annotation, "_fields"):
        inner = getattr(annotation, "__annotations__", {})
    parts = inner.values() or get_args(annotation)
    return f"{list(inner)}{''.join(map(_fields, parts))}" if parts else ""


@cache
def cache_folder() -> Path:
    """Return the folder of the kernels: the user's, for this version; old ones leave in 90 days.

    ``NUMBA_CACHE_DIR`` names another one, which may hold kernels and be read-only. Where the user's
    cannot be written, it is one among the temporary files, which later processes find again.

    Raises
    ------
    OptionError
        When no folder can be written.
    """
    if named := cast(Any, numba.config).CACHE_DIR:
        folder = Path(named) / "exactlearn"
        if not _can_hold_files(folder):
            COMPILATIONS.remark = (
                f". They cannot be kept in NUMBA_CACHE_DIR, {named}, and every process compiles "
                "them anew: name a folder that can be written"
            )
        return folder
    # The user's folder of caches.
    base = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME")
    caches = (Path(base) if base else Path.home() / ".cache") / "exactlearn"
    folder = caches / f"{__version__}-numba{numba.__version__}"
    is_new = not os.path.isdir(folder)
    if not _can_hold_files(folder):
        return _temporary_cache(folder.name)
    # A new version removes what older ones have not used for long.
    if is_new:
        for old in caches.iterdir():
            if old.stat().st_mtime < time() - 90 * 24 * 3600:  # its last kernel's
                shutil.rmtree(old, ignore_errors=True)
    return folder


def _can_hold_files(folder: Path) -> bool:
    """Return whether a folder can be written, which is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def _temporary_cache(name: str) -> Path:
    """Return a folder among the temporary files that this user alone can write.

    Kernels are read by unpickling them: a folder of another user's is not taken, but a new one that
    leaves with the process.
    """
    parent = temporary_folder()
    if sys.platform != "win32":
        # A folder that later processes of this user find again.
        folder = parent / f"exactlearn-{os.getuid()}"
        with suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            status = folder.lstat()
            is_private = stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o022
            is_own = is_private and status.st_uid == os.getuid()
            if is_own and _can_hold_files(folder / name):
                return folder / name
    # One of this process alone.
    folder = Path(tempfile.mkdtemp(prefix="exactlearn-", dir=parent))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class _Folder(_CacheLocator):
    """The folder of a kernel: its name tells of what is in it, wherever the source file lies."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Self:
        return cls(cache_folder() / _fingerprint(function))

    def get_cache_path(self) -> str:
        return str(self._path)

    def get_source_stamp(self) -> str:
        return ""

    get_disambiguator = get_source_stamp


class _CompiledFunction(CompileResultCacheImpl):
    """The files that numba writes of a kernel."""

    _locator_classes: Any = (_Folder,)


class KernelCache(FunctionCache):
    """The cache of a kernel; damaged files count as absent, and are written anew."""

    _impl_class = _CompiledFunction

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the machine code for a signature, or nothing when it must be compiled.

        Numba's own method imports all that it may need to compile, for a fifth of a second.
        """
        try:
            rtsys.initialize(target_context)
            return self._load_overload(signature, target_context)
        except Exception:  # unpickling garbage raises anything
            index = Path(self._cache_file._index_path)
            for path in index.parent.glob(f"{index.stem}.*"):
                with suppress(OSError):
                    path.unlink()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keep the machine code for a signature, unless the disk does not take it."""
        with suppress(OSError):
            super().save_overload(signature, data)


@in_place_kernel
def overwrite(target: NDArray[Any], source: NDArray[Any]) -> None:
    """Copy a vector into another of the same length.

    Kernels call this instead of assigning to a slice, for which numba compiles several seconds'
    worth of error messages about shapes.
    """
    for i in range(len(target)):
        target[i] = source[i]


@in_place_kernel
def count_true(mask: NDArray[np.bool_]) -> int:
    """Return the number of true entries; numpy's sum takes ten times as long to compile."""
    total = 0
    for i in range(len(mask)):
        total += mask[i]
    return total


@kernel
def true_places(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where the entries are true; `numpy.flatnonzero` takes ten times as long to compile."""
    places = np.empty(count_true(mask), np.int64)
    n_places = 0
    for i in range(len(mask)):
        if mask[i]:
            places[n_places] = i
            n_places += 1
    return places
