"""GraphBuilder: appends nodes to a graph without checking or typing them, for code that rewrites graphs.

b = GraphBuilder(opset=21)
x = b.input("x", DataType.FLOAT, ["N", 64])
y = b.Relu(b.Add(b.MatMul(x, b.constant("w", w)), b.constant("bias", bias)))
model = b.model(y=y)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.arguments import items_of, require_integer, require_text, require_type, texts_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import (
    Attribute,
    AttributeScalar,
    Graph,
    Model,
    Node,
    SparseTensor,
    Tensor,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, Expr, from_param, is_placeholder

DIM_KINDS = (int, str, Expr, type(None))
MAX_OUTPUTS = 1 << 20  # largest number of outputs of one node
DEFAULT_IR_VERSION = 10  # all current tools read it; models that need a later one set `ir_version`


class GraphBuilder:
    """Appends nodes to a graph.  Every operator is a method: `b.Gemm(x, w, transB=1)` is `b.op("Gemm", …)`."""

    def __init__(self, opset: int, *, name: str = "main", graph: Graph | None = None) -> None:
        """opset: version of the default domain.  graph: the graph to extend; None: a new one."""
        require_integer("opset", opset)
        require_type("graph", graph, (Graph, type(None)), "a Graph or None")
        self.graph = graph if graph is not None else Graph(name)
        self.imports = {"": opset}
        self._count = 0

    @staticmethod
    def tensor(dtype: DataType, shape: Sequence[Dim | str] | None = None) -> TensorType:
        """A tensor type; a dim given as a string is a variable, or an expression over variables.

        A string that means an unknown size in files, as "?", means it here too.
        """
        if shape is None:
            return TensorType(dtype)
        dims = items_of("shape", shape, DIM_KINDS, "dims")
        return TensorType(dtype, tuple(dim_of(d) if isinstance(d, str) else d for d in dims))

    def input(self, name: str, dtype: DataType, shape: Sequence[Dim | str] | None = None) -> Value:
        """A tensor input; for its dims see `tensor`."""
        return self.graph.add_input(Value(name, self.tensor(dtype, shape)))

    def constant(self, name: str, values: object, dtype: DataType | None = None) -> Value:
        """An initializer of the array-like `values`."""
        tensor = Tensor.of(values, dtype, name)
        return self.graph.add_initializer(Value(name, TensorType(tensor.dtype, tensor.shape), tensor))

    def op(
        self,
        op_type: str,
        *inputs: Value | None,
        outputs: int | Sequence[str] = 1,
        domain: str = "",
        name: str = "",
        **attributes: object,
    ) -> Value:
        """Adds a node and returns its first output; the others are in `value.producer.outputs`."""
        if not isinstance(outputs, int) and not texts_of("outputs", outputs):
            raise InputError("outputs must name at least one output; got none", name="outputs")
        if isinstance(outputs, int):
            require_integer("outputs", outputs, 1, MAX_OUTPUTS)
        return self.node(op_type, inputs, outputs, domain=domain, name=name, **attributes).outputs[0]

    def node(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        outputs: int | Sequence[str] = 1,
        *,
        domain: str = "",
        name: str = "",
        **attributes: object,
    ) -> Node:
        """Adds a node; an attribute of None is left out."""
        self._count += 1
        names = self.names(op_type, outputs) if isinstance(outputs, int) else texts_of("outputs", outputs)
        present = {key: attribute(key, value) for key, value in attributes.items() if value is not None}
        node = Node(op_type, inputs, [Value(n) for n in names], present, domain=domain, name=name)
        return self.graph.append(node)

    def names(self, op_type: str, count: int) -> list[str]:
        require_text("op_type", op_type)
        require_integer("outputs", count, 0, MAX_OUTPUTS)
        stem = f"{op_type.lower()}_{self._count}"
        return [stem] if count == 1 else [f"{stem}_{i}" for i in range(count)]

    def __getattr__(self, op_type: str) -> Callable[..., Value]:
        if not op_type[:1].isupper():
            raise AttributeError(f"GraphBuilder has no {op_type!r}; operators begin with a capital letter")

        def call(*inputs: Value | None, **options: object) -> Value:
            return self.op(op_type, *inputs, **options)  # type: ignore[arg-type]  # op checks them

        return call

    def output(self, value: Value, name: str = "", type: Type | None = None) -> Value:
        """Makes a value an output, under a name and a type if they are given."""
        require_type("value", value, Value, "a Value")
        require_text("name", name)
        if name:
            value.name = name
        if type is not None:
            value.type = type
        self.graph.outputs.append(value)
        return value

    def model(
        self, *, ir_version: int = DEFAULT_IR_VERSION, producer: str = "sardonyx", **outputs: Value
    ) -> Model:
        """The model; the values given by keyword become outputs, after the outputs that `output` has added."""
        for name, value in outputs.items():
            self.output(value, name)
        model = Model(self.graph, ir_version=ir_version, opset_imports=dict(self.imports))
        model.producer_name = producer
        return model


def attribute(name: str, value: object) -> Attribute:
    """An attribute of the type that a Python value implies; an Attribute is returned as it is.

    Raises TypeError for a value that implies no type, such as an empty list.
    """
    if isinstance(value, Attribute):
        return value
    if isinstance(value, list | tuple):
        if not value:
            raise TypeError(
                f"{name} must be a list that is not empty, or an Attribute; got an empty list of unknown type"
            )
        parts = [scalar(name, v) for v in value]
        kind = AttributeType.FLOAT if any(t is AttributeType.FLOAT for _, t in parts) else parts[0][1]
        return Attribute(name, AttributeType[kind.name + "S"], tuple(v for v, _ in parts))
    converted, kind = scalar(name, value)
    return Attribute(name, kind, converted)


def encode_text(name: str, text: str) -> bytes:
    """The text in UTF-8; raises InputError for surrogates, which have no encoding."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name} must be a text that UTF-8 can encode; got {text!r}", name=name) from None


def dim_of(text: str) -> Dim:
    """The dim that a string means in a file."""
    return None if is_placeholder(text) else from_param(text)


def scalar(name: str, value: object) -> tuple[AttributeScalar, AttributeType]:
    """A value that is not a list, as attributes store it, and its type."""
    match value:
        case bool() | int() | np.integer():
            return int(value), AttributeType.INT
        case float() | np.floating():
            return float(value), AttributeType.FLOAT
        case str():
            return encode_text(name, value), AttributeType.STRING
        case bytes():
            return value, AttributeType.STRING
        case np.ndarray():
            return Tensor.of(value), AttributeType.TENSOR
        case Tensor():
            return value, AttributeType.TENSOR
        case SparseTensor():
            return value, AttributeType.SPARSE_TENSOR
        case Graph():
            return value, AttributeType.GRAPH
        case DataType():
            return int(value), AttributeType.INT
    if isinstance(value, Type):
        return value, AttributeType.TYPE_PROTO
    raise TypeError(
        f"{name} must be a number, string, bytes, tensor, graph or type, or a list of these; got {value!r}"
    )
