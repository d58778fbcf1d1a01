"""Programs kept on disk, so that the next process that opens the same file has nothing to compile or pack.

An entry is a saved program named by the hash of all that it depends on: the file of the model and its times, the
sources of Sardonyx, the processor and the compiler.  What goes wrong with entries costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

from sardonyx._src.compile.layout import Layout, laid_out
from sardonyx._src.compile.llvm.cache import default_folder
from sardonyx._src.compile.llvm.host import compiler, processor
from sardonyx._src.compile.plan import Plan, planned
from sardonyx._src.compile.program import HostCall, Program
from sardonyx._src.compile.saved import features, reading
from sardonyx._src.compile.saved.reading import Saved
from sardonyx._src.errors import DecodeError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.load import TEXTS, without_collection
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.io.pages import give_back
from sardonyx._src.ir.graph import Model
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.deferred import Deferred
from sardonyx._src.runtime.engine import NativeEngine, program_of
from sardonyx._src.runtime.helped import helped
from sardonyx._src.runtime.saved import SavedProgram
from sardonyx._src.runtime.sources import sources
from sardonyx._src.runtime.unchanged import COMPILED, Version, version_of

if TYPE_CHECKING:
    from sardonyx._src.runtime.memory_plan import MemoryPlan

FORMAT = "1"  # of names; a change of it leaves older entries behind
LARGEST = 1 << 30  # bytes of an entry
CAP = 4 << 30  # bytes of all entries
ABANDONED = 3600  # seconds after which the beginnings of an entry are nobody's
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Mapped:
    """A program in the hands of the engines that run it."""

    saved: Saved


MAPPED: WeakValueDictionary[Version, Mapped] = WeakValueDictionary()


class KeptEngine(NativeEngine):
    """Runs the program that is kept of a model, of this session or one before; what stands behind it is made when it
    is asked."""

    def __init__(
        self,
        model: Model | Deferred,
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
        # Imported here because hardly any session is asked.
        from sardonyx._src.runtime.memory_plan import memory_plan

        return memory_plan(*self.anew, self.native.pool.threads, lengths)

    @cached_property
    def anew(self) -> tuple[Program, Plan, Layout]:
        """The program of the model lowered anew, which knows what its memory is for."""
        with nesting_limited(), without_collection():
            program = program_of(self.model)
            plan = planned(program)
            return program, plan, laid_out(program, plan)


def kept_engine(
    path: Path,
    version: Version,
    *,
    threads: int | None = None,
    limits: RunLimits | None = None,
    seed: int | None = None,
) -> KeptEngine | None:
    """The engine of a file whose program is kept, without a look at its model; None where that has to be looked at.

    version: of the file.
    """
    found = None if COMPILED.get(version) or path.suffix in TEXTS else mapped(version)
    if found is None or found.saved.has_defaults:
        return None
    model = Deferred(path, found.saved.interface)
    if version_of(path) != version:
        return None  # what was mapped may be of another version
    return KeptEngine(model, found, threads=threads, limits=limits, seed=seed)


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
    with helped():
        found, program = None, None
        if shared is None and version is not None and may_keep(version):
            found, program = made(version, model, limits or RunLimits())
        if found is not None:
            engine: NativeEngine = KeptEngine(model, found, threads=threads, limits=limits, seed=seed)
        else:
            engine = NativeEngine(
                model, threads=threads, limits=limits, seed=seed, version=version, program=program
            )
    if shared is None:
        give_back()
    return engine


def made(version: Version, model: Model, limits: RunLimits) -> tuple[Mapped | None, Program | None]:
    """The program of a model as it is kept, or, where it cannot be, as it was made."""
    Interpreter(model, limits=limits)  # raises what it does
    with nesting_limited(), without_collection():
        program = program_of(model)
    found = keep(version, model, program)
    return found, None if found else program


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
            container, *_ = reading.opened(path)  # what it asks of this machine is in its name
            return reading.saved(path, container)
    except FileNotFoundError:
        return None
    except OSError as error:
        log.info("the kept program %s is not read: %s", path, error)
    except DecodeError as error:
        log.warning("the kept program %s is damaged and is made anew: %s", path, error)
        with suppress(OSError):
            path.unlink()
    return None


def may_keep(version: Version) -> bool:
    """Whether a program of this version of a file is kept, if it can be."""
    return version.is_settled and entry(version) is not None


def keep(version: Version, model: Model, program: Program) -> Mapped | None:
    """Keeps a program, if it can be kept, and answers it; a folder that cannot be written to keeps none.

    Its weights are packed on their way into the file: they are never in memory besides as pages of it.
    """
    path = entry(version)
    if path is None or not can_be_kept(program):
        return None
    # Imported here because the next process, which only reads, does without.
    from sardonyx._src.compile.llvm.jit import host
    from sardonyx._src.compile.saved import writing
    from sardonyx._src.runtime.arrays import FIELDS

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with nesting_limited():
            writing.write(path, model, program, host(), FIELDS)
        found = mapped(version)
        trim(path.parent)
    except OSError as error:
        log.info("compiled programs are not kept in %s: %s", path.parent, error)
        return None
    return found


def can_be_kept(program: Program) -> bool:
    """Whether a program is small enough, and nothing in it makes native code while it runs, as branches and loops do."""
    calls = [action.node for action in program.actions if isinstance(action, HostCall)]
    if any(node.subgraphs for node in calls) or (calls and program.model.functions):
        return False
    from sardonyx._src.runtime.memory_plan import weights  # as above

    return weights(program) <= LARGEST


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
    words = repr((sys.version, np.__version__, compiler(), processor(), ours))
    return hashlib.sha256(words.encode()).hexdigest()
