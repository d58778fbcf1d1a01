"""LLVM text to object code, and object code to functions that can be called."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Sequence
from functools import cache

from sardonyx._src.compile.llvm import ahead, compiler
from sardonyx._src.compile.llvm import host as processor
from sardonyx._src.compile.llvm.cache import Cache
from sardonyx._src.compile.llvm.executable import Executable
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.saved import link
from sardonyx._src.compile.saved.elf import Object
from sardonyx._src.compile.saved.features import machine

LOCK = threading.RLock()  # LLVM's global context serves one thread at a time
if hasattr(os, "register_at_fork"):  # a child would wait for ever for what a thread of its parent was at
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


@cache
def host() -> Target:
    """The processor that this process runs on."""
    found = processor.kept()
    if found is None:
        found = processor.target_of(asked())
        processor.keep(found)
    return found


def asked() -> dict[str, str]:
    """What LLVM says of this processor: here, if it is loaded, or in a child that is of use for other things too."""
    told = None if "llvmlite" in sys.modules else ahead.processor()
    if told is None:
        with LOCK:
            told = compiler.facts()
    return told


def compiled(text: str, target: Target, *, quick: bool = False) -> bytes:
    """The object code of a module in LLVM's text form, for the target; `quick` code is not optimised.

    Asserts that LLVM takes the text: it is written by us.
    """
    with LOCK:
        try:
            return compiler.compiled(text, target.triple, target.cpu, target.features, quick=quick)
        except compiler.Refused as error:
            raise AssertionError(f"LLVM refuses a kernel: {error}\n{text}") from error


class Library:
    """Loaded object code; the addresses of its functions hold as long as it is alive.

    Where programs can be saved, their linker puts it into memory; elsewhere, or if it wants more, LLVM does.
    """

    def __init__(self, code: bytes, names: Sequence[str]) -> None:
        self._tracker: compiler.Tracker | None = None
        if machine() is not None and link.is_closed(Object(code)):
            image = link.linked([code], names)
            self._code = Executable(image.code, image.functions, image.slots)
            self.addresses = self._code.addresses
            return
        with LOCK:
            here = host()
            found = compiler.linked(code, names, (here.triple, here.cpu, here.features))
            self._tracker = found
        self.addresses = {name: int(found[name]) for name in names}

    def __del__(self) -> None:
        """The linker forgets the code; not while another thread forks, or the child would find it halfway."""
        if self._tracker is not None:
            with LOCK:
                self._tracker = None

    def function(self, name: str, *types: type) -> Callable[..., None]:
        """A function without result, with arguments of these ctypes; calls let go of the interpreter's lock."""
        made = ctypes.CFUNCTYPE(None, *types)(self.addresses[name])
        made.library = self  # type: ignore[attr-defined]  # keeps the code alive
        return made


def load(text: str, names: Sequence[str], cache: Cache | None = None, *, quick: bool = False) -> Library:
    """The functions of a module, compiled unless the cache has them."""
    return Library(object_code(text, cache, quick=quick), names)


def object_code(text: str, cache: Cache | None = None, *, quick: bool = False) -> bytes:
    """The object code of a module for this processor, compiled unless the cache has it."""
    return code(lambda: text, origin(text, quick=quick), cache, quick=quick)


def prepare(text: str, cache: Cache | None, *, quick: bool = False) -> None:
    """Has a module compiled by a child, if there are any, for somebody who will ask for its code."""
    name = origin(text, quick=quick)
    if cache is None or not cache.has(host().key, name):
        ahead.ahead(host(), name, lambda: text, quick=quick)


def origin(text: str, *, quick: bool) -> str:
    """What tells the code of a text from that of others."""
    return f"quick\n{text}" if quick else text


def code(text: Callable[[], str], origin: str, cache: Cache | None, *, quick: bool = False) -> bytes:
    """The object code of a text that is told from others by its origin."""
    target = host()
    found = None if cache is None else cache.get(target.key, origin)
    if found is None:
        found = ahead.collected(target, origin)
        if found is None:
            ahead.TALLY.add(known=1)
            found = compiled(text(), target, quick=quick)
            ahead.TALLY.add(done=1)
        if cache is not None:
            cache.put(target.key, origin, found)
    return found
