"""Inner loops are kept as LLVM text, and optimised and emitted once, inside the loop that Python calls.

numba does both for every function by itself, and again for all it calls: 153 modules and 54 s for the first
path of the lasso. This stands on its internals; where they are not what is expected here, PARTS is empty and
loops are compiled as numba does.
"""

from __future__ import annotations

import gc
from typing import Any

from numba.core import codegen, compiler, environment, untyped_passes
from numba.core.compiler_machinery import AnalysisPass, register_pass

PARTS: dict[str, Any] = {}  # options of njit: how inner loops are compiled, and how the others are
USED = {  # the internals that this file stands on
    codegen: ("JITCodeLibrary",),
    codegen.CPUCodeLibrary: ("_get_module_for_linking", "_raise_if_finalized"),
    compiler: ("Compiler", "DefaultPassBuilder"),
    environment: ("lookup_environment",),
    untyped_passes: ("IRProcessing",),
}


def _library_pass(kind: Any, name: str) -> Any:
    """The pass that chooses the library of a function."""

    class SetLibrary(AnalysisPass):
        _name = name

        def __init__(self) -> None:
            AnalysisPass.__init__(self)

        def run_pass(self, state: Any) -> bool:
            state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return False

    return register_pass(mutates_CFG=False, analysis_only=True)(SetLibrary)


def _compiler(kind: Any, name: str) -> Any:
    chosen = _library_pass(kind, name)

    class OneLibrary(compiler.Compiler):
        def compile_extra(self, func: Any) -> Any:
            """The collector would walk over what the compiler holds, and free nothing."""
            running = gc.isenabled()
            gc.disable()
            try:
                return super().compile_extra(func)
            finally:
                if running:
                    gc.enable()

        def define_pipelines(self) -> Any:
            passes = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes.add_pass_after(chosen, untyped_passes.IRProcessing)
            passes.finalize()
            return [passes]

    return OneLibrary


if all(hasattr(owner, name) for owner, names in USED.items() for name in names):

    class _Silent:
        """A code generator whose engine knows nothing of a part's environment."""

        def __init__(self, generator: Any) -> None:
            self._generator = generator

        def set_env(self, name: str, env: Any) -> None:
            """Done by the whole."""

        def __getattr__(self, name: str) -> Any:
            return getattr(self._generator, name)

    class Part(codegen.JITCodeLibrary):
        """What only compiled loops call: text."""

        @property
        def codegen(self) -> Any:
            return _Silent(self._codegen)

        def finalize(self) -> None:
            self._raise_if_finalized()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()
            return 0

    class Whole(codegen.JITCodeLibrary):
        """What Python calls, with all its parts."""

        def finalize(self) -> None:
            self._linking_libraries = _reached(self)
            super().finalize()
            for variable in self._final_module.global_variables:
                env = environment.lookup_environment(variable.name)
                if env is not None:
                    self._codegen.set_env(variable.name, env)

    def _reached(library: Any) -> list[Any]:
        """What a library links, and what its parts do."""
        found: dict[Any, None] = {}
        todo = list(library._linking_libraries)
        while todo:
            one = todo.pop(0)
            if one not in found:
                found[one] = None
                todo += one._linking_libraries if isinstance(one, Part) else []
        return list(found)

    PARTS = {"inner": _compiler(Part, "library_of_a_part"), "outer": _compiler(Whole, "library_of_a_whole")}
