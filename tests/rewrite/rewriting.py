"""Helpers of the pass tests: run passes on a model and compare the result with expected text."""

from __future__ import annotations

from collections.abc import Sequence

from models import parse_model
from sardonyx._src.io.text import to_text
from sardonyx._src.ir import Attribute, Graph, Model, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.verify import verify
from sardonyx._src.rewrite.optimize import optimize_with_report

CLEAN = ("remove-dead-code",)


def apply_passes(
    before: str | Model, *passes: str, opset: int = 21, ir: int = 10, more: str = "", proof: bool = True
) -> Model:
    """Run passes and dead code removal on a model; assert equal results and a fixpoint."""
    original = parse_model(before, opset=opset, ir=ir, more=more) if isinstance(before, str) else before
    text = to_text(original)
    optimization = optimize_with_report(original, passes=[*passes, *CLEAN], verify=proof, debug=True)
    result, report = optimization.model, optimization.report
    verify(result)
    assert to_text(original) == text, "passes must not change their input"
    assert not proof or report.proved, f"nothing was proved: {report.unproved}"
    again = optimize_with_report(result, passes=[*passes, *CLEAN]).report
    assert not again.edits, f"a second run must change nothing; got {again.edits[0]}"
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
    """Assert that passes rewrite one text to the other, up to names of inner values."""
    result = apply_passes(before, *passes, opset=opset, ir=ir, more=more, proof=proof)
    expected = parse_model(after, opset=opset, ir=ir, more=more)
    assert structure_of(result) == structure_of(expected), f"\n{to_text(result)}\nis not\n{to_text(expected)}"


def assert_unchanged(
    text: str, *passes: str, opset: int = 21, ir: int = 10, more: str = "", proof: bool = True
) -> None:
    """Assert that passes do not change a model."""
    assert_becomes(text, text, *passes, opset=opset, ir=ir, more=more, proof=proof)


def structure_of(original: Model) -> object:
    functions = {key: graph_structure(f.body, {}) for key, f in original.functions.items()}
    return graph_structure(original.graph, {}), functions


def graph_structure(graph: Graph, seen: dict[Value, object], depth: int = 0) -> object:
    """A graph as nested tuples: values by their producers, constants by their contents."""
    seen = dict(seen)
    for value in graph.inputs:
        seen[value] = value.name
    for value in graph.initializers.values():
        if value not in graph.inputs:
            seen[value] = tensor_structure(value.initializer)
    rows: list[object] = []
    for i, node in enumerate(graph.nodes):
        attributes = sorted((a.name, attribute_structure(a, seen, depth)) for a in node.attributes.values())
        inputs = [None if v is None else seen[v] for v in node.inputs]
        rows.append((node.domain, node.op_type, tuple(inputs), tuple(map(str, attributes))))
        for k, value in enumerate(node.outputs):
            seen[value] = (depth, i, k)
    names = [v.name if graph.parent is None else "" for v in graph.outputs]
    return rows, names, [seen[v] for v in graph.outputs]


def tensor_structure(tensor: object) -> object:
    assert isinstance(tensor, Tensor), f"expected a dense tensor, got {tensor!r}"
    return tensor.dtype, tensor.shape, tuple(tensor.numpy().reshape(-1).tolist())


def attribute_structure(attribute: Attribute, seen: dict[Value, object], depth: int) -> object:
    if attribute.ref:
        return f"@{attribute.ref}"
    if attribute.graphs:
        return [graph_structure(g, seen, depth + 1) for g in attribute.graphs]
    if attribute.type is AttributeType.TENSOR:
        return tensor_structure(attribute.value)
    return attribute.value


def edits(before: str, *passes: str, opset: int = 21, ir: int = 10, more: str = "") -> Sequence[str]:
    """The names of the passes that change a model, in order."""
    report = optimize_with_report(
        parse_model(before, opset=opset, ir=ir, more=more), passes=passes or None
    ).report
    return [original.name for original in report.edits]
