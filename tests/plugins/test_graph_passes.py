"""Passes of callers that are functions of a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.rewrite.own_passes import OWN_PASSES
from sardonyx.plugins import GraphEdit, graph_pass

GELU = "g (float[N] x) => (float[N] y) { a = Neg(x) b = Gelu(a) y = Abs(b) }"


@pytest.fixture(autouse=True)
def own_passes() -> Iterator[None]:
    """No pass outlives its test."""
    yield
    OWN_PASSES.clear()


def op_types(model: sx.Model) -> list[str]:
    return [node.op_type for node in model.graph.nodes if node.op_type != "Constant"]


def test_an_expression_replaces_a_node_and_is_reported() -> None:
    @graph_pass(phase="expand")
    def expand_gelu(graph: GraphEdit) -> Iterator[str]:
        """Gelu by its definition."""
        for node in graph.nodes("Gelu"):
            assert graph.attributes(node) == {"approximate": "none"}
            if graph.replace(node, lambda b, x: x * (b.Erf(x / math.sqrt(2)) + 1) * 0.5):
                yield node.outputs[0].name

    model = parse_model(GELU, opset=21)
    optimization = sx.tools.optimize_with_report(model, passes=["expand-gelu"], verify=True)
    assert op_types(optimization.model) == ["Neg", "Div", "Erf", "Add", "Mul", "Mul", "Abs"]
    assert optimization.report.proved and optimization.report.passes["expand-gelu"].edits == 1
    assert optimization.model.graph.nodes[-1].inputs[0].name == "b"  # type: ignore[union-attr]
    assert op_types(model) == ["Neg", "Gelu", "Abs"]


def test_an_output_of_the_model_keeps_its_name_and_domains_are_imported() -> None:
    @sx.operator("test.graphs", types={"T": ["float"]}, inputs={"x": "T"}, outputs={"y": "T"}, infer="same")
    def Negated(x: Any) -> Any:
        return -x

    @graph_pass()
    def to_own(graph: GraphEdit) -> Iterator[str]:
        for node in graph.nodes("Neg"):
            if graph.replace(node, lambda b, x: b.domain("test.graphs").Negated(x)):
                yield "Neg"

    model = sx.optimize(parse_model("g (float[N] x) => (float[N] y) { y = Neg(x) }"), verify=True)
    assert op_types(model) == ["Negated"]
    assert model.graph.outputs[0].name == "y" and model.opset_imports["test.graphs"] == 1
    np.testing.assert_array_equal(sx.Session(model).run({"x": np.ones(2, np.float32)})["y"], [-1, -1])


def test_uses_are_replaced_and_dead_nodes_removed() -> None:
    @graph_pass()
    def drop_scale_by_one(graph: GraphEdit) -> Iterator[str]:
        for node in graph.nodes("Mul"):
            x, factor = node.inputs[0], graph.constant(node.inputs[1])
            assert x is not None
            if factor is not None and (factor == 1).all() and graph.replace_uses(node.outputs[0], x):
                yield "Mul"

    text = "g (float[N] x) => (float[N] y) <float k = {1}> { a = Neg(x) b = Mul(a, k) c = Abs(b) y = Neg(c) }"
    model = sx.optimize(parse_model(text), passes=["drop-scale-by-one"], verify=True)
    assert op_types(model) == ["Neg", "Abs", "Neg"]


def test_a_wrong_pass_is_traced_to_its_edit() -> None:
    @graph_pass()
    def break_it(graph: GraphEdit) -> Iterator[str]:
        for node in graph.nodes("Gelu"):
            if graph.replace(node, lambda b, x: x * 2):
                yield "Gelu"

    with pytest.raises(sx.OptimizationError, match="break-it"):
        sx.optimize(parse_model(GELU, opset=21), verify=True)


def test_another_type_changes_nothing() -> None:
    @graph_pass()
    def to_double(graph: GraphEdit) -> Iterator[str]:
        for node in graph.nodes("Gelu"):
            assert not graph.replace(node, lambda b, x: b.Cast(x, to=sx.DataType.DOUBLE))
        return iter(())

    assert op_types(sx.optimize(parse_model(GELU, opset=21))) == ["Neg", "Gelu", "Abs"]


def returns_nothing(graph: GraphEdit) -> None:
    pass


def yields_numbers(graph: GraphEdit) -> Iterator[int]:
    yield 1


def returns_too_many(graph: GraphEdit) -> Iterator[str]:
    for node in graph.nodes("Gelu"):
        graph.replace(node, lambda b, x: (x, x))
    yield ""


def edits_a_removed_node(graph: GraphEdit) -> Iterator[str]:
    for node in graph.nodes("Gelu"):
        graph.replace(node, lambda b, x: x)
        graph.replace(node, lambda b, x: x)
    yield ""


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (returns_nothing, "must yield a string after each edit; it returned None"),
        (yields_numbers, "must yield a string after each edit; got 1"),
        (returns_too_many, "must return 1 values, the outputs of Gelu; got 2"),
        (edits_a_removed_node, "Gelu has been removed"),
    ],
)
def test_mistakes_of_passes_are_named(function: Callable[..., Any], text: str) -> None:
    graph_pass(name="mistaken")(function)
    with pytest.raises((TypeError, sx.InputError), match=text):
        sx.optimize(parse_model(GELU, opset=21), passes=["mistaken"])


def test_names_of_this_package_are_taken() -> None:
    with pytest.raises(sx.InputError, match="is a pass of this package"):
        graph_pass(name="fuse-gelu")(yields_numbers)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must decorate a function"):
        graph_pass()(3)  # type: ignore[arg-type]
