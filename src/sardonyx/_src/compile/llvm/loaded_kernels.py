"""Native code of kernels, loaded once for the process and cached on disk for later ones."""

from __future__ import annotations

from collections.abc import Iterable

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import jit
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.interpreted_code import has_interpreter, interpreted_objects
from sardonyx._src.compile.llvm.jit import Library, Module, compile_target, host_target
from sardonyx._src.compile.llvm.kernel_library import symbol_of
from sardonyx._src.compile.llvm.kernel_origin import may_interpret, may_use_library
from sardonyx._src.compile.llvm.llvm_lock import LLVM_LOCK
from sardonyx._src.compile.program import Kernel
from sardonyx._src.dataclass import dataclass
from sardonyx._src.phases import phase


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """The code of a kernel, whether it comes from a library, and whether it is interpreted by a kernel of the library."""

    code: Library
    is_from_library: bool
    is_interpreted: bool = False


LOADED: dict[str, LoadedKernel] = {}  # by `Kernel.key`
DESCRIPTIONS: dict[str, tuple[int, ...] | None] = {}  # by `Kernel.key`, of kernels that the library lacks
REPLACED: list[LoadedKernel] = []  # code that programs may still call


def kernel_address(kernel: Kernel) -> int:
    """The address of a kernel's function, valid as long as the process lives."""
    loaded = LOADED[kernel.key] if is_loaded(kernel) else load_kernel(kernel)
    return loaded.code.addresses[symbol_name(kernel)]


def is_loaded(kernel: Kernel) -> bool:
    """Whether the code of a kernel is loaded, and has an origin that it may have."""
    loaded = LOADED.get(kernel.key)
    return (
        loaded is not None
        and (may_use_library() or not loaded.is_from_library)
        and (may_interpret() or not loaded.is_interpreted)
    )


def compiled_code(key: str) -> Library | None:
    """The code of a kernel, unless none is loaded or it is interpreted."""
    loaded = LOADED.get(key)
    return None if loaded is None or loaded.is_interpreted else loaded.code


@phase("kernels")
def load_kernel(kernel: Kernel) -> LoadedKernel:
    """The code of a kernel, which replaces code that has another origin than it may have."""
    target = host_target()
    objects = kernel_objects(kernel, target)
    code = Library(objects, [symbol_name(kernel)])
    with LLVM_LOCK:
        if is_loaded(kernel):  # by another thread
            return LOADED[kernel.key]
        is_interpreted = len(objects) > 1
        is_from_library = is_interpreted or is_library_kernel(kernel, target)
        return replace_code(kernel.key, LoadedKernel(code, is_from_library, is_interpreted))


def replace_code(key: str, loaded: LoadedKernel) -> LoadedKernel:
    """Makes this the code of a kernel for programs that are loaded from now on; the caller holds the lock."""
    if key in LOADED:
        REPLACED.append(LOADED[key])
    LOADED[key] = loaded
    return loaded


def is_library_kernel(kernel: Kernel, target: Target) -> bool:
    """Whether `kernel_code` takes the kernel from a library."""
    return jit.is_in_library(kernel_module(kernel, target), target)


def count_library_kernels(kernels: Iterable[Kernel]) -> int:
    """How many of these kernels, all of them loaded, come from a library."""
    return sum(LOADED[kernel.key].is_from_library for kernel in kernels)


def interpreted_kernels(kernels: Iterable[Kernel]) -> list[Kernel]:
    """Those of these kernels, all of them loaded, that are interpreted."""
    return [kernel for kernel in kernels if LOADED[kernel.key].is_interpreted]


def compile_kernel_async(kernel: Kernel) -> None:
    """Queues a kernel for the compile workers, if there are any, unless it is loaded or its code exists."""
    target = compile_target()
    if not is_loaded(kernel) and not is_interpreted(kernel, target):
        jit.compile_module_async(kernel_module(kernel, target), default_cache(), target)


def symbol_name(kernel: Kernel) -> str:
    """The name of a kernel's function, unique to the kernel."""
    return symbol_of(kernel.key)


def kernel_objects(kernel: Kernel, target: Target) -> list[bytes]:
    """The object code of a kernel; of an interpreted kernel, that of the interpreter and its own."""
    words = description(kernel) if is_interpreted(kernel, target) else None
    if words is None:
        return [kernel_code(kernel, target)]
    return interpreted_objects("elementwise", target, words, symbol_name(kernel))


def is_interpreted(kernel: Kernel, target: Target) -> bool:
    """Whether a kernel is to be interpreted: the library lacks it, no code is loaded, and the interpreter can compute it."""
    if kernel.describe is None or not may_interpret() or not has_interpreter("elementwise", target):
        return False
    loaded = LOADED.get(kernel.key)
    is_compiled = loaded is not None and not loaded.is_interpreted
    return not is_compiled and not is_library_kernel(kernel, target) and description(kernel) is not None


def description(kernel: Kernel) -> tuple[int, ...] | None:
    """The words of `Kernel.describe`, computed once."""
    if kernel.key not in DESCRIPTIONS and kernel.describe is not None:
        DESCRIPTIONS[kernel.key] = kernel.describe()
    return DESCRIPTIONS.get(kernel.key)


def kernel_code(kernel: Kernel, target: Target) -> bytes:
    """The object code of a kernel for a target, compiled unless it exists."""
    return jit.object_code(kernel_module(kernel, target), default_cache(), target)


def kernel_module(kernel: Kernel, target: Target) -> Module:
    return Module(kernel.key, lambda: kernel.source(symbol_name(kernel), target))
