"""LLVM text to object code, and object code to functions that can be called."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm.cache import ObjectCache
from sardonyx._src.compile.llvm.compile_progress import PROGRESS
from sardonyx._src.compile.llvm.executable_memory import CODE_OWNERS, ExecutableMemory
from sardonyx._src.compile.llvm.host_target import (
    chosen_class_name,
    cross_target,
    known_host_info,
    missing_llvmlite,
    store_host_info,
    target_from_info,
)
from sardonyx._src.compile.llvm.kernel_library import KernelLibrary, class_library
from sardonyx._src.compile.llvm.kernel_origin import may_use_library
from sardonyx._src.compile.llvm.llvm_lock import LLVM_LOCK
from sardonyx._src.compile.llvm.sources import sources_digest
from sardonyx._src.dataclass import dataclass

if TYPE_CHECKING:
    from sardonyx._src.compile.llvm import compiler


@cache
def host_target() -> Target:
    """The target of this machine: the class of its processor, or the one that `SARDONYX_TARGET` names.

    Raises MissingPackage without llvmlite; InputError and UnsupportedProcessor for a wrong `SARDONYX_TARGET`.
    """
    info = machine_info()
    return target_from_info(info, chosen_class_name())


@cache
def machine_info() -> dict[str, str]:
    """The description of this processor; raises MissingPackage without llvmlite."""
    info = known_host_info()
    if info is None:
        info = query_host_info()
        store_host_info(info)
    return info


def compile_target() -> Target:
    """The target for which this context compiles programs: that of this machine, unless `compile_for_class` names another."""
    return cross_target(machine_info()) or host_target()


def query_host_info() -> dict[str, str]:
    """LLVM's description of this processor: from this process if llvmlite is loaded, else from a worker if there is one."""
    with LLVM_LOCK:  # lazy: code of a library or a cache needs no worker
        from sardonyx._src.compile.llvm import async_compile, compiler

    info = None if "llvmlite" in sys.modules else async_compile.query_host_info()
    if info is None:
        try:
            with LLVM_LOCK:
                info = compiler.query_host_info()
        except ImportError as error:
            raise missing_llvmlite() from error
    return info


def compile_module(text: str, target: Target, *, quick: bool = False) -> bytes:
    """The object code of a module in LLVM's text form, for the target; quick: without optimization.

    Asserts that LLVM accepts the text: the compiler generated it.
    """
    with LLVM_LOCK:
        from sardonyx._src.compile.llvm import compiler  # lazy: code of a library or a cache needs no worker

        try:
            return compiler.compile_module(text, target.triple, target.cpu, target.features, quick=quick)
        except compiler.InvalidModule as error:
            raise AssertionError(f"LLVM refuses a kernel: {error}\n{text}") from error


class Library:
    """Loaded object code: addresses of functions by name, valid as long as the object lives.

    Code without references to other code is linked by our own linker (`linker.link`) on machines that it supports,
    and otherwise by LLVM.
    """

    def __init__(self, code: bytes | Sequence[bytes], names: Sequence[str]) -> None:
        """code: one object, or several that our own linker links, of which later ones call functions of earlier ones."""
        with LLVM_LOCK:  # lazy: saved programs are linked already
            from sardonyx._src.compile.linker import link
            from sardonyx._src.compile.linker.elf import ElfObject

        self._tracker: compiler.Tracker | None = None
        objects = [code] if isinstance(code, bytes) else code
        is_ours = len(objects) > 1 or link.is_self_contained(ElfObject(objects[0]))
        if saved_program_machine() is not None and is_ours:
            image = link.link_objects(objects, names)
            self._code = ExecutableMemory(image.code, image.functions, image.slots)
            self.addresses = self._code.addresses
            return
        with LLVM_LOCK:
            from sardonyx._src.compile.llvm import compiler  # lazy: our own linker links most code

            target = host_target()
            tracker = compiler.link_object(objects[0], names, (target.triple, target.cpu, target.features))
            self._tracker = tracker
        CODE_OWNERS.add(self)
        self.addresses = {name: int(tracker[name]) for name in names}

    def __del__(self) -> None:
        """Unlinks the code; under the lock, so that no other thread forks in the middle."""
        if self._tracker is not None:
            with LLVM_LOCK:
                self._tracker = None

    def function(self, name: str, *types: type) -> Callable[..., None]:
        """A C function without a result, with arguments of these ctypes; calls release the GIL."""
        function = ctypes.CFUNCTYPE(None, *types)(self.addresses[name])
        function.library = self  # type: ignore[attr-defined]  # keeps the code alive
        return function


@dataclass(frozen=True, slots=True)
class Module:
    """A module of LLVM's text form, generated only if it must be compiled.

    name: determines the text, for given sources of the compiler and a target.
    quick: whether it is compiled without optimization.
    """

    name: str
    text: Callable[[], str]
    quick: bool = False

    @classmethod
    def of_text(cls, text: str, *, quick: bool = False) -> Module:
        """A module whose text is its name."""
        return cls(text, lambda: text, quick)

    @property
    def cache_key(self) -> str:
        return "\n".join((*(["quick"] if self.quick else []), sources_digest(), self.name))


def load(module: Module | str, names: Sequence[str], cache: ObjectCache | None = None) -> Library:
    """The functions of a module or a text, which is compiled unless a library or the cache has its code."""
    return Library(object_code(Module.of_text(module) if isinstance(module, str) else module, cache), names)


def compile_module_async(module: Module, cache: ObjectCache | None, target: Target | None = None) -> None:
    """Queues a module for the compile workers, if there are any, unless its code exists.  target: None for this machine."""
    target = target or host_target()
    is_found = is_in_library(module, target) or (
        cache is not None and cache.has(target.key, module.cache_key)
    )
    if not is_found:
        with LLVM_LOCK:  # lazy: code of a library or a cache needs no worker
            from sardonyx._src.compile.llvm import async_compile

        async_compile.submit_module(target, module.cache_key, module.text, quick=module.quick)


def object_code(module: Module, cache: ObjectCache | None, target: Target | None = None) -> bytes:
    """The code of a module: from a library, from the cache, from a worker that compiles it, or compiled here.

    target: None for this machine.
    """
    target = target or host_target()
    code = library_code(module, target)
    if code is not None:
        PROGRESS.count_hit()
        return code
    key = module.cache_key  # which reads all sources of the compiler
    code = None if cache is None else cache.get(target.key, key)
    if code is not None:
        PROGRESS.count_hit()
    else:
        with LLVM_LOCK:  # lazy: code of a library or a cache needs no worker
            from sardonyx._src.compile.llvm import async_compile

        code = async_compile.take_code(target, key)
        if code is None:
            PROGRESS.add(known=1)
            code = compile_module(module.text(), target, quick=module.quick)
            PROGRESS.add(done=1)
        if cache is not None:
            cache.put(target.key, key, code)
    return code


def library_code(module: Module, target: Target) -> bytes | None:
    """The code of a module in the library of the target's class, if there is one that has it and that may be used."""
    library = library_for(module, target)
    return None if library is None else library.get(module.name)


def is_in_library(module: Module, target: Target) -> bool:
    """Whether `library_code` has the code of a module."""
    library = library_for(module, target)
    return library is not None and module.name in library


def library_for(module: Module, target: Target) -> KernelLibrary | None:
    """The library that may have the code of a module."""
    return class_library(target.class_name) if may_use_library() and not module.quick else None
