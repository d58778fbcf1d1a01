"""Elementwise steps: one or several expressions, evaluated for each element of tensors that broadcast to one shape."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sardonyx._src.compile.codegen.element_types import STORED_ELEMENTS
from sardonyx._src.compile.codegen.expressions import FUNCTION_CALLS, Apply, Scalar, topological_order
from sardonyx._src.compile.kernels.elementwise.loop_nest import elementwise_module
from sardonyx._src.compile.kernels.elementwise.variant import (
    ElementwiseOperand,
    ElementwiseVariant,
    access_pattern,
    elementwise_parameters,
)
from sardonyx._src.compile.kernels.loops.iteration_space import (
    IterationSpace,
    broadcast_space,
    ensure_dim,
    simplify,
)
from sardonyx._src.compile.kernels.tuning import ElementwiseTuning
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.ir.dims import ceil_div, dim_max, dim_product


def elementwise_step(
    value: Scalar | Sequence[Scalar], inputs: Sequence[TensorView], out: TensorView | Sequence[TensorView]
) -> Step:
    """The step that evaluates an expression for each output; all outputs have one shape, to which inputs broadcast.

    value: an expression, or one for each output, of the inputs `Local("i0")`, `Local("i1")`, ...; its type is that of its
        output.
    An output may alias an input that has the same strides and element size.
    """
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    outputs = tuple(out) if isinstance(out, Sequence) else (out,)
    shape = outputs[0].shape
    assert all(o.shape == shape for o in outputs), f"outputs must have one shape; got {outputs}"
    tensors = (*outputs, *inputs)
    assert all(t.dtype in STORED_ELEMENTS for t in tensors), (
        f"element types must be those of kernels; got {tensors}"
    )
    space = ensure_dim(simplify(broadcast_space(shape, tensors), by=0), stride=1)
    operands = tuple(
        ElementwiseOperand(t.dtype, access_pattern(strides[-1]))
        for t, strides in zip(tensors, space.strides, strict=True)
    )
    variant = ElementwiseVariant(values, operands[: len(outputs)], operands[len(outputs) :], space.rank - 1)
    *outer, length = space.shape
    rows = dim_product(tuple(outer))
    rows_per_unit = ceil_div(ElementwiseTuning.unit_elements, dim_max(length, 1)) if outer else 1
    parameters = elementwise_parameters(variant)
    return Step(
        kernel=Kernel(
            variant.key,
            partial(elementwise_module, variant=variant),
            parameters,
            partial(describe_variant, variant),
        ),
        args=parameters.pack(
            **dict(zip(variant.tensor_names, tensors, strict=True)),
            length=length,
            rows=rows,
            rows_per_unit=rows_per_unit,
            **stride_arguments(variant, space),
        ),
        units=ceil_div(rows, rows_per_unit) * ceil_div(length, ElementwiseTuning.unit_elements),
        reads=tuple(inputs),
        writes=outputs,
        flops=dim_product(shape) * sum(map(count_operations, values)),
        bytes_accessed=sum((t.nbytes for t in tensors), start=0),
        in_place=True,
    )


def describe_variant(variant: ElementwiseVariant) -> tuple[int, ...] | None:
    """The words by which the interpreter computes a variant; None if it cannot."""
    from sardonyx._src.compile.kernels.elementwise.descriptor import (
        describe,
    )  # lazy: libraries have most kernels

    return describe(variant)


def stride_arguments(variant: ElementwiseVariant, space: IterationSpace) -> dict[str, KernelArgument]:
    """The arguments for the dims outside of a row, and for the strides of all tensors."""
    args: dict[str, KernelArgument] = {f"dim{axis}": space.shape[axis] for axis in range(1, variant.rank)}
    for name, operand, strides in zip(variant.tensor_names, variant.operands, space.strides, strict=True):
        args |= {f"{name}_stride{axis}": strides[axis] for axis in range(variant.rank)}
        if operand.access == "far":
            args[f"{name}_step"] = strides[-1]
    return args


def count_operations(value: Scalar) -> int:
    """The approximate number of operations of an expression."""
    operations = (node for node in topological_order(value) if isinstance(node, Apply))
    call = ElementwiseTuning.function_operations
    return 1 + sum(call if node.op in FUNCTION_CALLS else 1 for node in operations)
