"""Elementwise steps: one or several expressions, evaluated for each element of some broadcast tensors."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.element_types import LLVM_ELEMENTS
from sardonyx._src.compile.codegen.expressions import Apply, Scalar, topological_order
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.elementwise.elementwise_emitter import (
    CHEAP_OPERATIONS,
    UNIT_ELEMENTS,
    ElementwiseEmitter,
)
from sardonyx._src.compile.kernels.elementwise.iteration_space import ElementwiseSpace, broadcast_space
from sardonyx._src.compile.kernels.elementwise.variant import ElementwiseOperand, ElementwiseVariant
from sardonyx._src.compile.program.step import Kernel, KernelArgument, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, dim_product

VECTOR_FUNCTION_OPERATIONS = 20  # operations that a call of a vector function counts as


def elementwise_step(
    value: Scalar | Sequence[Scalar],
    inputs: Sequence[TensorView],
    out: TensorView | Sequence[TensorView],
    nodes: tuple[str, ...] = (),
) -> Step:
    """The step that evaluates an expression for each output; all outputs have one shape, to which inputs broadcast.

    value: an expression of `Local("i0")`, `Local("i1")`, ..., the inputs; its type is that of its output.  An output may
    alias an input that has the same strides and element size.
    """
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    outputs = tuple(out) if isinstance(out, Sequence) else (out,)
    shape = outputs[0].shape
    assert all(o.shape == shape for o in outputs), f"outputs must have one shape; got {outputs}"
    tensors = (*outputs, *inputs)
    assert all(t.dtype in LLVM_ELEMENTS for t in tensors), (
        f"element types must be those of kernels; got {tensors}"
    )
    space = broadcast_space(shape, tensors)
    operands = tuple(
        ElementwiseOperand(t.dtype, access) for t, access in zip(tensors, space.access_patterns, strict=True)
    )
    variant = ElementwiseVariant(
        values, operands[: len(outputs)], operands[len(outputs) :], len(space.dims) - 1
    )
    sizes, units = size_arguments(space)
    return Step(
        Kernel(variant.key, lambda name, target: elementwise_source(variant, name, target)),
        (*tensors, *sizes),
        units,
        reads=tuple(inputs),
        writes=outputs,
        flops=dim_product(shape) * sum(map(count_operations, values)),
        bytes_accessed=sum((t.nbytes for t in tensors), start=0),
        nodes=nodes,
        in_place=True,
    )


def elementwise_source(variant: ElementwiseVariant, name: str, target: Target) -> str:
    """The LLVM module of a kernel."""
    emitter = ElementwiseEmitter(variant, target)
    emitter.emit_units()
    return emitter.build_module(name)


def size_arguments(space: ElementwiseSpace) -> tuple[list[KernelArgument], Known]:
    """The arguments after the pointers, in the order of `ElementwiseVariant`, and the number of units of work."""
    *outer, length = space.dims
    rows = dim_product(tuple(outer))
    rows_per_unit = ceil_div(UNIT_ELEMENTS, dim_max(length, 1)) if outer else 1
    sizes: list[KernelArgument] = [length, rows, rows_per_unit, *outer[1:]]
    for strides in space.strides:
        sizes += strides[:-1]
    patterns = zip(space.strides, space.access_patterns, strict=True)
    sizes += [strides[-1] for strides, access in patterns if access == "far"]
    return sizes, ceil_div(rows, rows_per_unit) * ceil_div(length, UNIT_ELEMENTS)


def count_operations(value: Scalar) -> int:
    """The approximate number of operations of an expression."""
    operations = (node for node in topological_order(value) if isinstance(node, Apply))
    return 1 + sum(1 if node.op in CHEAP_OPERATIONS else VECTOR_FUNCTION_OPERATIONS for node in operations)
