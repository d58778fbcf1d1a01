"""Saved programs, loaded into this process without compilation, so that llvmlite need not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import numpy as np

from sardonyx._src.compile.linker import features
from sardonyx._src.compile.llvm.executable_memory import ExecutableMemory
from sardonyx._src.compile.llvm.host_target import compiler_stamp
from sardonyx._src.compile.llvm.self_test import require_sound_class
from sardonyx._src.compile.llvm.target_classes import CLASSES_BY_NAME
from sardonyx._src.compile.program.encoding.port_dims import port_dims
from sardonyx._src.compile.program.encoding.size_limits import ALL_STAGES
from sardonyx._src.compile.program.encoding.slot_bases import STATUS_BASE, RelocationBase
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.errors import (
    DecodeError,
    EvaluationError,
    LimitError,
    SardonyxError,
    UnsupportedProcessor,
)
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.io import mapped_files
from sardonyx._src.io.map_guard import MapGuard
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.declarations.inner_declarations import DeclarationObserver
from sardonyx._src.runtime.engine.engine import EngineOptions, NativeEngine
from sardonyx._src.runtime.fallbacks.fallback_ops import FallbackRunner
from sardonyx._src.runtime.fast_path.fast_path import has_fast_path, runs_natively
from sardonyx._src.runtime.fast_path.sized_path import has_sized_path
from sardonyx._src.runtime.limits import thread_pool
from sardonyx._src.runtime.limits.cache_shares import count_in_cache
from sardonyx._src.runtime.limits.run_limits import MEMORY_LIMIT, Bailout
from sardonyx._src.runtime.programs import arrays
from sardonyx._src.runtime.programs.relocations import NativeSizeFunction, SizeFunction, find_relocations
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.runs.native_program import NativeProgram, subgraph_compiler
from sardonyx._src.runtime.saved_programs import image as images
from sardonyx._src.runtime.saved_programs.container import expect_string, name_file, require
from sardonyx._src.runtime.saved_programs.encoded_tensors import ImageSlots
from sardonyx._src.runtime.saved_programs.image import ProgramImage, protocol_digest

if TYPE_CHECKING:
    from sardonyx._src.runtime.programs.memory_report import MemoryReport


class SavedEngine(NativeEngine):
    """Runs the program of a `.sdx` file.  The file has no model, so that there is no reference engine."""

    def __init__(self, path: Path, **options: Unpack[EngineOptions]) -> None:
        """Raises DecodeError for a damaged file, and UnsupportedProcessor for a program for another processor or system."""
        image = open_image(path)
        self.initialize(image.interface, options)
        self.declarations = image.declarations
        with limit_nesting():
            self.programs = self.native = SavedProgram(image, self.threads, self.counters)
        self.try_run = self.native.try_run

    def run_reference(
        self,
        feeds: Mapping[str, RuntimeValue],
        guard: str,
        observer: DeclarationObserver | None,
        control: RunControl,
    ) -> dict[str, RuntimeValue]:
        """Always raises an error: there is no model to run."""
        if guard == MEMORY_LIMIT:
            raise self.memory_error()
        if guard:
            self.counters.record_bailout(guard, "a saved program has no reference engine")
            raise EvaluationError(
                f"the compiled program must not fail a guard; got: {guard}; "
                "run the model that it was compiled from, which reports the operator at fault"
            )
        raise SardonyxError(
            "a saved program has no nodes to trace; trace the model that it was compiled from"
        )

    def memory_error(self) -> LimitError:
        """The error of a run that needs more memory for intermediates, scratch and outputs than a limit or the system allows."""
        limits = self.limits
        most = limits.bytes if limits.run_bytes is None else min(limits.bytes, limits.run_bytes)
        limit = "limits.bytes" if most == limits.bytes else "limits.run_bytes"
        what = f"a run of the compiled program must hold at most {most} bytes at one time, and find them"
        return LimitError(what, limit=limit)

    def run(
        self, feeds: Mapping[str, RuntimeValue], control: RunControl | None = None
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; raises EvaluationError if a guard fails."""
        control = control or RunControl(self.counters.cancellation)
        try:
            with np.errstate(all="ignore"), limit_nesting():
                return self.native.run(feeds, self.limits, self.random_source, control)
        except (Bailout, MemoryError) as error:
            guard = error.guard if isinstance(error, Bailout) else MEMORY_LIMIT
            return self.run_reference(feeds, guard, None, control)


