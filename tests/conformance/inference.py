"""Comparison of inferred types with onnx.shape_inference, and with the results of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from cases import assert_fits
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.serde import from_proto
from sardonyx._src.io.serde.types import type_from
from sardonyx._src.ir import (
    Graph,
    Model,
    Node,
    OptionalType,
    SequenceType,
    SparseTensor,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.dims import Dim, Expr, evaluate, symbol
from sardonyx._src.ir.walk import values
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

Lines = list[str]
Number = TypeVar("Number", bound=int)


def read(data: bytes) -> Model:
    from conformance.official import NoFiles

    return from_proto.model(decode(data, m.ModelProto), NoFiles())


# --- against onnx.shape_inference ------------------------------------------------------------


def compare_types(data: bytes) -> tuple[Lines, bool]:
    """Differences by value name, and whether onnx.shape_inference accepts the model."""
    their_types = theirs(data)
    mine = ours(read(data))
    lines = [
        f"{name}: {d}"
        for name, other in (their_types or {}).items()
        for d in differences(mine.get(name), other)
    ]
    return lines, their_types is not None


def theirs(data: bytes) -> dict[str, Type | None] | None:
    """Types inferred by onnx.shape_inference, by value name; None if it rejects the model.

    The name of a value in a subgraph is prefixed with the first output of the outer node and the attribute.
    """
    import onnx.shape_inference as other

    try:
        done = other.infer_shapes(data, check_type=True, strict_mode=True, data_prop=True)
    except (other.InferenceError, ValueError, RuntimeError, TypeError, IndexError):
        return None
    graph = decode(done.SerializeToString(), m.ModelProto).graph
    assert graph is not None
    return dict(types_of_record(graph, ""))


def types_of_record(graph: m.GraphProto, path: str) -> Iterator[tuple[str, Type | None]]:
    for value in (*graph.value_info, *graph.output):
        yield path + value.name, type_from(value.type, value.name)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.g is not None:
                yield from types_of_record(attribute.g, f"{path}{node.output[0]}.{attribute.name}.")


def ours(model: Model) -> dict[str, Type | None]:
    infer(model)
    return dict(types_of_graph(model.graph, ""))


def types_of_graph(graph: Graph, path: str) -> Iterator[tuple[str, Type | None]]:
    for value in (*values(graph), *graph.outputs):
        yield path + value.name, value.type
    for node in graph.nodes:
        for attribute in node.attributes.values():
            for inner in attribute.graphs:
                yield from types_of_graph(inner, f"{path}{node.outputs[0].name}.{attribute.name}.")


def without_hints(data: bytes) -> bytes:
    """The model without declared types except those of its inputs, so that both must infer them."""
    record = decode(data, m.ModelProto)
    assert record.graph is not None
    record.graph.value_info = []
    for output in record.graph.output:
        output.clear("type")
    return encode(record)


def differences(mine: Type | None, other: Type | None) -> Iterator[str]:
    """`contradicts …` where both types are known and differ, `less …` where only the other is known."""
    if other is None:
        return
    if mine is None:
        yield f"less: nothing for {other}"
    elif isinstance(mine, TensorType) and isinstance(other, TensorType):
        if mine.dtype is not other.dtype:
            yield f"contradicts: {mine} for {other}"
        elif other.shape is not None:
            yield from shape_differences(mine, other)
    elif isinstance(mine, SequenceType | OptionalType) and type(mine) is type(other):
        yield from differences(mine.elem, other.elem)
    elif mine != other:
        yield f"contradicts: {mine} for {other}"


def shape_differences(mine: TensorType, other: TensorType) -> Iterator[str]:
    assert other.shape is not None
    if mine.shape is None:
        yield f"less: {mine} for {other}"
    elif len(mine.shape) != len(other.shape) or any(map(contradicts, mine.shape, other.shape)):
        yield f"contradicts: {mine} for {other}"
    elif any(map(knows_less, mine.shape, other.shape)):
        yield f"less: {mine} for {other}"


def contradicts(mine: Dim, other: Dim) -> bool:
    return isinstance(mine, int) and isinstance(other, int) and mine != other


def knows_less(mine: Dim, other: Dim) -> bool:
    """Whether the other dim is a number, or a symbol of the model, and mine is neither."""
    if isinstance(other, int):
        return not isinstance(mine, int)
    if other is None or str(other).startswith("unk__"):
        return False
    return mine is None or (
        isinstance(mine, Expr) and any(name.startswith("unk_") for name in mine.symbols())
    )


# --- with variables for sizes ----------------------------------------------------------------


def with_variables(model: Model, *, shared: bool) -> dict[str, int]:
    """Replaces every numeric dim of the model's inputs by a variable; returns the values of the variables.

    `shared`: one variable for all equal dims; otherwise one for each axis.
    """
    lengths: dict[str, int] = {}
    for i, value in enumerate(model.graph.inputs):
        if (
            value.initializer is not None
            or not isinstance(value.type, TensorType)
            or value.type.shape is None
        ):
            continue
        dims: list[Dim] = []
        for axis, dim in enumerate(value.type.shape):
            name = f"L{dim}" if shared else f"L{i}_{axis}"
            if isinstance(dim, int):
                lengths[name] = dim
            dims.append(symbol(name) if isinstance(dim, int) else dim)
        value.type = TensorType(value.type.dtype, tuple(dims))
    return lengths


# --- against results of runs -----------------------------------------------------------------


@dataclass
class Observer:
    """Compares the results of every node in a run with the inferred types.

    A symbol created by inference must have one length during a run of its graph: it is bound by the first dim that
    consists of it alone, and unbound when the graph runs again.
    """

    lengths: Mapping[str, int]
    learned: dict[Graph | None, dict[str, int]] = field(default_factory=dict)
    ran: dict[Graph | None, set[Node]] = field(default_factory=dict)
    errors: Lines = field(default_factory=list)
    evaluated: int = 0  # dims that were expressions and could be evaluated

    def __call__(self, node: Node, results: Sequence[RuntimeValue]) -> None:
        ran = self.ran.setdefault(node.graph, set())
        if node in ran:
            ran.clear()
            self.learned.pop(node.graph, None)
        ran.add(node)
        for value, result in zip(node.outputs, results, strict=False):
            if value.name and value.type is not None:
                self.assert_result(value, value.type, result, node)

    def assert_result(self, value: Value, inferred: Type, result: RuntimeValue, node: Node) -> None:
        where = f"{node.op_type} {value.name!r}"
        try:
            assert_fits(inferred, result, where)
        except AssertionError as error:
            self.errors.append(str(error))
            return
        if (
            isinstance(inferred, TensorType)
            and inferred.shape is not None
            and isinstance(result, np.ndarray | SparseTensor)
        ):
            for dim, length in zip(inferred.shape, result.shape, strict=True):
                if isinstance(dim, Expr) and not self.has_length(dim, int(length), node.graph):
                    self.errors.append(f"{where}: {inferred} for shape {result.shape}, where {self.known()}")

    def has_length(self, dim: Expr, length: int, graph: Graph | None) -> bool:
        known = self.known()
        names = dim.symbols()
        (name, *others) = names or ("",)
        if not others and name.startswith("unk_") and name not in known and dim == symbol(name):
            self.learned.setdefault(graph, {})[name] = length
        evaluated = evaluate(dim, known)
        self.evaluated += evaluated is not None
        return evaluated is None or evaluated == length

    def known(self) -> dict[str, int]:
        result = dict(self.lengths)
        for bindings in self.learned.values():
            result.update(bindings)
        return result


def observe_run(model: Model, feeds: Mapping[str, RuntimeValue], lengths: Mapping[str, int]) -> Observer:
    """Runs a model whose types are inferred; variables of its inputs are bound by the feeds."""
    observer = Observer({**lengths, **lengths_of(model, feeds)})
    Interpreter(model, seed=1).run(feeds, observer)
    return observer


def lengths_of(model: Model, feeds: Mapping[str, RuntimeValue]) -> dict[str, int]:
    result: dict[str, int] = {}
    for value in model.graph.inputs:
        fed = feeds.get(value.name)
        if (
            isinstance(fed, np.ndarray)
            and isinstance(value.type, TensorType)
            and value.type.shape is not None
        ):
            for dim, length in zip(value.type.shape, fed.shape, strict=True):
                if isinstance(dim, Expr) and len(dim.symbols()) == 1 and dim == symbol(*dim.symbols()):
                    result[str(dim)] = length
    return result
