"""Disk cache of compiled programs: the next process that opens the same file compiles and packs nothing.

An entry is a saved program.  Its name hashes everything that it depends on: the file stamp of the model, the sources of
Sardonyx, Python and NumPy, and the processor; and then the compiler, which a process without llvmlite disregards.  An entry
states its name, so that a copy under another one is not used for another model, and since it is executed, entries and folders
that other users own or may write to are not used.  Whatever goes wrong with an entry costs time and nothing else.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import numpy as np

from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.cache import default_folder, warn_not_private
from sardonyx._src.compile.llvm.host_target import compiler_stamp, cpu_identity, require_llvmlite
from sardonyx._src.compile.program.defects import DEFECTS
from sardonyx._src.compile.program.executable import Executable
from sardonyx._src.compile.program.program import FallbackOp, Program
from sardonyx._src.errors import CompilationError, DecodeError, are_defects_fatal
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.loading.load import TEXT_SUFFIXES, pause_gc
from sardonyx._src.io.memory_release import trim_heap
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.io.private_files import make_private_folder, open_private_file
from sardonyx._src.ir.model import Model
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.async_compilation import async_compilation
from sardonyx._src.runtime.engine import NativeEngine, compile_releasing_weights
from sardonyx._src.runtime.lazy_model import LazyModel
from sardonyx._src.runtime.saved_programs import reading
from sardonyx._src.runtime.saved_programs.reading import ProgramImage
from sardonyx._src.runtime.saved_programs.saved_engine import SavedProgram
from sardonyx._src.runtime.saved_programs.verified_files import last_use
from sardonyx._src.runtime.shared_programs import SHARED_PROGRAMS, ModelStamp, stamp_file
from sardonyx._src.runtime.source_digest import package_stamps
from sardonyx._src.runtime.specialization import Specializations
from sardonyx._src.runtime.stats import RunCounters

if TYPE_CHECKING:
    from sardonyx._src.runtime.memory_report import MemoryReport

NAME_FORMAT = "3"  # of entry names; a change makes older entries unreachable, and trimming removes them
# Entries up to this size are read, in 1 ms; each run of a mapped one begins with two system calls.
READ_UP_TO_BYTES = 4 << 20
MAX_TOTAL_BYTES = 4 << 30  # of all entries, or a share of the free space of the disk if that is more
FREE_SPACE_SHARE = 4
ENTRY_SHARE = 2  # one entry may use half of what all may use
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class CachedProgram:
    """A mapped entry, shared by the engines that run it."""

    image: ProgramImage
    specializations: Specializations = field(default_factory=Specializations)


OPEN_PROGRAMS: WeakValueDictionary[ModelStamp, CachedProgram] = WeakValueDictionary()


class CachedEngine(NativeEngine):
    """Runs a program from the disk cache; its reference engine is made when it is needed."""

    def __init__(
        self,
        model: Model | LazyModel,
        cached: CachedProgram,
        *,
        threads: int | None = None,
        limits: RunLimits | None = None,
        seed: int | None = None,
        counters: RunCounters | None = None,
    ) -> None:
        self.initialize(model, limits, seed, counters)
        self.cached_program, self.declarations = cached, cached.image.declarations
        with limit_nesting(), pause_gc():
            self.native = SavedProgram(cached.image, threads, self.counters)
        self.specialize_runs(cached.specializations, threads)

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryReport:
        """The memory of a run with these dims; raises InputError for dims that no run can have."""
        from sardonyx._src.runtime.memory_report import build_memory_report  # lazy: few sessions need it

        return build_memory_report(self.recompiled, self.native.pool.threads, lengths)

    @cached_property
    def recompiled(self) -> Executable:
        """The model's program, compiled again: entries do not name their buffers."""
        with limit_nesting(), pause_gc():
            return compile_releasing_weights(self.model)


def open_cached_engine(
    path: Path,
    stamp: FileStamp,
    *,
    threads: int | None = None,
    limits: RunLimits | None = None,
    seed: int | None = None,
    counters: RunCounters | None = None,
) -> CachedEngine | None:
    """The engine of a file from the cache, without decoding its model; None if there is no entry, or the model is needed.

    stamp: of the file.
    """
    is_compiled = SHARED_PROGRAMS.get(stamp) is not None
    cached = None if is_compiled or path.suffix in TEXT_SUFFIXES else open_cached_program(stamp)
    if cached is None or cached.image.has_defaults:
        return None
    model = LazyModel(path, cached.image.interface)
    if stamp_file(path) != stamp:
        return None  # the mapped file may be another one
    return bind_cached(model, cached, threads, limits, seed, counters, stamp)


