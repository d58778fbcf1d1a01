"""A call of an elementwise operator, and rules that turn it into a scalar expression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sardonyx._src.compile.codegen.expressions import Apply, Number, Scalar
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """An operator's attributes and inputs, for one element.

    attributes: all attributes, with the schema's defaults.
    args: the inputs: an expression, a `Number` for a constant scalar, or None for an omitted input.
    types: the element types of the inputs.
    """

    attributes: Mapping[str, object]
    args: tuple[Scalar | None, ...]
    types: tuple[DataType | None, ...]

    @property
    def x(self) -> Scalar:
        """The first input."""
        return self.inputs[0]

    @property
    def inputs(self) -> tuple[Scalar, ...]:
        """The inputs that are not omitted; an index is that of `args` only if no input is omitted."""
        return tuple(arg for arg in self.args if arg is not None)

    @property
    def dtype(self) -> DataType:
        """The element type of the first input."""
        dtype = self.types[0]
        assert dtype is not None, "the first input must not be omitted"
        return dtype

    def optional_input(self, index: int) -> Scalar | None:
        return self.args[index] if index < len(self.args) else None

    def number_attribute(self, name: str) -> Number:
        value = self.attributes[name]
        assert isinstance(value, int | float), f"{name} must be a number; got {value!r}"
        return Number(value)


# Returns the expression of an element of the output; None if kernels cannot compute this call, so that it becomes a
# fallback operation, which the reference kernel executes.
ScalarRule: TypeAlias = Callable[[OperatorCall], "Scalar | None"]


def apply(op: str, *args: Scalar | float) -> Apply:
    """The expression of an operation on expressions and numbers."""
    return Apply(op, tuple(Number(arg) if isinstance(arg, int | float) else arg for arg in args))


def operation_rule(op: str) -> ScalarRule:
    """The rule of an operator that is one operation on its inputs."""
    return lambda call: Apply(op, call.inputs)
