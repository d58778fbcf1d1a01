"""Specialization key of elementwise kernels."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

from sardonyx._src.compile.codegen import Parameters
from sardonyx._src.compile.codegen.canonical_text import (
    ELEMENT_TYPES,
    canonical_text,
    parse_canonical_text,
)
from sardonyx._src.compile.codegen.expressions import Scalar
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import Known

# How an operand is accessed along a row, by its stride: "same" element (0), "next" element (1), or one "far" away (other).
AccessPattern: TypeAlias = Literal["same", "next", "far"]


@dataclass(frozen=True, slots=True)
class ElementwiseOperand:
    """The element type of a tensor, and its access pattern along a row."""

    dtype: DataType
    access: AccessPattern

    def __str__(self) -> str:
        return f"{self.dtype.text}.{self.access}"


@dataclass(frozen=True, slots=True)
class ElementwiseVariant:
    """The specialization of a kernel: expressions, element types and access patterns, but no sizes.

    values: an expression of the inputs `i0`, `i1`, ... for each output.
    rank: the number of dims outside of a row.
    """

    values: tuple[Scalar, ...]
    outputs: tuple[ElementwiseOperand, ...]
    inputs: tuple[ElementwiseOperand, ...]
    rank: int

    @property
    def operands(self) -> tuple[ElementwiseOperand, ...]:
        return self.outputs + self.inputs

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """The names of the parameters for `operands`: `y0`, `y1`, ... and `i0`, `i1`, ..."""
        outputs = (f"y{i}" for i in range(len(self.outputs)))
        return (*outputs, *(f"i{i}" for i in range(len(self.inputs))))

    @property
    def key(self) -> str:
        """The kernel's cache key: complete, and linear in the size of the expression DAG."""
        types = ",".join(map(str, self.outputs)) + "<-" + ",".join(map(str, self.inputs))
        return f"elementwise/{self.rank} {types} {canonical_text(self.values)}"


def parse_key(key: str) -> ElementwiseVariant:
    """The variant that has a key."""
    head, types, text = key.split(" ", 2)
    outputs, inputs = (
        tuple(parse_operand_text(operand) for operand in part.split(",") if operand)
        for part in types.split("<-")
    )
    return ElementwiseVariant(parse_canonical_text(text), outputs, inputs, int(head.partition("/")[2]))


def parse_operand_text(text: str) -> ElementwiseOperand:
    dtype, _, access = text.partition(".")
    return ElementwiseOperand(ELEMENT_TYPES[dtype], cast("AccessPattern", access))


def elementwise_parameters(variant: ElementwiseVariant) -> Parameters:
    """The tensors; the length of a row; the number of rows, and of rows in a unit of work; and

    dim1, dim2, ...: the dims outside of a row, except the first.
    y0_stride0, ...: the strides of each tensor along all dims outside of a row.
    y0_step, ...: the stride along the row of each tensor with the access pattern "far".
    """
    names = variant.tensor_names
    dims = (f"dim{axis}" for axis in range(1, variant.rank))
    strides = (f"{name}_stride{axis}" for name in names for axis in range(variant.rank))
    steps = (f"{name}_step" for name, o in zip(names, variant.operands, strict=True) if o.access == "far")
    return Parameters(*names, "length", "rows", "rows_per_unit", *dims, *strides, *steps)


def access_pattern(stride: Known) -> AccessPattern:
    if stride == 0:
        return "same"
    return "next" if stride == 1 else "far"
