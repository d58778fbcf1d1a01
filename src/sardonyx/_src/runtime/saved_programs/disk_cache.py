"""Disk cache of compiled programs: the next process that opens the same file or bytes compiles and packs nothing.

A model has an entry (`cache_entries`) for its general program, and an entry for each program that is specialized for
branches, ranks or parameters of its runs (`specialized_entries`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from sardonyx._src.compile.llvm.host_target import require_llvmlite
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.verification.defects import DEFECTS
from sardonyx._src.errors import CompilationError, are_defects_fatal
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.file_stamps import BytesStamp, FileStamp
from sardonyx._src.io.loading.load import TEXT_SUFFIXES, pause_gc
from sardonyx._src.io.memory_release import trim_heap
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.ops.registry import uses_own_operators
from sardonyx._src.runtime.engine.engine import NativeEngine, compile_releasing_weights
from sardonyx._src.runtime.engine.lazy_model import LazyModel
from sardonyx._src.runtime.engine.shared_programs import SHARED_PROGRAMS
from sardonyx._src.runtime.identity.model_stamps import ModelDigest, ModelStamp, ProgramKey, stamp_source
from sardonyx._src.runtime.programs.async_compilation import async_compilation
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.saved_programs.cache_entries import (
    entry_path,
    read_entry,
    trim_folder,
    write_entry,
)
from sardonyx._src.runtime.saved_programs.reading import ProgramImage
from sardonyx._src.runtime.saved_programs.saved_engine import SavedProgram
from sardonyx._src.runtime.saved_programs.specialized_entries import SpecializedEntries
from sardonyx._src.runtime.specialization.shared import Specializations

if TYPE_CHECKING:
    from sardonyx._src.runtime.programs.memory_report import MemoryReport


@dataclass(frozen=True, slots=True, weakref_slot=True)
class CachedProgram:
    """An opened entry, shared by the engines that run its program.  image: the decoded program."""

    image: ProgramImage
    specializations: Specializations


OPEN_PROGRAMS: WeakValueDictionary[ProgramKey, CachedProgram] = WeakValueDictionary()


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
            self.native = SavedProgram(cached.image, threads, self.counters, compiles_subgraphs=True)
        self.specialize_runs(cached.specializations, threads)

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryReport:
        """The memory of a run with these dims; raises InputError for dims that no run can have."""
        from sardonyx._src.runtime.programs.memory_report import (
            build_memory_report,  # lazy: few sessions need it
        )

        return build_memory_report(self.recompiled, self.native.pool.threads, lengths)

    @cached_property
    def recompiled(self) -> Executable:
        """The model's program, compiled again for its memory plan, which an entry does not contain in full."""
        self.counters.count_compilation()
        with limit_nesting(), pause_gc():
            return compile_releasing_weights(self.model, precision=self.precision)


def open_cached_engine(
    source: Path | bytes,
    stamp: FileStamp | BytesStamp,
    *,
    threads: int | None = None,
    limits: RunLimits | None = None,
    seed: int | None = None,
    counters: RunCounters | None = None,
    precision: Precision = EXACT,
) -> CachedEngine | None:
    """The engine of a model from the cache, without decoding the model; None if there is no entry.

    It is None, too, for a model with overridable initializers, and for a file in text format, which cannot be mapped.
    source: the model's file, or its bytes.
    stamp: the stamp of that file or of these bytes.
    """
    key = ProgramKey(stamp, precision)
    is_compiled = SHARED_PROGRAMS.get(key) is not None
    is_text = isinstance(source, Path) and source.suffix in TEXT_SUFFIXES
    cached = None if is_compiled or is_text else open_cached_program(key)
    if cached is None or cached.image.has_defaults:
        return None
    model = LazyModel(source, cached.image.interface)
    if isinstance(source, Path) and stamp_source(source) != stamp:
        return None  # the file was replaced since it was stamped
    return bind_cached(model, cached, threads, limits, seed, counters, key)


def bind_cached(
    model: Model | LazyModel,
    cached: CachedProgram,
    threads: int | None,
    limits: RunLimits | None,
    seed: int | None,
    counters: RunCounters | None,
    key: ProgramKey,
) -> CachedEngine | None:
    """The engine of an entry; None if that fails because of a defect, and then the entry is removed."""
    try:
        return CachedEngine(model, cached, threads=threads, limits=limits, seed=seed, counters=counters)
    except DEFECTS as defect:
        if are_defects_fatal():
            raise
        if counters is not None:
            counters.record_compiler_fault(CompilationError.of(defect, stage="bind a cached program"))
        remove_entry(key)
        return None


