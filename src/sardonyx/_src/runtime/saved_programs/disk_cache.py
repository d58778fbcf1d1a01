"""Disk cache of compiled programs: the next process that opens the same file or bytes compiles and packs nothing.

A model has an entry (`cache_entries`) for its general program, and an entry for each program that is specialized for
branches, ranks or parameters of its runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Unpack
from weakref import WeakValueDictionary

from sardonyx._src.compile.llvm.host_target import require_llvmlite
from sardonyx._src.compile.program import Precision
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.verification.defects import DEFECTS
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CompilationError, are_defects_fatal
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.model_sources import TEXT_SUFFIXES, DecoderEdit
from sardonyx._src.io.memory_release import trim_heap
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.phases import phase
from sardonyx._src.runtime.engine.engine import EngineOptions, NativeEngine, compile_releasing_weights
from sardonyx._src.runtime.engine.lazy_model import LazyModel
from sardonyx._src.runtime.engine.shared_programs import SHARED_PROGRAMS
from sardonyx._src.runtime.identity.model_stamps import ModelDigest, ModelStamp, ProgramKey, stamp_source
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.saved_programs.cache_entries import read_entry, trim_folder, write_entry
from sardonyx._src.runtime.saved_programs.constant_files import ConstantFiles
from sardonyx._src.runtime.saved_programs.entry_names import alias_entry, entry_path, shared_paths
from sardonyx._src.runtime.saved_programs.image import ProgramImage
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


RACY = "its files were written a moment ago, and may change without changing their times"
NO_CACHE = "SARDONYX_CACHE is empty, or the system has no saved programs"
OPEN_PROGRAMS: WeakValueDictionary[ProgramKey, CachedProgram] = WeakValueDictionary()


class CachedEngine(NativeEngine):
    """Runs a program from the disk cache; its reference engine is made when it is needed."""

    def __init__(
        self, model: Model | LazyModel, cached: CachedProgram, **options: Unpack[EngineOptions]
    ) -> None:
        self.initialize(model, options)
        self.cached_program, self.declarations = cached, cached.image.declarations
        with limit_nesting(), pause_gc():
            self.native = SavedProgram(cached.image, self.threads, self.counters, compiles_subgraphs=True)
        self.specialize_runs(cached.specializations)

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryReport:
        """The memory of a run with these dims; raises InputError for dims that no run can have."""
        # Lazy: few sessions need it.
        from sardonyx._src.runtime.programs.memory_report import build_memory_report

        return build_memory_report(self.recompiled, self.native.pool.threads, lengths)

    @cached_property
    def recompiled(self) -> Executable:
        """The model's program, compiled again for its memory plan, which an entry does not contain in full."""
        self.counters.count_compilation()
        with limit_nesting(), pause_gc():
            return compile_releasing_weights(self.model, precision=self.precision)


def open_cached_engine(
    key: ProgramKey, source: Model | Path | bytes, options: EngineOptions
) -> CachedEngine | None:
    """The engine of a cached program; None if there is no entry, or if the compiled program is in this process.

    It is None, too, for a model that is not decoded yet and has overridable initializers, or is a file in text format, which
    cannot be mapped.
    source: the model, its file, or its bytes.
    """
    is_text = isinstance(source, Path) and source.suffix in TEXT_SUFFIXES
    is_compiled = SHARED_PROGRAMS.get(key) is not None
    cached = None if is_text or is_compiled else open_cached_program(key)
    if cached is None:
        return None
    if isinstance(source, Model):
        return bind_cached(source, cached, key, options)
    if cached.image.has_defaults:
        return None
    model = LazyModel(source, cached.image.interface, key.edit)
    if isinstance(source, Path) and stamp_source(source) != key.content:
        return None  # the file was replaced since it was stamped
    return bind_cached(model, cached, key, options)


@phase("cache")
def bind_cached(
    model: Model | LazyModel, cached: CachedProgram, key: ProgramKey, options: EngineOptions
) -> CachedEngine | None:
    """The engine of an entry; None if that fails because of a defect, and then the entry is removed."""
    try:
        return CachedEngine(model, cached, **options)
    except DEFECTS as defect:
        if are_defects_fatal():
            raise
        if (counters := options.get("counters")) is not None:
            counters.record_compiler_fault(CompilationError.of(defect, stage="bind a cached program"))
        remove_entry(key)
        return None


def remove_entry(key: ProgramKey) -> None:
    """Removes the cached program of a file from this process and from the disk."""
    OPEN_PROGRAMS.pop(key, None)
    with suppress(OSError):
        if (path := key_path(key)) is not None:
            path.unlink()


