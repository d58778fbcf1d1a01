"""LLVM text to object code, and object code to functions that can be called."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count

import llvmlite.binding as llvm

from sardonyx.compile.cache import Cache
from sardonyx.compile.target import Target, host, machine

LOCK = threading.RLock()  # LLVM's global context serves one thread at a time
SERIAL = count()


def compiled(text: str, target: Target) -> bytes:
    """The object code of a module in LLVM's text form, optimised for the target.

    Asserts that LLVM takes the text: it is written by us.
    """
    with LOCK:
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise AssertionError(f"LLVM refuses a kernel: {error}\n{text}") from error
        writer = machine(target)
        module.triple = target.triple
        module.data_layout = str(writer.target_data)
        tuning = llvm.create_pipeline_tuning_options(speed_level=2)
        tuning.loop_vectorization = tuning.slp_vectorization = (
            False  # kernels say themselves what is a vector
        )
        passes = llvm.create_pass_builder(writer, tuning)
        passes.getModulePassManager().run(module, passes)
        found: bytes = writer.emit_object(module)
        return found


class Library:
    """Loaded object code; the addresses of its functions hold as long as it is alive."""

    def __init__(self, code: bytes, names: Sequence[str]) -> None:
        with LOCK:
            builder = llvm.JITLibraryBuilder()
            builder.add_object_img(code)
            builder.add_current_process()  # for what LLVM itself calls, as memcpy
            for name in names:
                builder.export_symbol(name)
            self._tracker = builder.link(linker(), f"kernels_{next(SERIAL)}")
        self.addresses = {name: int(self._tracker[name]) for name in names}

    def function(self, name: str, *types: type) -> Callable[..., None]:
        """A function without result, with arguments of these ctypes; calls let go of the interpreter's lock."""
        made = ctypes.CFUNCTYPE(None, *types)(self.addresses[name])
        made.library = self  # type: ignore[attr-defined]  # keeps the code alive
        return made


@cache
def linker() -> llvm.LLJIT:
    """The one linker of the process."""
    return llvm.create_lljit_compiler(machine(host()))


def load(text: str, names: Sequence[str], cache: Cache | None = None) -> Library:
    """The functions of a module, compiled unless the cache has them."""
    target = host()
    code = None if cache is None else cache.get(target.key, text)
    if code is None:
        code = compiled(text, target)
        if cache is not None:
            cache.put(target.key, text, code)
    return Library(code, names)
