"""The stages of compilation of small models, for fixed targets and without compiled kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest.mock import patch

import numpy as np

from models import parse_record
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.layouts.assignment import assign_layouts
from sardonyx._src.compile.layouts.laid_out import LaidOutGraph
from sardonyx._src.compile.layouts.verify import verify_layouts
from sardonyx._src.compile.lower.driver import lower
from sardonyx._src.compile.partition import Region, RegionGraph
from sardonyx._src.compile.partition.partitioner.verify import verify_regions
from sardonyx._src.compile.pipeline import partition_model
from sardonyx._src.compile.program.encoding.local_sizes import compile_bindings
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.memory.memory_plan import plan_memory
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.compile.program.verification.verify import verify_program
from sardonyx._src.compile.program.verification.verify_memory_plan import verify_memory_plan
from sardonyx._src.dtypes import DataType
from sardonyx._src.io.loading.load import load
from sardonyx._src.ir import Model
from sardonyx._src.proto import messages as m

TRIPLE = "x86_64-unknown-linux-gnu"
AVX2 = Target(TRIPLE, "haswell", "+avx2,+fma,+f16c", 8, has_fma=True, registers=16, compiler="test")
AVX512 = Target(
    TRIPLE,
    "icelake-server",
    "+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512vl,+avx512vnni",
    16,
    has_fma=True,
    registers=32,
    compiler="test",
)
COMPILERS = (
    "compile.lower.driver",
    "compile.kernels.gemm.packing.packing",
)  # modules that start to compile kernels


@dataclass(frozen=True)
class Stages:
    """The results of all stages for one model, each verified."""

    regions: RegionGraph
    laid_out: LaidOutGraph
    program: Program
    plan: MemoryPlan

    @property
    def kinds(self) -> list[str]:
        """The kinds of the regions, in order of execution."""
        return [region.kind for region in self.regions.regions]


@contextmanager
def no_compilation() -> Iterator[None]:
    """A context in which lowering compiles no kernels."""
    with ExitStack() as patches:
        for module in COMPILERS:
            patches.enter_context(patch(f"sardonyx._src.{module}.compile_kernel_async"))
        yield


def compile_stages(model: Model, target: Target = AVX2) -> Stages:
    """All stages of a model, verified."""
    regions = partition_model(model, target)
    verify_regions(regions)
    laid_out = assign_layouts(regions)
    verify_layouts(laid_out)
    with no_compilation():
        program = compile_bindings(lower(laid_out, target))
    verify_program(program)
    plan = plan_memory(program)
    verify_memory_plan(program, plan)
    return Stages(regions, laid_out, program, plan)


def stages_of(text: str, target: Target = AVX2, opset: int = 23) -> Stages:
    """All stages of a model given as text, verified; see `model_of`."""
    return compile_stages(model_of(text, opset), target)


def regions_of(text: str, target: Target = AVX2, opset: int = 23) -> list[Region[object]]:
    """The regions of a model given as text, verified."""
    regions = partition_model(model_of(text, opset), target)
    verify_regions(regions)
    return list(regions.regions)


def model_of(text: str, opset: int = 23) -> Model:
    """A model given as text; its inputs that begin with `w` become initializers of small seeded values."""
    record = parse_record(text, opset=opset, ir=11)
    graph, draw = record.graph, np.random.default_rng(0)
    assert graph is not None
    for port in [port for port in graph.input if re.match("w", port.name)]:
        graph.input.remove(port)
        graph.initializer.append(draw_weights(port, draw))
    return load(record)


def draw_weights(port: m.ValueInfoProto, draw: np.random.Generator) -> m.TensorProto:
    """An initializer in place of an input."""
    assert port.type is not None and port.type.tensor_type is not None
    tensor = port.type.tensor_type
    assert tensor.shape is not None
    dims = [dim.dim_value for dim in tensor.shape.dim]
    dtype = DataType.from_number(tensor.elem_type).numpy
    values = draw.integers(1, 8, dims) / (8 if dtype.kind == "f" else 1)
    return m.TensorProto(
        name=port.name, dims=dims, data_type=tensor.elem_type, raw_data=values.astype(dtype).tobytes()
    )
