"""Our inference beside onnx.shape_inference, and beside what really comes out when a model runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from cases import assert_fits
from sardonyx._src.infer.walk import infer
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io import from_proto
from sardonyx._src.io.types_proto import type_from
from sardonyx._src.ir.dims import Dim, Expr, evaluate, symbol
from sardonyx._src.ir.graph import Graph, Model, Node, Value
from sardonyx._src.ir.tensors import SparseTensor
from sardonyx._src.ir.types import OptionalType, SequenceType, TensorType, Type
from sardonyx._src.ir.walk import values
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import decode, encode

Lines = list[str]
Number = TypeVar("Number", bound=int)


def read(data: bytes) -> Model:
    from conformance.official import NoFiles

    return from_proto.model(decode(data, m.ModelProto), NoFiles())


# --- beside the other one --------------------------------------------------------------------


def compared(data: bytes) -> tuple[Lines, bool]:
    """Differences by value name, and whether the other side had anything to say."""
    found = theirs(data)
    mine = ours(read(data))
    lines = [
        f"{name}: {d}" for name, other in (found or {}).items() for d in differences(mine.get(name), other)
    ]
    return lines, found is not None


def theirs(data: bytes) -> dict[str, Type | None] | None:
    """What onnx.shape_inference says of values, by name; None where it refuses the model.

    A name in a subgraph comes behind the first output of the node that holds it and the attribute.
    """
    import onnx.shape_inference as other

    try:
        done = other.infer_shapes(data, check_type=True, strict_mode=True, data_prop=True)
    except (other.InferenceError, ValueError, RuntimeError, TypeError, IndexError):
        return None
    graph = decode(done.SerializeToString(), m.ModelProto).graph
    assert graph is not None
    return dict(recorded(graph, ""))


def recorded(graph: m.GraphProto, path: str) -> Iterator[tuple[str, Type | None]]:
    for value in (*graph.value_info, *graph.output):
        yield path + value.name, type_from(value.type, value.name)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.g is not None:
                yield from recorded(attribute.g, f"{path}{node.output[0]}.{attribute.name}.")


def ours(model: Model) -> dict[str, Type | None]:
    infer(model)
    return dict(typed(model.graph, ""))


def typed(graph: Graph, path: str) -> Iterator[tuple[str, Type | None]]:
    for value in (*values(graph), *graph.outputs):
        yield path + value.name, value.type
    for node in graph.nodes:
        for attribute in node.attributes.values():
            for inner in attribute.graphs:
                yield from typed(inner, f"{path}{node.outputs[0].name}.{attribute.name}.")


def without_hints(data: bytes) -> bytes:
    """The model without the types that it declares of anything but its inputs, so that both have to find them."""
    record = decode(data, m.ModelProto)
    assert record.graph is not None
    record.graph.value_info = []
    for output in record.graph.output:
        output.clear("type")
    return encode(record)


def differences(mine: Type | None, other: Type | None) -> Iterator[str]:
    """`contradicts …` where both know and differ, `less …` where only the other one knows."""
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
    """Whether the other one has a number, or a symbol of the model, where mine has neither."""
    if isinstance(other, int):
        return not isinstance(mine, int)
    if other is None or str(other).startswith("unk__"):
        return False
    return mine is None or (
        isinstance(mine, Expr) and any(name.startswith("unk_") for name in mine.symbols())
    )


# --- with variables for sizes ----------------------------------------------------------------


def with_variables(model: Model, *, shared: bool) -> dict[str, int]:
    """Puts a variable for every length of the inputs of a model whose inputs have numbers; returns their values.

    `shared`: one variable for all equal lengths; else one for each axis.
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


# --- beside what comes out -------------------------------------------------------------------


@dataclass
class Observer:
    """Holds what every node of a run hands out against the inferred types.

    A variable that inference made up has to mean one length as long as its graph runs: it is learnt where it stands
    alone, and forgotten when the graph begins again.
    """

    lengths: Mapping[str, int]
    learnt: dict[Graph | None, dict[str, int]] = field(default_factory=dict)
    ran: dict[Graph | None, set[Node]] = field(default_factory=dict)
    faults: Lines = field(default_factory=list)
    evaluated: int = 0  # sizes that were expressions and could be worked out

    def __call__(self, node: Node, results: Sequence[RuntimeValue]) -> None:
        ran = self.ran.setdefault(node.graph, set())
        if node in ran:
            ran.clear()
            self.learnt.pop(node.graph, None)
        ran.add(node)
        for value, result in zip(node.outputs, results, strict=False):
            if value.name and value.type is not None:
                self.hold(value, value.type, result, node)

    def hold(self, value: Value, found: Type, result: RuntimeValue, node: Node) -> None:
        where = f"{node.op_type} {value.name!r}"
        try:
            assert_fits(found, result, where)
        except AssertionError as error:
            self.faults.append(str(error))
            return
        if (
            isinstance(found, TensorType)
            and found.shape is not None
            and isinstance(result, np.ndarray | SparseTensor)
        ):
            for dim, length in zip(found.shape, result.shape, strict=True):
                if isinstance(dim, Expr) and not self.agrees(dim, int(length), node.graph):
                    self.faults.append(f"{where}: {found} for shape {result.shape}, where {self.known()}")

    def agrees(self, dim: Expr, length: int, graph: Graph | None) -> bool:
        known = self.known()
        names = dim.symbols()
        (name, *others) = names or ("",)
        if not others and name.startswith("unk_") and name not in known and dim == symbol(name):
            self.learnt.setdefault(graph, {})[name] = length
        wanted = evaluate(dim, known)
        self.evaluated += wanted is not None
        return wanted is None or wanted == length

    def known(self) -> dict[str, int]:
        result = dict(self.lengths)
        for found in self.learnt.values():
            result.update(found)
        return result


def observed(model: Model, feeds: Mapping[str, RuntimeValue], lengths: Mapping[str, int]) -> Observer:
    """Runs a model whose types are inferred; lengths of variables in its inputs are read off the feeds."""
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
