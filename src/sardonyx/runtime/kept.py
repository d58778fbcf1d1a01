"""Programs kept on disk, so that the next process that opens the same file has nothing to compile or pack.

An entry is a saved program named by the hash of all that it depends on: the file of the model and its times, the
sources of Sardonyx, the processor and the compiler.  What goes wrong with entries costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

import sardonyx.compile as room
from sardonyx.compile.llvm.cache import default_folder
from sardonyx.compile.program import HostCall
from sardonyx.compile.saved import features
from sardonyx.compile.saved.reading import Saved
from sardonyx.compile.tensor import Storage
from sardonyx.errors import DecodeError, UnsupportedProcessor
from sardonyx.io.load import without_collection
from sardonyx.io.nesting import nesting_limited
from sardonyx.ir.graph import Model
from sardonyx.ops.api import RunLimits
from sardonyx.runtime.engine import NativeEngine
from sardonyx.runtime.native import NativeProgram, compile_model
from sardonyx.runtime.saved import SavedProgram, opened
from sardonyx.runtime.unchanged import COMPILED, Version

if TYPE_CHECKING:
    from sardonyx.runtime.memory_plan import MemoryPlan

FORMAT = "1"  # of names; a change of it leaves older entries behind
LARGEST = 1 << 30  # bytes of an entry
CAP = 4 << 30  # bytes of all entries
ABANDONED = 3600  # seconds after which the beginnings of an entry are nobody's
ROOMS = ("compile", "convert", "infer", "rewrite")  # whose files decide what a program is
KINDS = frozenset(  # the fields that tell processors apart, on x86-64 and AArch64
    "vendor_id,cpu family,model,model name,stepping,flags,features,cpu implementer,cpu architecture,cpu variant,"
    "cpu part,cpu revision".split(",")
)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Mapped:
    """A program in the hands of the engines that run it."""

    saved: Saved


MAPPED: WeakValueDictionary[Version, Mapped] = WeakValueDictionary()


class KeptEngine(NativeEngine):
    """Runs the program that an earlier session has kept of a model; what stands behind it is made when it is asked."""

    def __init__(
        self,
        model: Model,
        kept: Mapped,
        *,
        threads: int | None = None,
        limits: RunLimits | None = None,
        seed: int | None = None,
    ) -> None:
        self.begin(model, limits, seed)
        self.kept = kept
        with nesting_limited(), without_collection():
            self.native = SavedProgram(kept.saved, threads)
        self.again = self.native.again

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryPlan:
        """What memory runs of these lengths take; raises InputError for those that no run has."""
        return self.anew.memory_plan(lengths)

    @cached_property
    def anew(self) -> NativeProgram:
        """The program of the model compiled anew, which knows what its memory is for."""
        with nesting_limited(), without_collection():
            return NativeProgram(compile_model(self.model), self.native.pool.threads)


def native_engine(
    model: Model,
    *,
    threads: int | None = None,
    limits: RunLimits | None = None,
    seed: int | None = None,
    version: Version | None = None,
) -> NativeEngine:
    """The native engine of a model, with the program that is kept of this version of it if there is one.

    Raises, before anything runs, what the reference engine raises for a model that cannot be run.
    """
    shared = None if version is None else COMPILED.get(version)  # of a session that has been through all this
    found = None if version is None or shared else mapped(version)
    if found is not None:
        return KeptEngine(model, found, threads=threads, limits=limits, seed=seed)
    made = NativeEngine(model, threads=threads, limits=limits, seed=seed, version=version)
    if version is not None and shared is None:
        keep(version, model, made.native)
    return made


def mapped(version: Version) -> Mapped | None:
    """The kept program of a file, shared with the other engines that run it; None if there is none that is whole."""
    found = MAPPED.get(version)
    if found is None:
        path = entry(version)
        saved = None if path is None else read(path)
        if saved is not None:
            found = MAPPED[version] = Mapped(saved)
    return found


def read(path: Path) -> Saved | None:
    """The program of an entry; None if there is none that is whole."""
    with suppress(OSError):
        os.utime(path)  # used now
    try:
        with without_collection():
            return opened(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        log.info("the kept program %s is not read: %s", path, error)
    except (DecodeError, UnsupportedProcessor) as error:
        log.warning("the kept program %s is damaged and is made anew: %s", path, error)
    return None


def keep(version: Version, model: Model, native: NativeProgram) -> None:
    """Keeps a program, if it can be kept; a folder that cannot be written to keeps none."""
    path = entry(version)
    if path is None or not version.is_settled or not can_be_kept(native):
        return
    # Imported here because the next process, which only reads, does without.
    from sardonyx.compile.llvm.jit import host
    from sardonyx.compile.saved import writing
    from sardonyx.runtime.arrays import FIELDS

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with nesting_limited():
            writing.write(path, model, native.program, host(), FIELDS)
        trim(path.parent)
    except OSError as error:
        log.info("compiled programs are not kept in %s: %s", path.parent, error)


def can_be_kept(native: NativeProgram) -> bool:
    """Whether a program is small enough, and nothing in it makes native code while it runs, as branches and loops do."""
    calls = [action.node for action in native.program.actions if isinstance(action, HostCall)]
    if any(node.subgraphs for node in calls) or (calls and native.program.model.functions):
        return False
    data = [of.data for of in native.layout.others if isinstance(of, Storage) and of.data is not None]
    return sum(one.nbytes for one in data) <= LARGEST


def trim(folder: Path) -> None:
    """Removes the entries that were used longest ago until the others fit, and what writers that died have left."""
    now = time.time()
    for path in folder.glob(".*.tmp"):
        if now - path.stat().st_mtime > ABANDONED:
            path.unlink(missing_ok=True)
    found = [(path.stat(), path) for path in folder.glob("*.sdx")]
    total = sum(stat.st_size for stat, _ in found)
    for stat, path in sorted(found, key=lambda pair: pair[0].st_mtime):
        if total <= CAP:
            return
        path.unlink(missing_ok=True)
        total -= stat.st_size


# --- names -----------------------------------------------------------------------------------


def entry(version: Version) -> Path | None:
    """Where the program of a version of a file is kept; None where none are."""
    folder = default_folder()
    if folder is None or features.machine() is None or not surroundings():
        return None
    words = repr((FORMAT, version, surroundings()))
    return folder / "programs" / f"{hashlib.sha256(words.encode()).hexdigest()}.sdx"


@cache
def surroundings() -> str:
    """What a program depends on besides its model: versions, the processor, the compiler, the sources of ours.

    Empty for a package that is not in files: nothing would tell one version of it from the next.
    """
    ours = sources()
    if not ours:
        return ""
    digest = hashlib.sha256(repr((sys.version, np.__version__, compiler())).encode())
    for line in (*processor(), *ours):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()


def processor() -> list[str]:
    """What Linux says of the cores, of what does not change from one moment to the next."""
    lines = features.CPUINFO.read_text("utf-8", "replace").splitlines()
    return sorted({line for line in lines if line.partition(":")[0].strip().lower() in KINDS})


def compiler() -> str:
    """The installed LLVM, which is not loaded for this."""
    found = importlib.util.find_spec("llvmlite")
    return "" if found is None or found.origin is None else stamp(found.origin, os.stat(found.origin))


def sources() -> list[str]:
    """The files that decide what a program is, by their times: reading them would take longer than opening a model."""
    package = os.path.dirname(room.__path__[0])
    facade = os.path.join(package, "__init__.py")  # which has the version
    found = sorted(one for name in ROOMS for one in stamps(os.path.join(package, name)))
    return [stamp(facade, os.stat(facade)), *found] if found else []


def stamps(folder: str) -> Iterator[str]:
    """Those of the sources in a folder, if there is one."""
    if not os.path.isdir(folder):
        return
    with os.scandir(folder) as found:
        for one in found:
            if one.name.endswith(".py"):
                yield stamp(one.path, one.stat())
            elif "." not in one.name and one.name != "__pycache__":
                yield from stamps(one.path)


def stamp(path: str, found: os.stat_result) -> str:
    """A file, its size and its times."""
    return f"{path} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