def bind_cached(
    model: Model | LazyModel,
    cached: CachedProgram,
    threads: int | None,
    limits: RunLimits | None,
    seed: int | None,
    counters: RunCounters | None,
    stamp: ModelStamp,
) -> CachedEngine | None:
    """The engine of an entry; None if it cannot be bound, and the entry is removed."""
    try:
        return CachedEngine(model, cached, threads=threads, limits=limits, seed=seed, counters=counters)
    except DEFECTS as defect:
        if are_defects_fatal():
            raise
        if counters is not None:
            counters.record_compiler_fault(CompilationError.of(defect, stage="bind a cached program"))
        remove_entry(stamp)
        return None


def remove_entry(stamp: ModelStamp) -> None:
    """Forgets and removes the cached program of a file."""
    OPEN_PROGRAMS.pop(stamp, None)
    with suppress(OSError):
        if (path := entry_path(stamp)) is not None:
            path.unlink()


def make_native_engine(
    model: Model,
    *,
    threads: int | None = None,
    limits: RunLimits | None = None,
    seed: int | None = None,
    stamp: ModelStamp | None = None,
    counters: RunCounters | None = None,
) -> NativeEngine:
    """The native engine of a model, with the cached program of its file if there is one.

    Raises MissingPackage without llvmlite, unless the program is compiled already, and, before anything runs, what the
    reference engine raises for a model that cannot be run.
    """
    is_compiled = stamp is not None and SHARED_PROGRAMS.get(stamp) is not None
    cached = None if stamp is None or is_compiled else open_cached_program(stamp)
    if cached is not None and stamp is not None:
        bound = bind_cached(model, cached, threads, limits, seed, counters, stamp)
        if bound is not None:
            return bound
    require_llvmlite()
    with async_compilation():
        cached, executable = None, None
        if not is_compiled and stamp is not None and is_cacheable_file(stamp):
            is_tolerant = counters is not None and counters.tolerates_faults
            cached, executable = compile_into_cache(stamp, model, limits or RunLimits(), tolerant=is_tolerant)
        bound = None
        if cached is not None and stamp is not None:
            bound = bind_cached(model, cached, threads, limits, seed, counters, stamp)
        engine: NativeEngine
        if bound is not None:
            engine = bound
        else:
            engine = NativeEngine(
                model,
                threads=threads,
                limits=limits,
                seed=seed,
                stamp=stamp,
                executable=executable,
                counters=counters,
            )
    if not is_compiled:
        trim_heap()
    return engine


def compile_into_cache(
    stamp: ModelStamp, model: Model, limits: RunLimits, *, tolerant: bool = False
) -> tuple[CachedProgram | None, Executable | None]:
    """Compiles a model into the cache: the new entry, or the executable alone if it cannot be cached.

    tolerant: as of `compile_model`.  A program that is slower for a defect of the compiler is not cached.
    """
    Interpreter(model, limits=limits)  # raises its errors
    with limit_nesting(), pause_gc():
        executable = compile_releasing_weights(model, tolerant=tolerant)
    cached = None if executable.defects else store_program(stamp, model, executable)
    return cached, None if cached else executable


def open_cached_program(stamp: ModelStamp) -> CachedProgram | None:
    """The cached program of a file, shared with the other engines that run it; None if there is no intact entry."""
    cached = OPEN_PROGRAMS.get(stamp)
    if cached is None:
        path = entry_path(stamp)
        image = None if path is None else read_entry(path)
        if image is not None:
            cached = OPEN_PROGRAMS[stamp] = CachedProgram(image)
    return cached