def compile_engine(
    model: Model,
    stamp: ModelStamp | None,
    precision: Precision,
    options: EngineOptions,
    edit: DecoderEdit | None = None,
) -> NativeEngine:
    """The engine of the compiled program in this process or, if there is none, of a new one, which is cached if possible.

    stamp, edit: as of `NativeEngine`.
    Raises MissingPackage without llvmlite; and, before anything runs, what the reference engine raises for a model that cannot
    be run.
    """
    # Lazy: cached programs need no compiler.
    from sardonyx._src.compile.llvm.kernel_library import close_blocks
    from sardonyx._src.runtime.programs.async_compilation import async_compilation

    require_llvmlite()
    counters = options.get("counters") or RunCounters()
    key = None if stamp is None else ProgramKey(stamp, precision, counters.start, edit)
    is_compiled = key is not None and SHARED_PROGRAMS.get(key) is not None
    engine: NativeEngine | None = None
    executable: Executable | None = None
    with async_compilation():
        if key is not None and not is_compiled and may_be_cached(key, options):
            engine, executable = compile_into_cache(key, model, options)
        if engine is None:
            engine = NativeEngine(
                model,
                stamp=stamp,
                executable=executable,
                precision=precision,
                edit=edit,
                **options,
            )
    if not is_compiled:
        close_blocks()
        trim_heap()
    return engine


def compile_into_cache(
    key: ProgramKey, model: Model, options: EngineOptions
) -> tuple[CachedEngine | None, Executable | None]:
    """Compiles a model and stores its program in the cache.

    The results are the engine of the entry, if it can be bound, and None; or None and the executable that cannot be cached.

    A program that is slower because of a defect of the compiler is not cached.  Neither is a program with operators that
    callers have defined, since another process may define them otherwise.
    """
    from sardonyx._src.interp.runnable import require_runnable  # lazy: a cached program needs no check

    counters = options.get("counters") or RunCounters()
    require_runnable(model, options.get("limits"))
    counters.count_compilation()
    with limit_nesting(), pause_gc():
        executable = compile_releasing_weights(
            model, tolerant=counters.tolerates_faults, precision=key.precision
        )
    cached, counters.uncached = store_program(key, model, executable)
    if cached is None:
        return None, executable
    return bind_cached(model, cached, key, options), None


def operator_names(model: Model) -> set[tuple[str, str]]:
    """Domain and name of all operators of a model."""
    return {(node.domain, node.op_type) for root in roots(model) for node in nodes(root)}


def open_cached_program(key: ProgramKey) -> CachedProgram | None:
    """The cached program of a model, shared with the other engines that run it.

    None if there is no intact entry, or if the origin of its kernels is another than the key's.
    """
    cached = OPEN_PROGRAMS.get(key)
    if cached is not None:
        return cached
    stamp, own = model_stamp(key), key_path(key)
    others = shared_paths(stamp, key.precision, key.edit)
    for path in dict.fromkeys([*([] if own is None else [own]), *others]):
        image = read_entry(path, ConstantFiles(stamp))
        if image is not None and image.has_origin(key.start):
            shared = None if path == own else path
            store = None if own is None else SpecializedEntries(own, image, stamp, key.start, shared)
            cached = OPEN_PROGRAMS[key] = CachedProgram(image, Specializations(store))
            return cached
    return None


def key_path(key: ProgramKey) -> Path | None:
    """The path at which the program of a file or of bytes is cached; None if it cannot be cached."""
    return entry_path(model_stamp(key), key.precision, key.edit)


def model_stamp(key: ProgramKey) -> ModelStamp:
    """The stamp of the model of a program that is cached."""
    assert not isinstance(key.content, ModelDigest), "programs are cached by the stamps of files and bytes"
    return key.content


def may_be_cached(key: ProgramKey, options: EngineOptions) -> bool:
    """Whether the program of this version of a file may be cached; if not, the session's counters say why."""
    if isinstance(key.content, ModelDigest):
        return False
    reason = ""
    if key.content.is_racily_clean:
        reason = RACY
    elif key_path(key) is None:
        reason = NO_CACHE
    if (counters := options.get("counters")) is not None:
        counters.uncached = reason
    return not reason


def store_program(key: ProgramKey, model: Model, executable: Executable) -> tuple[CachedProgram | None, str]:
    """Writes an entry and opens it; or None, and why that is not possible."""
    path, reason = write_program_entry(key, model, executable)
    cached = None if path is None else open_cached_program(key)
    if path is None or cached is None:
        return None, reason or f"{path} cannot be read"
    assert not isinstance(key.content, ModelDigest), "such programs have no path"
    alias_entry(key.content, key.precision, path, key.edit)
    trim_folder(path.parent)
    return cached, ""


def write_program_entry(key: ProgramKey, model: Model, executable: Executable) -> tuple[Path | None, str]:
    """Writes an entry; returns its path, or None and why that is not possible."""
    path = key_path(key)
    if path is None:
        return None, NO_CACHE
    # Lazy: only compilation needs them.
    from sardonyx._src.ops.registry import uses_own_operators
    from sardonyx._src.runtime.declarations.declaration_analysis import analyze_declarations

    if executable.defects:
        return None, "the compiler failed at nodes of it"
    if uses_own_operators(operator_names(model)):
        return None, "this process defines operators of it"
    with limit_nesting():
        declarations = analyze_declarations(model)
    reason = write_entry(path, model, declarations, executable, ConstantFiles(model_stamp(key)))
    return (None, reason) if reason else (path, "")
