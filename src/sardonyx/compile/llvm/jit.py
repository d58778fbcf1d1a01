"""LLVM text to object code, and object code to functions that can be called."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from sardonyx.compile.llvm.cache import Cache
from sardonyx.compile.llvm.target import Target

if TYPE_CHECKING:
    import llvmlite.binding as llvm

WIDTHS = (("avx512f", 16), ("avx2", 8), ("avx", 8))  # 32-bit floats in a register
LOCK = threading.RLock()  # LLVM's global context serves one thread at a time
SERIAL = count()
if hasattr(os, "register_at_fork"):  # a child would wait for ever for what a thread of its parent was at
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def package() -> Any:
    """LLVM's bindings, loaded when something is compiled: programs that were saved do without them."""
    import llvmlite.binding

    return llvmlite


def binding() -> Any:
    return package().binding


@cache
def host() -> Target:
    """The processor that this process runs on."""
    with LOCK:
        return found_host()


def found_host() -> Target:
    start()
    found = binding().get_host_cpu_features()
    triple = binding().get_process_triple()
    lanes = next((lanes for name, lanes in WIDTHS if found.get(name)), 4)
    is_arm = triple.startswith(("aarch64", "arm64"))
    return Target(
        triple=triple,
        cpu=binding().get_host_cpu_name(),
        features=found.flatten(),
        lanes=lanes,
        fused=bool(found.get("fma")) or is_arm,
        registers=32 if lanes == 16 or is_arm else 16,
        compiler=package().__version__,
    )


@cache
def start() -> None:
    """Makes LLVM ready for the processor of this process."""
    binding().initialize_native_target()
    binding().initialize_native_asmprinter()


def machine(target: Target) -> llvm.TargetMachine:
    """A target machine of its own: an engine takes over the one that it gets."""
    start()
    found = binding().Target.from_triple(target.triple)
    return found.create_target_machine(
        cpu=target.cpu, features=target.features, opt=3, reloc="pic", codemodel="small"
    )


def compiled(text: str, target: Target) -> bytes:
    """The object code of a module in LLVM's text form, optimised for the target.

    Asserts that LLVM takes the text: it is written by us.
    """
    with LOCK:
        return optimised(text, target)


def optimised(text: str, target: Target) -> bytes:
    """What `compiled` answers; whatever LLVM makes on the way is gone before the lock is."""
    try:
        module = binding().parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise AssertionError(f"LLVM refuses a kernel: {error}\n{text}") from error
    writer = machine(target)
    module.triple = target.triple
    module.data_layout = str(writer.target_data)
    tuning = binding().create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = False  # kernels say themselves what is a vector
    passes = binding().create_pass_builder(writer, tuning)
    passes.getModulePassManager().run(module, passes)
    found: bytes = writer.emit_object(module)
    return found


class Library:
    """Loaded object code; the addresses of its functions hold as long as it is alive."""

    def __init__(self, code: bytes, names: Sequence[str]) -> None:
        self._tracker: llvm.ResourceTracker | None = None
        with LOCK:
            self._tracker = found = linked(code, names)
        self.addresses = {name: int(found[name]) for name in names}

    def __del__(self) -> None:
        """The linker forgets the code; not while another thread forks, or the child would find it halfway."""
        with LOCK:
            self._tracker = None

    def function(self, name: str, *types: type) -> Callable[..., None]:
        """A function without result, with arguments of these ctypes; calls let go of the interpreter's lock."""
        made = ctypes.CFUNCTYPE(None, *types)(self.addresses[name])
        made.library = self  # type: ignore[attr-defined]  # keeps the code alive
        return made


def linked(code: bytes, names: Sequence[str]) -> llvm.ResourceTracker:
    builder = binding().JITLibraryBuilder()
    builder.add_object_img(code)
    builder.add_current_process()  # for what LLVM itself calls, as memcpy
    for name in names:
        builder.export_symbol(name)
    return builder.link(linker(), f"kernels_{next(SERIAL)}")


@cache
def linker() -> llvm.LLJIT:
    """The one linker of the process."""
    return binding().create_lljit_compiler(machine(host()))


def load(text: str, names: Sequence[str], cache: Cache | None = None) -> Library:
    """The functions of a module, compiled unless the cache has them."""
    return Library(object_code(text, cache), names)


def object_code(text: str, cache: Cache | None = None) -> bytes:
    """The object code of a module for this processor, compiled unless the cache has it."""
    target = host()
    code = None if cache is None else cache.get(target.key, text)
    if code is None:
        code = compiled(text, target)
        if cache is not None:
            cache.put(target.key, text, code)
    return code
