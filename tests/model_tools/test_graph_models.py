"""Graphs of a model as models of their own compute what they compute in it."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Graph
from sardonyx._src.ir.walk import roots
from sardonyx._src.tools.extract import extract
from sardonyx._src.tools.graph_models import every_graph, graph_model

NESTED = """
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (bool c, float[2] x) => (float[2] y) <float[2] w = {10, 20}> {
        a = If(c) <then_branch = yes () => (float[2] p) { s = Add(x, w) p = Neg(s) }, else_branch = no () => (float[2] q) { q = Abs(x) }>
        y = local.Scaled<factor = 0.5>(a)
    }
    <opset_import: ["": 21], domain: "local">
    Scaled<factor>(v) => (r) {
        flag = Constant<value = bool {1}>()
        r = If(flag) <then_branch = inner () => (t) { t = LeakyRelu<alpha: float = @factor>(v) }, else_branch = other () => (u) { u = Exp(v) }>
    }
"""


def part_of(name: str) -> sx.Model:
    """The graph with a name as a checked model."""
    model = sx.from_text(NESTED)
    (graph,) = [graph for graph in every_graph(model) if graph.name == name]
    part = extract(graph_model(model, graph))
    assert not sx.check(part).of("error")
    return part


def run(part: sx.Model, **feeds: list[float]) -> list[float]:
    outputs = sx.Session(part, engine="reference").run(
        {name: np.array(value, np.float32) for name, value in feeds.items()}
    )
    (result,) = outputs.values()
    return [float(value) for value in result]


def test_captured_values_are_inputs_and_weights_stay() -> None:
    part = part_of("yes")
    assert [value.name for value in part.graph.inputs] == ["x"] and [*part.graph.initializers] == ["w"]
    assert run(part, x=[1, 2]) == [-11, -22]


def test_a_function_has_the_types_and_attributes_of_its_call() -> None:
    part = extract(graph_model(model := sx.from_text(NESTED), next(iter(model.functions.values())).body))
    assert [(v.name, str(v.type)) for v in part.graph.inputs] == [("v", "float[2]")]
    assert run(part, v=[4, -4]) == [4, -2]


def test_a_graph_inside_a_function_has_them_too() -> None:
    part = part_of("inner")
    assert [(v.name, str(v.type)) for v in part.graph.inputs] == [("v", "float[2]")]
    assert run(part, v=[4, -4]) == [4, -2]


def test_the_model_stays_as_it_is() -> None:
    model = sx.from_text(NESTED)
    before = sx.to_text(model)
    for graph in [*every_graph(model)]:
        graph_model(model, graph)
    assert sx.to_text(model) == before


def test_a_training_graph_reads_the_main_graph() -> None:
    model = parse_model("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }")
    algorithm = Graph("step")
    model.training.append(sx.ir.TrainingInfo(algorithm=algorithm))
    (value,) = model.graph.initializers.values()
    node = sx.ir.Node("Neg", [value], [sx.ir.Value("v")])
    algorithm.append(node)
    algorithm.outputs = [node.outputs[0]]
    assert algorithm in [*roots(model)]
    assert run(graph_model(model, algorithm)) == [-1, -2]
