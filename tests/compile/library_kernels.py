"""Sessions of both origins of kernels: compiled, and from a library of what the compiled ones have loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import jit, loaded_kernels
from sardonyx._src.compile.llvm.jit import compile_module, host_target
from sardonyx._src.compile.llvm.loaded_kernels import LoadedKernel, kernel_code, symbol_name
from sardonyx._src.compile.program import Kernel
from sardonyx._src.runtime.kernel_library.interpreters import interpreter_modules
from sardonyx._src.runtime.programs import kernel_replacement

CODES: dict[str, bytes] = {}  # of the library, by the names of kernels: the first code of each
TEXTS: dict[str, str] = {}  # from which this code was compiled
# Kernels that are loaded, as long as the process: programs call them.
COMPILED: dict[str, LoadedKernel] = {}
FROM_LIBRARY: dict[str, LoadedKernel] = {}


INTERPRETED: dict[str, LoadedKernel] = {}


class GrowingLibrary:
    """A library of all code that sessions under `recorded_kernels` have loaded."""

    def get(self, name: str) -> bytes | None:
        return CODES.get(name)

    def __contains__(self, name: str) -> bool:
        return name in CODES


class InterpretingLibrary(GrowingLibrary):
    """The same library without elementwise kernels, but with the interpreter."""

    def get(self, name: str) -> bytes | None:
        if name.startswith("elementwise/"):
            return None
        return interpreter_objects().get(name) or super().get(name)

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None


@cache
def interpreter_objects() -> dict[str, bytes]:
    """The object code of the interpreters and of their templates."""
    target = host_target()
    return {module.name: compile_module(module.text(), target) for module in interpreter_modules(target)}


def record_code(kernel: Kernel, target: Target) -> bytes:
    code = CODES.setdefault(kernel.key, kernel_code(kernel, target))
    TEXTS[kernel.key] = kernel.source(symbol_name(kernel), target)
    return code


def assert_one_text(kernel: Kernel) -> None:
    """Asserts that the text of a kernel is the one from which the library's code of its name was compiled."""
    assert kernel.source(symbol_name(kernel), host_target()) == TEXTS[kernel.key], kernel.key


@contextmanager
def recorded_kernels() -> Iterator[None]:
    """Adds the kernels that sessions compile to the library."""
    with patch.multiple(loaded_kernels, kernel_code=record_code, LOADED=COMPILED):
        yield


@contextmanager
def library_kernels(loaded: dict[str, LoadedKernel] | None = None) -> Iterator[None]:
    """Gives sessions the kernels of the library.  loaded: of its own, for sessions that replace kernels by compiled ones."""
    loaded = FROM_LIBRARY if loaded is None else loaded
    with (
        patch.object(jit, "class_library", lambda _: GrowingLibrary()),
        patch.multiple(loaded_kernels, LOADED=loaded),
    ):
        yield


@contextmanager
def interpreted_kernels() -> Iterator[None]:
    """Gives sessions the kernels of the library, except the elementwise ones, which are interpreted and stay so."""
    with (
        patch.object(jit, "class_library", lambda _: InterpretingLibrary()),
        patch.multiple(loaded_kernels, LOADED=INTERPRETED),
        patch.object(kernel_replacement, "request_kernels", lambda program, kernels: None),
    ):
        yield
