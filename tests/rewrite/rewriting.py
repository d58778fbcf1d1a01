"""What the tests of passes share: a model rewritten by some passes, compared with the text it should become."""

from __future__ import annotations

from collections.abc import Sequence

from models import model
from sardonyx._src.io.text import to_text
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Graph, Model, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.verify import verify
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.rewrite.report import OptimizationReport

CLEAN = ("remove-dead-code",)


def rewritten(
    before: str | Model, *passes: str, opset: int = 21, ir: int = 10, more: str = "", proof: bool = True
) -> Model:
    """The model after these passes and the removal of dead code, with its results proved equal."""
    original = model(before, opset=opset, ir=ir, more=more) if isinstance(before, str) else before
    text = to_text(original)
    report = OptimizationReport()
    result = optimize(original, passes=[*passes, *CLEAN], verify=proof, debug=True, report=report)
    verify(result)
    assert to_text(original) == text, "the model itself was changed"
    assert not proof or report.proved, f"nothing was proved: {report.unproved}"
    again = OptimizationReport()
    optimize(result, passes=[*passes, *CLEAN], report=again)
    assert not again.edits, f"a second run goes on: {again.edits[0]}"
    return result


def assert_becomes(
    before: str,
    after: str,
    *passes: str,
    opset: int = 21,
    ir: int = 10,
    more: str = "",
    proof: bool = True,
) -> None:
    """Asserts that passes make of one text the other, but for the names of values inside."""
    result = rewritten(before, *passes, opset=opset, ir=ir, more=more, proof=proof)
    wanted = model(after, opset=opset, ir=ir, more=more)
    assert shape_of(result) == shape_of(wanted), f"\n{to_text(result)}\nis not\n{to_text(wanted)}"


def assert_stays(
    text: str, *passes: str, opset: int = 21, ir: int = 10, more: str = "", proof: bool = True
) -> None:
    """Asserts that passes leave a model as it is."""
    assert_becomes(text, text, *passes, opset=opset, ir=ir, more=more, proof=proof)


def shape_of(one: Model) -> object:
    functions = {key: graph_shape(f.body, {}) for key, f in one.functions.items()}
    return graph_shape(one.graph, {}), functions


def graph_shape(graph: Graph, seen: dict[Value, object], depth: int = 0) -> object:
    """A graph as nested tuples: values by where they come from, constants by what they hold."""
    seen = dict(seen)
    for value in graph.inputs:
        seen[value] = value.name
    for value in graph.initializers.values():
        if value not in graph.inputs:
            seen[value] = tensor_shape(value.initializer)
    rows: list[object] = []
    for i, node in enumerate(graph.nodes):
        attributes = sorted((a.name, attribute_shape(a, seen, depth)) for a in node.attributes.values())
        inputs = [None if v is None else seen[v] for v in node.inputs]
        rows.append((node.domain, node.op_type, tuple(inputs), tuple(map(str, attributes))))
        for k, value in enumerate(node.outputs):
            seen[value] = (depth, i, k)
    names = [v.name if graph.parent is None else "" for v in graph.outputs]
    return rows, names, [seen[v] for v in graph.outputs]


def tensor_shape(tensor: object) -> object:
    assert isinstance(tensor, Tensor), f"{tensor!r} is no dense tensor"
    return tensor.dtype, tensor.shape, tuple(tensor.numpy().reshape(-1).tolist())


def attribute_shape(attribute: Attribute, seen: dict[Value, object], depth: int) -> object:
    if attribute.ref:
        return f"@{attribute.ref}"
    if attribute.graphs:
        return [graph_shape(g, seen, depth + 1) for g in attribute.graphs]
    if attribute.type is AttributeType.TENSOR:
        return tensor_shape(attribute.value)
    return attribute.value


def edits(before: str, *passes: str, opset: int = 21, ir: int = 10, more: str = "") -> Sequence[str]:
    """The names of the passes that change a model, in order."""
    report = OptimizationReport()
    optimize(model(before, opset=opset, ir=ir, more=more), passes=passes or None, report=report)
    return [one.name for one in report.edits]
