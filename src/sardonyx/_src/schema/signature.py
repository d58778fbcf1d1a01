"""Signatures: inputs, outputs, attributes and type constraints of one version of an operator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from sardonyx._src.dataclass import dataclass

AttributeTypeName = Literal[
    "FLOAT",
    "INT",
    "STRING",
    "TENSOR",
    "GRAPH",
    "FLOATS",
    "INTS",
    "STRINGS",
    "TENSORS",
    "GRAPHS",
    "SPARSE_TENSOR",
    "SPARSE_TENSORS",
    "TYPE_PROTO",
    "TYPE_PROTOS",
]
Option = Literal["single", "optional", "variadic"]
Status = Literal["common", "experimental", "withdrawn", "vendor"]
Default = int | float | bytes | tuple[int, ...] | tuple[float, ...] | tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Parameter:
    """An input or output: `type` is a type variable (`T`) or a type string (`seq(tensor(float))`).

    homogeneous: for a variadic parameter, whether all its values have the same type.
    min_arity: for a variadic parameter, the minimum number of its values.
    differentiable: None if the specification does not define it.
    """

    name: str
    type: str
    option: Option = "single"
    homogeneous: bool = True
    min_arity: int = 1
    differentiable: bool | None = None


@dataclass(frozen=True, slots=True)
class AttributeSchema:
    """An attribute: `default` is None if the specification defines no default.

    Strings are bytes, as AttributeProto holds them, and lists are tuples.  A FLOAT default is the shortest
    decimal of its float32 value: 0.01, not 0.009999999776482582; conversion to float32 gives the exact value.
    """

    name: str
    type: AttributeTypeName
    required: bool = False
    default: Default | None = None


@dataclass(frozen=True, slots=True)
class OpSchema:
    """One version of an operator.

    domain: "" for ai.onnx.
    status: "withdrawn" for experiments of the first releases that later releases do not contain; "vendor" for operators
    that ONNX does not define (`vendors`).
    max_inputs, max_outputs: None if a variadic parameter sets no limit.
    bodies: the opset versions for which the specification defines the operator as a function.
    """

    domain: str
    name: str
    since_version: int
    deprecated: bool = False
    status: Status = "common"
    inputs: tuple[Parameter, ...] = ()
    outputs: tuple[Parameter, ...] = ()
    attributes: Mapping[str, AttributeSchema] = field(default_factory=dict)
    type_constraints: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    min_inputs: int = 0
    max_inputs: int | None = None
    min_outputs: int = 0
    max_outputs: int | None = None
    bodies: tuple[int, ...] = ()

    def __hash__(self) -> int:
        """The hash of the fields that identify a schema only, since caches hash a schema for every node."""
        return hash((self.domain, self.name, self.since_version))

    @property
    def is_function(self) -> bool:
        """Whether the specification defines the operator by other operators."""
        return bool(self.bodies)

    def input(self, position: int) -> Parameter | None:
        """The parameter that input number `position` binds to, or None beyond the last one."""
        return _at(self.inputs, position)

    def output(self, position: int) -> Parameter | None:
        """The parameter that output number `position` binds to, or None beyond the last one."""
        return _at(self.outputs, position)

    def allowed_types(self, parameter: Parameter) -> tuple[str, ...]:
        """The type strings that `parameter` may have, in the notation of the specification.

        The specification writes the values of a map, which are tensors, as their element type: `map(int64, float)`,
        `seq(map(string, float))`.
        """
        return self.type_constraints.get(parameter.type, (parameter.type,))


def _at(parameters: tuple[Parameter, ...], position: int) -> Parameter | None:
    assert position >= 0, "positions count from the front"
    if position < len(parameters):
        return parameters[position]
    if parameters and parameters[-1].option == "variadic":
        return parameters[-1]
    return None
