"""Write operator_methods.pyi: the builder's methods for the newest version of every operator, for editors and type checkers."""

from __future__ import annotations

import keyword
from pathlib import Path

from operators_page import about
from sardonyx._src.ops.registry import find
from sardonyx._src.schema import OpSchema, exact, operators, versions
from sardonyx._src.schema.signature import AttributeSchema, Parameter

STUB = Path("src/sardonyx/_src/build/operator_methods.pyi")
HEAD = '''"""Written by `make regen`: the operators of the newest operator set as methods of a builder."""

# fmt: off
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from sardonyx._src.build.operand import Operand, OperandLike
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, SparseTensor, Tensor, Type

ElementType = DataType | str | np.dtype | type | int
TensorLike = Array | Tensor | float | Sequence[object]

class NamedOperators:
    @property
    def operator_domain(self) -> str: ...
    def call(self, op_type: str, *inputs: OperandLike | None, **options: object) -> Operand: ...
    def __getattr__(self, op_type: str) -> Callable[..., Any]: ...

class OperatorMethods:
    @property
    def operator_domain(self) -> str: ...
    def call(self, op_type: str, *inputs: OperandLike | None, **options: object) -> Operand: ...
'''
PYTHON_TYPES = {
    "FLOAT": "float",
    "INT": "int",
    "STRING": "str | bytes",
    "TENSOR": "TensorLike",
    "SPARSE_TENSOR": "SparseTensor",
    "GRAPH": "Graph",
    "TYPE_PROTO": "Type",
}
ELEMENT_TYPES = (
    "to",
    "dtype",
    "output_dtype",
    "stash_type",
    "softmax_precision",
)  # attributes that number element types
LINK = "https://onnx.ai/onnx/operators/onnx__{}.html"


def files() -> dict[Path, str]:
    """Path from the project's root -> content."""
    return {STUB: HEAD + "".join(map(method, operators("")))}


def method(name: str) -> str:
    """The method of an operator: one signature, or two where more outputs can be requested."""
    schema = exact("", name, versions("", name)[-1])
    assert schema is not None, f"{name} has versions"
    if schema.deprecated:
        return ""
    least, most = max(schema.min_outputs, 1), schema.max_outputs
    if least == most:
        return signature(schema, "str | Sequence[str] | None = None", results(least))
    brief = signature(
        schema, "None = None", results(least) if most else "tuple[Operand, ...]", is_overload=True
    )
    return f"{brief}{signature(schema, 'int | Sequence[str]', 'tuple[Operand, ...]', is_overload=True)}"


def results(count: int) -> str:
    return "Operand" if count == 1 else f"tuple[{', '.join(['Operand'] * count)}]"


def signature(schema: OpSchema, outputs: str, result: str, *, is_overload: bool = False) -> str:
    taken = {"self", "name", "outputs", *schema.attributes}
    inputs = [input_text(parameter, taken) for parameter in schema.inputs]
    if inputs and not inputs[-1].startswith("*"):
        inputs.append("/")
    attributes = sorted(schema.attributes.values(), key=lambda a: not a.required)
    keywords = [*map(attribute_text, attributes), f"outputs: {outputs}", 'name: str = ""']
    star = [] if inputs and inputs[-1].startswith("*") else ["*"]
    parameters = ",\n        ".join(["self", *inputs, *star, *keywords])
    head = "    @overload\n" * is_overload
    return f'{head}    def {schema.name}(\n        {parameters},\n    ) -> {result}:\n        """{documentation(schema)}"""\n'


def input_text(parameter: Parameter, taken: set[str]) -> str:
    name = parameter.name + "_" * (parameter.name in taken or keyword.iskeyword(parameter.name))
    taken.add(name)
    if parameter.option == "variadic":
        return f"*{name}: OperandLike"
    return f"{name}: OperandLike | None = None" if parameter.option == "optional" else f"{name}: OperandLike"


def attribute_text(attribute: AttributeSchema) -> str:
    kind = attribute.type.removesuffix("S")
    text = "ElementType" if attribute.name in ELEMENT_TYPES and kind == "INT" else PYTHON_TYPES[kind]
    if kind != attribute.type:
        text = f"Sequence[{text}]"
    if attribute.required:
        return f"{attribute.name}: {text}"
    default = attribute.default
    if default is None:
        return f"{attribute.name}: {text} | None = None"
    if isinstance(default, tuple):
        return f"{attribute.name}: {text} = ..."
    shown = default.decode() if isinstance(default, bytes) else default
    return f"{attribute.name}: {text} = {shown!r}"


def documentation(schema: OpSchema) -> str:
    """What the operator does, the element types of its type variables, and the specification's page."""
    op = find("", schema.name)
    line = (about(op) if op is not None else "").replace("\\", "\\\\").replace('"', "'").rstrip(".")
    variables = [f"{name}: {types_text(types)}" for name, types in schema.type_constraints.items()]
    parts = [
        f"{schema.name}-{schema.since_version}: {line}." if line else f"{schema.name}-{schema.since_version}."
    ]
    return "\n        ".join([*parts, *variables, LINK.format(schema.name)])


def types_text(types: tuple[str, ...]) -> str:
    return ", ".join(
        text.removeprefix("tensor(").removesuffix(")") if text.startswith("tensor(") else text
        for text in types
    )