class SavedProgram(NativeProgram):
    """A program whose code, slots and constants come from a file."""

    def __init__(
        self,
        image: ProgramImage,
        threads: int | None = None,
        counters: RunCounters | None = None,
        *,
        compiles_subgraphs: bool = False,
    ) -> None:
        """compiles_subgraphs: whether to compile the subgraphs that fallback ops call, if llvmlite is installed."""
        self.initialize(image.program, image.plan, counters)
        self.code = ExecutableMemory(image.code, image.functions, image.slots)
        thread_pool.adopt_runner(self.code)
        if image.fields == arrays.FIELDS:
            arrays.adopt_entry(self.code)
        compiler = (
            subgraph_compiler(threads, self.counters, image.program.precision)
            if compiles_subgraphs and compiler_stamp()
            else None
        )
        self.fallback = FallbackRunner(image.program, compiler, is_lazy=compiles_subgraphs)
        self.pool = thread_pool.get_thread_pool(threads)
        self.fixed_slots, self.base_indices = image.fixed_slots, image.base_indices
        self.varying_slots = image.varying_slots
        self.bases = self.image_bases(image)
        indices: dict[RelocationBase, int] = {
            base: i for i, base in enumerate(image.extra_bases, STATUS_BASE + 1) if not isinstance(base, int)
        }
        self.relocations = find_relocations(indices, image.base_indices)
        self.size_function = image_size_function(image, self.code)
        self.has_fast_path = image.fields == arrays.FIELDS and has_fast_path(self)
        self.has_sized_path = has_sized_path(self)
        self.calls_fallback_ops = self.has_fast_path and not runs_natively(image.program)
        # The code is a view of the file, as all sections are.
        self.map_guard = MapGuard(others=[image.code, *image.files])
        self.counters.count_program(image.library_kernels, image.compiled_kernels)
        self.replace_interpreted(image.interpreted)

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryReport:
        raise SardonyxError(
            "memory planning requires the model; got a saved program, which does not name its buffers"
        )

    def image_bases(self, image: ProgramImage) -> ImageSlots:
        """The base addresses that are the same for all runs in this process: those of kernels and constants, and counts."""
        bases = np.zeros(len(image.extra_bases) + STATUS_BASE + 1, np.int64)
        for index, base in enumerate(image.extra_bases, STATUS_BASE + 1):
            if isinstance(base, int):
                bases[index] = self.code.start + base
            elif isinstance(base, CachedCount):
                bases[index] = count_in_cache(base, self.pool.threads)
            elif base.data is not None:
                bases[index] = base.data.ctypes.data
        return bases


def open_image(path: Path) -> ProgramImage:
    """The program in a file; raises unless it was compiled for this machine by this version of Sardonyx."""
    container, required, machine, protocol = images.open_container(
        path, read_up_to=mapped_files.READ_UP_TO_BYTES
    )
    if features.saved_program_machine() != machine:
        actual = features.saved_program_machine() or "another system"
        raise UnsupportedProcessor(f"{path} is for Linux on {machine}, and this is {actual}", features=())
    available = features.host_features()
    missing = [name for name in required if name not in available]
    if missing:
        what = f"{path} was compiled for a processor with {', '.join(missing)}, which this processor lacks"
        raise UnsupportedProcessor(what, features=tuple(missing))
    if protocol != protocol_digest():
        why = "another version of Sardonyx compiled this program: compile the model again"
        raise DecodeError(why, offset=0, source=str(path))
    with name_file(path):
        class_name = expect_string(container.document["class"])
        require(class_name in ("", *CLASSES_BY_NAME), f"unknown class of processors {class_name!r}")
    if class_name:
        require_sound_class(class_name, str(path))
    return images.read_image(path, container)


def image_size_function(image: ProgramImage, code: ExecutableMemory) -> SizeFunction:
    """The size function of a program; a constant one for a program without symbolic sizes."""
    if image.static_sizes is not None:
        arena, scratch, faults = image.static_sizes
        no_slots = np.empty(0, np.int64)
        return lambda lengths, stage=ALL_STAGES: (no_slots, arena, scratch, faults)
    return NativeSizeFunction(code, len(image.varying_slots), port_dims(image.program))
