"""Models as Python programs: what a program builds is the model that it was written for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from conformance.official import OfficialCase, official_cases
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.ir import Attribute, Graph, Model, Node, SparseTensor, Tensor, Value
from sardonyx._src.ops.bind import plain

EVERY = 24  # of the official cases; the others differ from these in attributes and data


def build(text: str) -> Model:
    namespace: dict[str, object] = {}
    exec(compile(text, "program", "exec"), namespace)
    model = namespace["model"]
    assert isinstance(model, Model)
    return model


class Signature:
    """A graph with values numbered in the order of their definitions, by which two graphs are compared."""

    def __init__(self) -> None:
        self.numbers: dict[Value, int] = {}

    def number(self, value: Value | None) -> object:
        if value is None:
            return None
        if isinstance(value.initializer, Tensor):
            return contents(value.initializer)
        if isinstance(value.initializer, SparseTensor):
            return contents(value.initializer.values), contents(value.initializer.indices)
        return self.numbers.setdefault(value, len(self.numbers))

    def graph(self, graph: Graph) -> Iterator[object]:
        yield [self.number(value) for value in graph.inputs]
        for node in graph.nodes:
            yield self.node(node)
        yield [self.number(value) for value in graph.outputs]

    def node(self, node: Node) -> object:
        attributes = {name: self.attribute(value) for name, value in sorted(node.attributes.items())}
        inputs = [self.number(value) for value in node.inputs]
        outputs = [self.number(value) if value.name else None for value in node.outputs]
        return node.domain, node.op_type, node.name, inputs, attributes, outputs

    def attribute(self, attribute: Attribute) -> object:
        if attribute.graphs:
            return [list(self.graph(graph)) for graph in attribute.graphs]
        value = attribute.value
        if attribute.ref or isinstance(value, SparseTensor):
            return attribute.ref
        return contents(value) if isinstance(value, Tensor) else plain(value)


def contents(tensor: Tensor) -> object:
    array = tensor.numpy()
    return str(array.dtype), array.shape, array.tolist() if array.dtype == object else array.tobytes()


def assert_equivalent(result: Model, model: Model) -> None:
    names = [v.name for v in (*result.graph.inputs, *result.graph.outputs)]
    assert names == [v.name for v in (*model.graph.inputs, *model.graph.outputs)]
    assert [v.type for v in result.graph.inputs] == [v.type for v in model.graph.inputs]
    assert list(Signature().graph(result.graph)) == list(Signature().graph(model.graph))
    assert {d: v for d, v in result.opset_imports.items() if d} == {
        d: v for d, v in model.opset_imports.items() if d
    }


@pytest.mark.conformance
@pytest.mark.parametrize("case", [c for c in official_cases() if c.kind == "node"][::EVERY], ids=str)
def test_official_models_are_rebuilt(case: OfficialCase) -> None:
    model = case.load()
    assert_equivalent(build(sx.to_python(model)), model)


TEXTS = {
    "functions": (
        "main (float[2] x) => (float[2] y) { y = local.f <alpha = 2.0> (x) }",
        (
            '<domain: "local", opset_import: ["": 21]> f <alpha: float = 0.5> (a) => (b) '
            "{ c = LeakyRelu <alpha = @alpha> (a) b = Neg(c) }"
        ),
    ),
    "names": ('main (float[2] "a-b", float[2] "class") => (float[2] "1") { "1" = Add("a-b", "class") }', ""),
    "left out": (
        (
            "main (float[1,2,3] x, float[1,8,3] w, float[1,8,2] r) => (float[1,2,2] c) "
            "{ u, v, c = LSTM <hidden_size = 2> (x, w, r) }"
        ),
        "",
    ),
    "defaults": ("main (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }", ""),
    "branches": (
        (
            "main (bool c, float[2] x) => (float[2] y) { y = If(c) < then_branch = t () => (float[2] a) { a = Neg(x) }, "
            "else_branch = e () => (float[2] a) <float k = {3}> { a = Mul(x, k) } > }"
        ),
        "",
    ),
}


DEAD_BRANCH = """
main (float[5] x) => (y) <bool c = {0}> {
    y = If(c) <
        then_branch = t () => (b) { a, b = Split <num_outputs = 4> (x) },
        else_branch = e () => (b) { b = Neg(x) }
    >
}"""


def test_a_branch_that_no_run_takes_is_rebuilt() -> None:
    model = parse_model(DEAD_BRANCH, opset=21)
    text = sx.to_python(model)
    assert text.count("taken=False") == 1
    result = build(text)
    assert_equivalent(result, model)
    assert sx.infer(result).graph.outputs[0].type == sx.Builder.tensor("float32", [5])


def test_a_branch_that_runs_take_is_typed() -> None:
    b = sx.Builder(21)
    x = b.input("x", "float32", [5])
    wrong = b.subgraph(lambda: b.Split(x, num_outputs=4)[0], taken=False)
    with pytest.raises(sx.InferenceError, match="num_outputs must split"):
        b.If(True, then_branch=wrong, else_branch=b.subgraph(lambda: x))


@pytest.mark.parametrize("name", TEXTS)
def test_forms_of_models_are_rebuilt(name: str) -> None:
    text, functions = TEXTS[name]
    more = '"local": 1' if functions else ""
    model = parse_model(f"{text} {functions}", opset=21, more=more)
    result = build(sx.to_python(model))
    assert_equivalent(result, model)
    for key, function in model.functions.items():
        body = result.functions[key].body
        assert list(Signature().graph(body)) == list(Signature().graph(function.body))


def test_special_numbers_read_back() -> None:
    b = sx.Builder(21)
    floats = b.constant("f", np.array([np.inf, -np.inf, np.nan, -0.0, 1e-45], np.float32))
    halves = b.constant("h", [0.1, 3.0], "bfloat16")
    texts = b.constant("t", [["a'b", 'c"d']])
    empty = b.constant("e", np.zeros((2, 0), np.int64))
    large = b.constant("l", np.arange(1000, dtype=np.int16))
    model = b.model(p=floats, q=halves, r=texts, s=empty, u=large)
    assert_equivalent(build(sx.to_python(model)), model)


def test_large_weights_are_read_from_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    b = sx.Builder(21)
    weights = np.random.default_rng(0).standard_normal((100, 10)).astype(np.float32)
    model = b.model(y=b.input("x", "float32", ["N", 100]) @ b.constant("w", weights))
    path = tmp_path / "m.onnx"
    sx.save(model, path)
    assert main(["show", str(path), "--python"]) == 0
    text = capsys.readouterr().out
    assert len(text) < 1000
    assert_equivalent(build(text), model)


FUNCTION = """main () => (float[1] y) { y = local.f () }
<domain: "local", opset_import: ["": 21]> f () => (b) { b = Constant <value_floats = [1.0]> () }"""


def test_what_builders_lack_is_refused() -> None:
    model = parse_model(FUNCTION, opset=21, more='"local": 1')
    (function,) = model.functions.values()
    function.opset_imports[""] = 20
    with pytest.raises(sx.InputError, match="imports"):
        sx.to_python(model)
    function.overload = "2"
    with pytest.raises(sx.InputError, match="overloads"):
        sx.to_python(model)
