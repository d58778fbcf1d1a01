"""Operators of callers with graphs, with known elements in their type rules, random ones, and ones of a vendor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx.plugins import Inference, RunContext, bind_body

FLOATS = {"x": "tensor(float)"}
FLOAT = {"y": "tensor(float)"}


def define_repeated() -> None:
    @sx.operator("test.graphs", inputs=FLOATS, outputs=FLOAT, infer="same")
    def Repeated(x: Any, *, body: sx.ir.Graph, times: int = 3, context: RunContext) -> Any:
        call = bind_body(context, body, 1, 1)
        for _ in range(times):
            context.check()
            (x,) = call([x])
        return x


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_graph_that_reads_outer_values_is_called(engine: Any) -> None:
    define_repeated()
    text = """g (float[N] x, float[N] step) => (float[N] y) {
      more = Neg(step) y = test.graphs.Repeated <body = b (float[N] v) => (float[N] w) { w = Add(v, more) }> (x) }"""
    session = sx.Session(parse_model(text, more='"test.graphs": 1'), engine=engine)
    feeds = {"x": np.array([10, 20], np.float32), "step": np.array([1, 2], np.float32)}
    np.testing.assert_array_equal(session.run(feeds)["y"], np.array([7, 14], np.float32))


def test_limits_end_a_run_between_calls() -> None:
    define_repeated()
    text = """g (float[N] x) => (float[N] y) {
      y = test.graphs.Repeated <times = 1000000000, body = b (float[N] v) => (float[N] w) { w = Neg(v) }> (x) }"""
    session = sx.Session(
        parse_model(text, more='"test.graphs": 1'), engine="reference", limits=sx.RunLimits(seconds=0.2)
    )
    with pytest.raises(sx.LimitError, match=r"limits\.seconds"):
        session.run({"x": np.zeros(2, np.float32)})


def test_a_missing_graph_is_found_by_the_checker() -> None:
    define_repeated()
    model = parse_model(
        "g (float[N] x) => (float[N] y) { y = test.graphs.Repeated(x) }", more='"test.graphs": 1'
    )
    assert any("body" in str(d) for d in sx.check(model).diagnostics)


def test_a_rule_for_types_sees_known_elements() -> None:
    def infer(inference: Inference) -> sx.ir.Type:
        count = inference.constant(1)
        size = inference.new_dim() if count is None else int(count)
        return sx.ir.TensorType(sx.DataType.FLOAT, (size,))

    @sx.operator("test.graphs", inputs={**FLOATS, "n": "tensor(int64)"}, outputs=FLOAT, infer=infer)
    def Filled(x: Any, n: Any) -> Any:
        return np.full(int(n), x)

    b = sx.Builder(21)
    own, x, n = b.domain("test.graphs"), b.input("x", "float32", []), b.input("n", "int64", [])
    assert own.Filled(x, np.array(4)).shape == (4,)
    (free,) = own.Filled(x, n).shape
    assert isinstance(free, sx.plugins.Dim) and free != 4 and free is not None


def test_results_of_a_random_operator_are_not_shared() -> None:
    @sx.operator("test.graphs", inputs=FLOATS, outputs=FLOAT, infer="same", tolerance="random")
    def Noisy(x: Any, *, context: RunContext) -> Any:
        return x + context.random_state(None).random_sample(x.shape).astype(np.float32)

    text = (
        "g (float[4] x) => (float[4] y) { a = test.graphs.Noisy(x) b = test.graphs.Noisy(x) y = Sub(a, b) }"
    )
    model = sx.optimize(parse_model(text, more='"test.graphs": 1'))
    assert [node.op_type for node in model.graph.nodes] == ["Noisy", "Noisy", "Sub"]
    assert sx.Session(model, seed=1).run({"x": np.zeros(4, np.float32)})["y"].all()


def test_context_is_the_run_and_no_attribute() -> None:
    with pytest.raises(
        sx.InputError, match=r"'context' of F must be annotated with sardonyx\.plugins\.RunContext"
    ):

        @sx.operator("test.graphs")
        def F(x: Any, *, context: int = 0) -> Any:
            return x


def test_a_graph_has_no_default() -> None:
    with pytest.raises(
        sx.InputError, match="attribute 'body' of F must be a graph without a default, or None"
    ):

        @sx.operator("test.graphs")
        def F(x: Any, *, body: sx.ir.Graph = 3) -> Any:  # type: ignore[assignment]  # wrong on purpose
            return x


def test_an_operator_of_a_vendor_that_is_implemented_is_refused() -> None:
    with pytest.raises(sx.InputError, match=r"com\.microsoft\.Gelu is registered already, by other code"):
        sx.operator("com.microsoft", name="Gelu")(lambda X: X)


UNIMPLEMENTED = "SkipGroupNorm"


def test_an_operator_of_a_vendor_has_the_parameters_of_its_signature() -> None:
    with pytest.raises(
        sx.InputError, match=r"SkipGroupNorm must have the parameters \(X, gamma, beta, skip, bias, \*"
    ):
        sx.operator("com.microsoft", name=UNIMPLEMENTED)(lambda X: X)