def remove_entry(key: ProgramKey) -> None:
    """Removes the cached program of a file from this process and from the disk."""
    OPEN_PROGRAMS.pop(key, None)
    with suppress(OSError):
        if (path := key_path(key)) is not None:
            path.unlink()


def make_native_engine(
    model: Model,
    *,
    threads: int | None = None,
    limits: RunLimits | None = None,
    seed: int | None = None,
    stamp: ModelStamp | None = None,
    counters: RunCounters | None = None,
    precision: Precision = EXACT,
) -> NativeEngine:
    """The native engine of a model: with the program of this process or the cache if there is one, else with a new one.

    Raises MissingPackage without llvmlite, unless the program is compiled already; and, before anything runs, what the
    reference engine raises for a model that cannot be run.
    """
    key = None if stamp is None else ProgramKey(stamp, precision)
    is_compiled = key is not None and SHARED_PROGRAMS.get(key) is not None
    cached = None if key is None or is_compiled else open_cached_program(key)
    if cached is not None and key is not None:
        bound = bind_cached(model, cached, threads, limits, seed, counters, key)
        if bound is not None:
            return bound
    require_llvmlite()
    with async_compilation():
        cached, executable = None, None
        if not is_compiled and key is not None and is_cacheable_file(key):
            is_tolerant = counters is not None and counters.tolerates_faults
            cached, executable = compile_into_cache(key, model, limits or RunLimits(), tolerant=is_tolerant)
            if counters is not None:
                counters.count_compilation()
        bound = None
        if cached is not None and key is not None:
            bound = bind_cached(model, cached, threads, limits, seed, counters, key)
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
                precision=precision,
            )
    if not is_compiled:
        trim_heap()
    return engine


def compile_into_cache(
    key: ProgramKey, model: Model, limits: RunLimits, *, tolerant: bool = False
) -> tuple[CachedProgram | None, Executable | None]:
    """Compiles a model and stores its program in the cache.  The results are the new entry and None, or, for a program that
    cannot be cached, None and the executable.

    A program that is slower because of a defect of the compiler is not cached.  Neither is a program with operators that
    callers have defined, since another process may define them otherwise.
    tolerant: as of `compile_model`.
    """
    Interpreter(model, limits=limits)  # raises the errors of a model that cannot be run
    with limit_nesting(), pause_gc():
        executable = compile_releasing_weights(model, tolerant=tolerant, precision=key.precision)
    is_complete = not executable.defects and not uses_own_operators(operator_names(model))
    cached = store_program(key, model, executable) if is_complete else None
    return cached, None if cached else executable


def operator_names(model: Model) -> set[tuple[str, str]]:
    """Domain and name of all operators of a model."""
    return {(node.domain, node.op_type) for root in roots(model) for node in nodes(root)}


def open_cached_program(key: ProgramKey) -> CachedProgram | None:
    """The cached program of a model, shared with the other engines that run it; None if there is no intact entry."""
    cached = OPEN_PROGRAMS.get(key)
    if cached is None:
        path = key_path(key)
        image = None if path is None else read_entry(path)
        if image is not None:
            assert path is not None, "an entry has a path"
            specializations = Specializations(SpecializedEntries(path, image))
            cached = OPEN_PROGRAMS[key] = CachedProgram(image, specializations)
    return cached


def key_path(key: ProgramKey) -> Path | None:
    """The path at which the program of a file or of bytes is cached; None if it cannot be cached."""
    assert not isinstance(key.content, ModelDigest), "programs are cached by the stamps of files and bytes"
    return entry_path(key.content, key.precision)


def is_cacheable_file(key: ProgramKey) -> bool:
    """Whether the program of this version of a file may be cached."""
    is_unsafe = isinstance(key.content, ModelDigest) or key.content.is_racily_clean
    return not is_unsafe and key_path(key) is not None


def store_program(key: ProgramKey, model: Model, executable: Executable) -> CachedProgram | None:
    """Writes an entry and opens it; None if the program cannot be cached or the folder cannot be written to."""
    path = key_path(key)
    if path is None:
        return None
    from sardonyx._src.runtime.declarations.declaration_analysis import (
        analyze_declarations,  # lazy: only compilation needs it
    )

    with limit_nesting():
        declarations = analyze_declarations(model)
    if not write_entry(path, model, declarations, executable):
        return None
    cached = open_cached_program(key)
    trim_folder(path.parent)
    return cached