def read_entry(path: Path) -> ProgramImage | None:
    """The program of an entry; None if there is none, or a damaged one, which is removed."""
    try:
        with pause_gc():
            # Its requirements are part of its name.
            container, *_ = reading.open_container(path, open_private_file, READ_UP_TO_BYTES)
            reading.require_entry(path, container)
            return reading.read_image(path, container)
    except FileNotFoundError:
        return None
    except OSError as error:
        warn_not_private(error)
        log.info("the cached program %s cannot be read: %s", path, error)
    except (DecodeError, *DEFECTS) as error:
        if not isinstance(error, DecodeError) and are_defects_fatal():
            raise
        log.warning("the cached program %s is damaged and will be compiled again: %s", path, error)
        with suppress(OSError):
            path.unlink()
    return None


def is_cacheable_file(stamp: ModelStamp) -> bool:
    """Whether the program of this version of a file may be cached."""
    return not stamp.is_racily_clean and entry_path(stamp) is not None


def store_program(stamp: ModelStamp, model: Model, executable: Executable) -> CachedProgram | None:
    """Writes an entry and opens it; None if the program cannot be cached or the folder cannot be written to.

    Weights are packed on their way into the file: in memory they exist only as its pages.
    """
    path = entry_path(stamp)
    if path is None or not is_cacheable_program(executable.program):
        return None
    if executable.program.constant_bytes > max_total_bytes(path.parent) // ENTRY_SHARE:
        return None
    # Lazy imports: processes that only read entries do without.
    from sardonyx._src.compile.llvm.jit import host_target
    from sardonyx._src.runtime.arrays import FIELDS
    from sardonyx._src.runtime.saved_programs import writing

    try:
        make_private_folder(path.parent)
        with limit_nesting():
            writing.write_program(path, model, executable, host_target(), FIELDS, entry=path.stem)
        cached = open_cached_program(stamp)
        trim_folder(path.parent)
    except (OSError, *DEFECTS) as error:
        if not isinstance(error, OSError) and are_defects_fatal():
            raise
        if isinstance(error, OSError):
            warn_not_private(error)
        log.info("compiled programs are not cached in %s: %s", path.parent, error)
        return None
    return cached


def is_cacheable_program(program: Program) -> bool:
    """Whether a program compiles nothing while it runs, as fallback ops with subgraphs do."""
    nodes = [action.node for action in program.actions if isinstance(action, FallbackOp)]
    return not any(node.subgraphs for node in nodes) and not (nodes and program.model.functions)


def max_total_bytes(folder: Path) -> int:
    """The bytes that all entries may use: what `SARDONYX_CACHE_BYTES` says, or what the disk has room for."""
    stated = os.environ.get("SARDONYX_CACHE_BYTES", "")
    if stated:
        with suppress(ValueError):
            return max(int(stated), 0)
        log.warning("SARDONYX_CACHE_BYTES must be a number of bytes; got %r, which is ignored", stated)
    entries = sum(path.stat().st_size for path in folder.glob("*.sdx"))
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    return max(MAX_TOTAL_BYTES, (shutil.disk_usage(existing).free + entries) // FREE_SPACE_SHARE)


def trim_folder(folder: Path) -> None:
    """Removes the least recently used entries until the others fit."""
    sizes = {path: path.stat().st_size for path in folder.glob("*.sdx")}
    total, limit = sum(sizes.values()), max_total_bytes(folder)
    if total <= limit:
        return
    for path in sorted(sizes, key=last_use):
        path.unlink(missing_ok=True)
        total -= sizes[path]
        if total <= limit:
            return


# --- names -----------------------------------------------------------------------------------


def entry_path(stamp: ModelStamp) -> Path | None:
    """Where the program of this version of a file is cached; None if it is not.

    Without llvmlite nothing can be compiled, but the code of any compiler runs: the path is that of an existing entry.
    """
    folder = default_folder()
    if folder is None or features.saved_program_machine() is None or not environment_digest():
        return None
    name = digest_text(repr((NAME_FORMAT, stamp, environment_digest())))
    compiler = compiler_stamp()
    if compiler is None:
        return max((folder / "programs").glob(f"{name}-*.sdx"), default=None)
    return folder / "programs" / f"{name}-{digest_text(repr(compiler))[:16]}.sdx"


@cache
def environment_digest() -> str:
    """What a program depends on besides its model and the compiler: versions, the processor, our sources.

    Empty for a package that is not in files: nothing would distinguish two versions of it.
    """
    ours = package_stamps()
    return digest_text(repr((sys.version, np.__version__, cpu_identity(), ours))) if ours else ""


def digest_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
