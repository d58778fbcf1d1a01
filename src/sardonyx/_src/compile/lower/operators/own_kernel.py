"""Operators that callers of the package define with a native kernel: a function that writes its LLVM text, or a C function."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import Parameters, Target
from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.kernels.kernel_writer import write_kernel
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, dim_product
from sardonyx._src.ops.api import OPERATORS
from sardonyx._src.ops.native_kernel import NativeKernel

C_FUNCTION_KEY = "c_function_"
C_PARAMETERS = Parameters("function", "slots*")
ELEMENT_FLOPS = 16  # assumed operations for each element, for work partitioning


@dataclass(frozen=True, slots=True)
class OwnKernel:
    """The kernel of a region, with the attributes of its node.

    is_given: for each input, whether the node passes it.
    """

    kernel: NativeKernel
    attributes: Mapping[str, object]
    is_given: tuple[bool, ...]


@matches("OwnKernel", 1)
def match_own_kernel(op: BoundNode, scope: Scope) -> Region[OwnKernel] | None:
    """The region of a node with a native kernel; None if a rank is unknown or an element type has no native representation."""
    kernel = OPERATORS[op.node.domain, op.op_type].natives[op.version]
    inputs = [value for value in op.node.inputs if value is not None]
    outputs = op.node.outputs
    if not all(map(scope.is_native, inputs)) or not all(
        v.name and scope.shape(v) is not None for v in outputs
    ):
        return None
    if not all(scope.dtype_of(value) in LLVM_ELEMENTS for value in (*inputs, *outputs)):
        return None
    count = max(len(op.node.inputs), op.schema.max_inputs or 0)
    config = OwnKernel(kernel, op.attributes, tuple(op.input(i) is not None for i in range(count)))
    return Region("OwnKernel", (op.node,), config, tuple(map(Read, inputs)), tuple(map(Write, outputs)))


@lowers("OwnKernel")
def lower_own_kernel(region: LaidOutRegion[OwnKernel], lowering: Lowering) -> Step:
    config, outputs = region.config, region.results
    given = iter(region.operands)
    inputs = [next(given) if is_given else None for is_given in config.is_given]
    is_written = config.kernel.write is not None
    step = written_step if is_written else c_step
    kernel, args = step(config, inputs, outputs, lowering)
    reads = (
        *region.operands,
        *(arg for arg in args if isinstance(arg, TensorView) and arg.buffer.role == "constant"),
    )
    units = number_of_units(config.kernel, outputs[0])
    flops = ELEMENT_FLOPS * outputs[0].num_elements
    return Step(kernel, args, units, tuple(dict.fromkeys(reads)), outputs, flops=flops)


def number_of_units(kernel: NativeKernel, output: TensorView) -> Known:
    if kernel.units == "elements":
        return output.num_elements
    return dim_product(output.shape[:-1]) if kernel.units == "rows" else 1


def written_step(
    config: OwnKernel, inputs: Sequence[TensorView | None], outputs: Sequence[TensorView], lowering: Lowering
) -> tuple[Kernel, tuple[KernelArgument, ...]]:
    """The kernel that a function writes, and its arguments; the kernel's key is a digest of the text."""
    write = config.kernel.write
    assert write is not None, "a written kernel has a function"
    types = [None if t is None else (t.dtype, t.rank) for t in (*inputs, *outputs)]
    tensors = [tensor for tensor in (*inputs, *outputs) if tensor is not None]
    names = [f"tensor_{i}" for i in range(len(tensors))]
    parameters = Parameters(*names, "sizes*")

    def source(name: str, target: Target) -> str:
        return write_kernel(name, target, write, types, config.attributes, parameters)

    digest = hashlib.sha256(source("kernel", lowering.target).encode()).hexdigest()
    sizes = [size for tensor in tensors for size in tensor.shape]
    return Kernel(f"own_kernel_{digest[:32]}", source, parameters), (*tensors, *sizes)


def c_step(
    config: OwnKernel, inputs: Sequence[TensorView | None], outputs: Sequence[TensorView], lowering: Lowering
) -> tuple[Kernel, tuple[KernelArgument, ...]]:
    """The kernel that passes its arguments on to a C function, and its arguments."""
    attributes = lowering.constant_tensor(attribute_slots(config.attributes))
    tensors = (*inputs, *outputs)
    addresses: list[KernelArgument] = [0 if tensor is None else tensor for tensor in tensors]
    sizes = [size for tensor in tensors for size in sizes_of_argument(tensor)]
    source = partial(c_function_module, inputs=len(inputs), outputs=len(outputs))
    kernel = Kernel(f"{C_FUNCTION_KEY}{len(inputs)}_{len(outputs)}", source, C_PARAMETERS)
    return kernel, (config.kernel.address, *addresses, attributes, *sizes)


def sizes_of_argument(tensor: TensorView | None) -> Iterator[Known]:
    """The rank and the dims of an argument; rank 0 for one that is left out."""
    yield 0 if tensor is None else tensor.rank
    yield from () if tensor is None else tensor.shape


def attribute_slots(attributes: Mapping[str, object]) -> Array:
    """The attributes that are numbers, 8 bytes each: int64, or the bits of a double."""
    slots = [np.int64(v) if isinstance(v, int) else np.float64(v).view(np.int64) for v in attributes.values()
             if isinstance(v, int | float)]  # fmt: skip
    return np.array(slots or [np.int64(0)], np.int64)


def c_function_module(name: str, target: Target, *, inputs: int, outputs: int) -> str:
    """The kernel calls the function in the first slot with the addresses of the slots that follow."""
    return f"""
define void @{name}(ptr %args, i64 %first, i64 %last, ptr %scratch) nounwind {{
entry:
 %function = load ptr, ptr %args, align 8
 %inputs = getelementptr i64, ptr %args, i64 1
 %outputs = getelementptr i64, ptr %args, i64 {1 + inputs}
 %place = getelementptr i64, ptr %args, i64 {1 + inputs + outputs}
 %attributes = load ptr, ptr %place, align 8
 %sizes = getelementptr i64, ptr %args, i64 {2 + inputs + outputs}
 call void %function(ptr %inputs, ptr %outputs, ptr %sizes, ptr %attributes, i64 %first, i64 %last)
 ret void
}}
"""
