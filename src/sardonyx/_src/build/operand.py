"""Operands: values of a graph under construction, with Python's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol, TypeAlias

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Node, Shape, SparseTensor, Tensor, TensorType, Type, Value

# The types that a call accepts as an input: arrays, numbers, strings and lists become constants.
OperandLike: TypeAlias = "Operand | Value | Array | np.generic | Tensor | SparseTensor | bool | int | float | str | bytes | Sequence[object]"


class OperandOwner(Protocol):
    """The interface through which operands use their builder."""

    def call(self, op_type: str, *inputs: OperandLike | None, **attributes: object) -> Operand:
        """Adds a node with one output."""
        ...

    def select(self, operand: Operand, index: object) -> Operand:
        """The part of an operand at an index of NumPy's form."""
        ...

    def compute(self, operand: Operand) -> Any:
        """The operand's value."""
        ...


class Operand(Value):
    """A value of the graph that a `Builder` constructs: an input, a constant or the result of a call.

    Operators append nodes: `x + 1` is `b.Add(x, 1)`.  Python's operators that mean something else in ONNX raise InputError:
    `/` of integers (Div truncates) and `//`.  Operands are compared by identity; `x.equal(y)` appends a node.
    """

    __slots__ = ("builder", "example")

    def __init__(
        self,
        builder: OperandOwner,
        name: str,
        type: Type | None = None,
        initializer: Tensor | SparseTensor | None = None,
    ) -> None:
        super().__init__(name, type, initializer)
        self.builder = builder
        self.example: object = None  # of an input: the value with which `numpy` computes

    @property
    def dtype(self) -> DataType | None:
        """The element type; None if the operand is no tensor or its type is unknown."""
        return self.type.dtype if isinstance(self.type, TensorType) else None

    @property
    def shape(self) -> Shape | None:
        """The dims: numbers, expressions over the variables of inputs, or None; None for an unknown rank."""
        return self.type.shape if isinstance(self.type, TensorType) else None

    @property
    def rank(self) -> int | None:
        """The number of dims, where it is known."""
        return None if self.shape is None else len(self.shape)

    @property
    def node(self) -> Node:
        """The node that computes the operand; InputError for an input or constant."""
        if self.producer is None:
            raise InputError(f"{self.name!r} must be the result of a node; it has none", name="node")
        return self.producer

    def numpy(self) -> Any:
        """The value, computed by the reference engine: an array, or a list, dict or None for other types.

        Inputs have the values that were passed to `b.input` as examples.  Raises InputError for a value that depends on an
        input without example, or that is inside a subgraph or function, and what a run raises.
        """
        return self.builder.compute(self)

    def __add__(self, other: OperandLike) -> Operand:
        return self.builder.call("Add", self, other)

    def __radd__(self, other: OperandLike) -> Operand:
        return self.builder.call("Add", other, self)

    def __sub__(self, other: OperandLike) -> Operand:
        return self.builder.call("Sub", self, other)

    def __rsub__(self, other: OperandLike) -> Operand:
        return self.builder.call("Sub", other, self)

    def __mul__(self, other: OperandLike) -> Operand:
        return self.builder.call("Mul", self, other)

    def __rmul__(self, other: OperandLike) -> Operand:
        return self.builder.call("Mul", other, self)

    def __truediv__(self, other: OperandLike) -> Operand:
        refuse_integers(self, "/")
        return self.builder.call("Div", self, other)

    def __rtruediv__(self, other: OperandLike) -> Operand:
        refuse_integers(self, "/")
        return self.builder.call("Div", other, self)

    def __matmul__(self, other: OperandLike) -> Operand:
        return self.builder.call("MatMul", self, other)

    def __rmatmul__(self, other: OperandLike) -> Operand:
        return self.builder.call("MatMul", other, self)

    def __pow__(self, other: OperandLike) -> Operand:
        return self.builder.call("Pow", self, other)

    def __rpow__(self, other: OperandLike) -> Operand:
        return self.builder.call("Pow", other, self)

    def __mod__(self, other: OperandLike) -> Operand:
        """The remainder with the sign of the divisor, as in Python; only for integers, since Mod of floats is C's fmod."""
        if self.dtype is not None and self.dtype.is_float:
            raise InputError(
                f"the operands of % must be integers; {self.name!r} is {self.type}; b.Mod(x, y, fmod=1) takes the sign of x",
                name="%",
            )
        return self.builder.call("Mod", self, other)

    def __neg__(self) -> Operand:
        return self.builder.call("Neg", self)

    def __abs__(self) -> Operand:
        return self.builder.call("Abs", self)

    def __lt__(self, other: OperandLike) -> Operand:
        return self.builder.call("Less", self, other)

    def __le__(self, other: OperandLike) -> Operand:
        return self.builder.call("LessOrEqual", self, other)

    def __gt__(self, other: OperandLike) -> Operand:
        return self.builder.call("Greater", self, other)

    def __ge__(self, other: OperandLike) -> Operand:
        return self.builder.call("GreaterOrEqual", self, other)

    def equal(self, other: OperandLike) -> Operand:
        """Elementwise equality; `==` compares the objects."""
        return self.builder.call("Equal", self, other)

    def __and__(self, other: OperandLike) -> Operand:
        return self.builder.call(logical_name(self, "And"), self, other)

    def __or__(self, other: OperandLike) -> Operand:
        return self.builder.call(logical_name(self, "Or"), self, other)

    def __xor__(self, other: OperandLike) -> Operand:
        return self.builder.call(logical_name(self, "Xor"), self, other)

    def __invert__(self) -> Operand:
        return self.builder.call(logical_name(self, "Not"), self)

    def __getitem__(self, index: object) -> Operand:
        return self.builder.select(self, index)

    def __bool__(self) -> bool:
        raise TypeError(
            f"the truth value of {self.name!r} is not known before the model runs; use b.Where, or b.if_ for branches"
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self.name!r} cannot be iterated; use b.Split, b.loop or b.scan")

    def __repr__(self) -> str:
        return f"Operand({self.name!r}, {self.type or 'of unknown type'})"


def logical_name(operand: Operand, name: str) -> str:
    """And, Or, Xor or Not for booleans, and its bitwise counterpart for integers."""
    return f"Bitwise{name}" if operand.dtype is not None and operand.dtype.is_integer else name


def refuse_integers(operand: Operand, operator: str) -> None:
    if operand.dtype is not None and operand.dtype.is_integer:
        raise InputError(
            f"the operands of {operator} must be floats; {operand.name!r} is {operand.type}: b.Div truncates, b.Cast converts",
            name=operator,
        )
