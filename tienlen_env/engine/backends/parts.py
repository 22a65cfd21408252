"""Functions that are compiled only as parts of loops: their code is optimised where it is inlined.

Numba optimises every function by itself and translates it into machine code, before it inlines it into its
caller, and both are done again there. Python never calls these functions, so both are left out: a loop
compiles in two thirds of the time, and runs as fast.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import require_global_compiler_lock


class PartCompiler(Compiler):
    """Numba's pipeline for a function whose code is only ever linked into that of its callers."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a plain function for one signature."""
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(func)


class _Part(JITCodeLibrary):
    """LLVM code that is linked, and neither optimised nor translated."""

    def finalize(self) -> None:
        require_global_compiler_lock()
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    # A part has no address, and no place for what Numba would tell the function at run time.

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> _Part:
        return self

    def set_env(self, env_name: str, env: Any) -> None:
        pass
