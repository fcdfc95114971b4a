"""Kernels that kernels call: compiled to code that is linked, not to machine code of their own.

Numba turns each function that it compiles into machine code, together with all that the function
calls, although only the outermost one is ever entered from Python: of a tree of calls, the deepest
function is turned into machine code once for each caller above it. Here a kernel called by kernels
stays what numba calls bitcode, and so does what numba compiles of its own for it (`numpy.zeros`,
say). Machine code is made of the kernels that Python calls, each a wrapper linked to its kernel.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import Flags, _make_subtarget
from numba.core.environment import lookup_environment


class _LinkedLibrary(JITCodeLibrary):
    """Code without machine code, unless it is asked for the address of one of its functions."""

    _is_emitted = False

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return the address of a function, 0 if there is none."""
        self._ensure_finalized()
        if not self._is_emitted:
            if name not in {f.name for f in self.get_defined_functions()}:
                return 0
            self._is_emitted = True
            self._dynamic_globals.clear()
            super()._finalize_final_module()
            set_environments(self)
        return int(super().get_pointer_to_function(name))

    def _optimize_final_module(self) -> None:
        """Leave it to the kernel that Python calls, where all is optimised together."""

    def serialize_using_object_code(self) -> Any:
        """Return what is kept on the disk."""
        return self.serialize_using_bitcode()


class _EntryLibrary(JITCodeLibrary):
    """A kernel with all that it calls, as machine code."""

    def _optimize_final_module(self) -> None:
        """Optimise twice: what is inlined the first time leaves counts of references to prune."""
        passes, builder = self._codegen._module_pass_manager(
            opt=2, loop_vectorize=False, slp_vectorize=False
        )
        passes.run(self._final_module, builder)
        super()._optimize_final_module()


class _LinkedCodegen(JITCPUCodegen):
    """Numba's code generator while it compiles what will be linked."""

    _library_class = _LinkedLibrary

    def set_env(self, env_name: str, env: Any) -> None:
        """Tell machine code the environment of a function, where there is any."""
        if self._engine.is_symbol_defined(env_name):
            super().set_env(env_name, env)


@contextmanager
def linked_only(context: Any) -> Iterator[None]:
    """Let numba make no machine code of what it compiles inside, which holds its lock."""
    codegen = context.codegen()
    before, collects = codegen.__class__, gc.isenabled()
    codegen.__class__ = _LinkedCodegen
    gc.disable()  # the compiler makes many objects at once, and little garbage
    try:
        yield
    finally:
        codegen.__class__ = before
        if collects:
            gc.enable()


def set_environments(library: Any) -> None:
    """Tell machine code the environments of the functions linked into it."""
    for variable in library._final_module.global_variables:
        if variable.name.startswith("_ZN08NumbaEnv"):
            environment = lookup_environment(variable.name)
            if environment is not None:
                library.codegen.set_env(variable.name, environment)


def entered_from_python(linked: Any, flags: Flags) -> Any:
    """Return the result of a compilation with machine code that Python calls.

    Parameters
    ----------
    linked
        Numba's result of the compilation of a kernel that is linked only.
    flags
        How it was compiled.
    """
    context = _make_subtarget(linked.target_context, flags)
    description, environment = linked.fndesc, linked.environment
    library = _EntryLibrary(context.codegen(), description.qualname)
    library.enable_object_caching()
    library.add_linking_library(linked.library)
    context.create_cpython_wrapper(
        library, description, environment, linked.call_helper, flags.release_gil
    )
    entry = context.get_executable(library, description, environment)
    set_environments(library)
    return linked._replace(target_context=context, library=library, entry_point=entry, metadata={})
