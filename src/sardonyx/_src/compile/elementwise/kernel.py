"""Elementwise steps: one value, or several, of each element of some tensors."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.elements import ELEMENTS
from sardonyx._src.compile.elementwise.code import BLOCK, LIGHT, ElementwiseCode
from sardonyx._src.compile.elementwise.form import Form, Operand
from sardonyx._src.compile.elementwise.layout import Layout, layout
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.loops.ir import Apply, Scalar, distinct
from sardonyx._src.compile.step import Arg, Kernel, Step
from sardonyx._src.compile.tensor import Tensor, product
from sardonyx._src.ir.dims import Known, ceil_div, dim_max

HEAVY = 20  # how many operations a function of vectors counts for


def elementwise(
    value: Scalar | Sequence[Scalar],
    inputs: Sequence[Tensor],
    out: Tensor | Sequence[Tensor],
    nodes: tuple[str, ...] = (),
) -> Step:
    """The values of each element, written to outputs of one shape.

    value: of `Local("i0")`, `Local("i1")`, ..., the elements of the inputs, which broadcast to the outputs' shape; its
    type is that of its output.  An output may be in the place of an input that has the same strides, and elements as
    wide.
    """
    values = tuple(value) if isinstance(value, Sequence) else (value,)
    outputs = tuple(out) if isinstance(out, Sequence) else (out,)
    shape = outputs[0].shape
    assert all(o.shape == shape for o in outputs), f"{outputs} have several shapes"
    tensors = (*outputs, *inputs)
    assert all(t.dtype in ELEMENTS for t in tensors), f"{tensors} have elements that kernels know nothing of"
    found = layout(shape, tensors)
    operands = tuple(Operand(t.dtype, way) for t, way in zip(tensors, found.ways, strict=True))
    form = Form(values, operands[: len(outputs)], operands[len(outputs) :], len(found.dims) - 1)
    sizes, units = sizes_of(found)
    count = product(shape)
    return Step(
        Kernel(form.key, lambda name, target: text(form, name, target)),
        (*tensors, *sizes),
        units,
        reads=tuple(inputs),
        writes=outputs,
        flops=count * sum(map(work, values)),
        traffic=total(tuple(t.bytes for t in tensors)),
        nodes=nodes,
        in_place=True,
    )


def text(form: Form, name: str, target: Target) -> str:
    code = ElementwiseCode(form, target)
    code.units()
    return code.module(name)


def sizes_of(found: Layout) -> tuple[list[Arg], Known]:
    """What follows the addresses among the arguments of a kernel, and how many units of work there are."""
    *outer, length = found.dims
    rows = product(tuple(outer))
    rows_of_unit = ceil_div(BLOCK, dim_max(length, 1)) if outer else 1
    sizes: list[Arg] = [length, rows, rows_of_unit, *outer[1:]]
    for strides in found.strides:
        sizes += strides[:-1]
    sizes += [s[-1] for s, way in zip(found.strides, found.ways, strict=True) if way == "far"]
    return sizes, ceil_div(rows, rows_of_unit) * ceil_div(length, BLOCK)


def work(value: Scalar) -> int:
    """How many operations a value takes, about."""
    found = (one for one in distinct(value) if isinstance(one, Apply))
    return 1 + sum(1 if one.op in LIGHT else HEAVY for one in found)


def total(terms: tuple[Known, ...]) -> Known:
    found: Known = 0
    for term in terms:
        found = found + term
    return found
