"""The reference engine: functions, subgraphs, absent values, limits."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import sardonyx as sx
from models import parse_function, parse_record
from sardonyx._src.errors import InvalidModel, LimitError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ops.api import RuntimeValue

F = np.float32
X = np.array([1, -2], F)


def run(text: str, *functions: str, x: object = X, **options: object) -> RuntimeValue:
    record = parse_record(text, more='"l": 1')
    record.functions = [parse_function(f) for f in functions]
    return sx.Session(record, **options).run({"x": x})["y"]  # type: ignore[arg-type]


def numbers(value: RuntimeValue) -> object:
    assert isinstance(value, np.ndarray)
    return value.tolist()


# --- functions -------------------------------------------------------------------------------

CALL = "g (float[N] x) => (float[N] y) { y = l.f(x) }"


def test_a_call_runs_the_body() -> None:
    assert numbers(run(CALL, '<domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }')) == [-1, 2]


def test_overloads_are_distinguished() -> None:
    record = parse_record(
        "g (float[N] x) => (float[N] y, float[N] z) { y = l.f(x)  z = l.f(x) }", more='"l": 1'
    )
    assert record.graph is not None
    record.graph.node[0].overload, record.graph.node[1].overload = "neg", "abs"
    record.functions = [
        parse_function('<domain: "l", overload: "neg", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }'),
        parse_function('<domain: "l", overload: "abs", opset_import: ["": 21]> f (a) => (b) { b = Abs(a) }'),
    ]
    out = sx.Session(record).run({"x": X})
    assert numbers(out["y"]) == [-1, 2]
    assert numbers(out["z"]) == [1, 2]


SCALE = '<domain: "l", opset_import: ["": 21]> f {params} (a) => (b) {{ k = Constant <value_float: float = @k> ()  b = Mul(a, k) }}'


def test_a_reference_in_the_body_takes_the_attribute_of_the_call() -> None:
    call = "g (float[N] x) => (float[N] y) { y = l.f <k = 3.0> (x) }"
    assert numbers(run(call, SCALE.format(params="<k>"))) == [3, -6]


def test_a_parameter_without_attribute_takes_its_default() -> None:
    assert numbers(run(CALL, SCALE.format(params="<k: float = 5.0>"))) == [5, -10]


def test_an_attribute_beats_the_default() -> None:
    call = "g (float[N] x) => (float[N] y) { y = l.f <k = 3.0> (x) }"
    assert numbers(run(call, SCALE.format(params="<k: float = 5.0>"))) == [3, -6]


def test_a_reference_to_an_unfilled_parameter_is_an_absent_attribute() -> None:
    body = '<domain: "l", opset_import: ["": 21]> f <s> (a) => (b) { b = Selu <alpha: float = @s> (a) }'
    plain = run("g (float[N] x) => (float[N] y) { y = Selu(x) }")
    assert numbers(run(CALL, body)) == numbers(plain)


def test_attributes_pass_through_nested_calls() -> None:
    outer = '<domain: "l", opset_import: ["l": 1]> f <k> (a) => (b) { b = l.inner <k: float = @k> (a) }'
    call = "g (float[N] x) => (float[N] y) { y = l.f <k = 2.0> (x) }"
    assert numbers(run(call, outer, SCALE.replace(" f ", " inner ").format(params="<k>"))) == [2, -4]


def test_references_reach_into_branches() -> None:
    body = """<domain: "l", opset_import: ["": 21]> f <k> (a) => (b) {
      c = Constant <value = bool {1}> ()
      b = If (c) <
        then_branch = t () => (p) { q = Constant <value_float: float = @k> ()  p = Mul(a, q) },
        else_branch = e () => (p) { p = Neg(a) }
      >
    }"""
    call = "g (float[N] x) => (float[N] y) { y = l.f <k = 4.0> (x) }"
    assert numbers(run(call, body)) == [4, -8]


def test_a_body_uses_its_own_imports() -> None:
    # Softmax-11 scales everything from axis 1 on; Softmax-13, which the model imports, one axis alone.
    body = '<domain: "l", opset_import: ["": 11]> f (a) => (b) { b = Softmax <axis = 1> (a) }'
    call = "g (float[1,2,2] x) => (float[1,2,2] y) { y = l.f(x) }"
    assert numbers(run(call, body, x=np.zeros((1, 2, 2), F))) == [[[0.25, 0.25], [0.25, 0.25]]]


def test_an_input_that_a_call_leaves_out_is_absent_inside() -> None:
    body = '<domain: "l", opset_import: ["": 21]> f (a, low, high) => (b) { b = Clip(a, low, high) }'
    assert numbers(
        run("g (float[N] x) => (float[N] y) { z = Constant<value_float = 0.0>() y = l.f(x, z) }", body)
    ) == [1, 0]
    assert numbers(
        run("g (float[N] x) => (float[N] y) { z = Constant<value_float = 0.0>() y = l.f(x, , z) }", body)
    ) == [0, -2]


def test_a_call_with_too_many_inputs_is_refused() -> None:
    with pytest.raises(InvalidModel, match="function 'f' must be called with at most 1 inputs; got 2"):
        run(
            "g (float[N] x) => (float[N] y) { y = l.f(x, x) }",
            '<domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }',
        )


def test_an_attribute_that_the_function_lacks_is_refused() -> None:
    with pytest.raises(InvalidModel, match=r"node\[0\] \(f\): function 'f' has no attribute 'k'"):
        run(
            "g (float[N] x) => (float[N] y) { y = l.f <k = 1.0> (x) }",
            '<domain: "l", opset_import: ["": 21]> f (a) => (b) { b = Neg(a) }',
        )


def test_functions_that_multiply_end_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sardonyx._src.infer.state.MAX_REPEATED_NODES", 1 << 14)  # the default takes seconds
    levels = [
        f'<domain: "l", opset_import: ["l": 1]> f{i} (a) => (c) {{ b = l.f{i + 1}(a)  c = l.f{i + 1}(b) }}'
        for i in range(40)
    ]
    last = '<domain: "l", opset_import: ["": 21]> f40 (a) => (b) { b = Neg(a) }'
    with pytest.raises(LimitError, match=r"limits\.nodes"):
        run(CALL.replace("l.f(", "l.f0("), *levels, last, limits=sx.RunLimits(nodes=10_000))


# --- graphs ----------------------------------------------------------------------------------


def test_a_subgraph_sees_what_is_around_it() -> None:
    text = """g (float[N] x) => (float[N] y) {
      c = Constant <value = bool {0}> ()
      a = Neg(x)
      y = If (c) <then_branch = t () => (p) { p = Identity(x) }, else_branch = e () => (p) { p = Identity(a) }>
    }"""
    assert numbers(run(text)) == [-1, 2]


def test_an_output_may_be_an_input_or_a_constant() -> None:
    session = sx.Session(parse_record("g (float[2] x) => (float[2] x, float[2] w) <float[2] w = {5, 6}> { }"))
    out = session.run({"x": X})
    assert numbers(out["x"]) == [1, -2]
    assert numbers(out["w"]) == [5, 6]


def test_the_first_of_two_outputs_can_be_left_out() -> None:
    text = 'g (float[N] x) => (int64[k] y) { one = Constant<value_ints = [1]>()  "", y = TopK(x, one) }'
    assert numbers(run(text)) == [0]


def test_a_sparse_initializer_is_dense_when_it_runs() -> None:
    from sardonyx._src.proto import messages as m

    record = parse_record("g (float[3] x) => (float[3] y) { y = Add(x, w) }")
    assert record.graph is not None
    values = m.TensorProto(name="w", dims=[1], data_type=1, float_data=[7.0])
    indices = m.TensorProto(dims=[1], data_type=7, int64_data=[2])
    record.graph.sparse_initializer = [m.SparseTensorProto(values=values, indices=indices, dims=[3])]
    assert numbers(sx.Session(record).run({"x": np.zeros(3, F)})["y"]) == [0, 0, 7]


def test_values_are_released_after_their_last_use() -> None:
    alive: list[tuple[str, int]] = []
    refs: dict[str, weakref.ref[np.ndarray]] = {}
    session = sx.Session(
        parse_record("g (float[N] x) => (float[N] y) { a = Neg(x)  b = Abs(a)  c = Neg(b)  y = Abs(c) }")
    )
    from sardonyx._src.runtime.declarations.declared_dims import DeclaredDims
    from sardonyx._src.runtime.declarations.declared_sizes import declarations_of
    from sardonyx._src.runtime.feeds.feeds import check_feeds

    feeds = check_feeds({"x": X}, declarations_of(session.model.graph.inputs, "input"), DeclaredDims(10))

    def observe(node: sx.Model, results: list[np.ndarray]) -> None:
        gc.collect()
        refs[node.outputs[0].name] = weakref.ref(results[0])  # type: ignore[attr-defined]
        alive.append((node.outputs[0].name, sum(r() is not None for r in refs.values())))  # type: ignore[attr-defined]

    Interpreter(session.model).run(feeds, observe)  # type: ignore[arg-type]
    assert alive == [("a", 1), ("b", 2), ("c", 2), ("y", 2)]


# --- attributes ------------------------------------------------------------------------------


def test_an_attribute_that_the_operator_lacks_is_named() -> None:
    with pytest.raises(InvalidModel, match=r"Neg-13 has no attribute 'axis'"):
        run("g (float[N] x) => (float[N] y) { y = Neg <axis = 1> (x) }")


def test_an_attribute_of_another_type_is_named() -> None:
    with pytest.raises(InvalidModel, match="attribute 'axis' must have type INT; got FLOAT"):
        run("g (float[N] x) => (float[N] y) { y = Softmax <axis = 1.0> (x) }")


def test_a_required_attribute_that_is_missing_is_named() -> None:
    with pytest.raises(InvalidModel, match="attribute 'axis' is required and missing"):
        run("g (float[N] x) => (float[M] y) { y = Concat(x, x) }")


def test_a_domain_that_is_not_imported_is_named() -> None:
    with pytest.raises(InvalidModel, match=r"domain 'com\.y' is not imported"):
        run("g (float[N] x) => (float[N] y) { y = com.y.Foo(x) }")


# --- random ----------------------------------------------------------------------------------

RANDOM = "g (float[N] x) => (float[8] y) { y = RandomNormal <shape = [8]> () }"


def test_a_seeded_session_repeats_itself() -> None:
    assert numbers(run(RANDOM, seed=3)) == numbers(run(RANDOM, seed=3))
    assert numbers(run(RANDOM, seed=3)) != numbers(run(RANDOM, seed=4))


def test_two_runs_of_a_session_draw_different_numbers() -> None:
    session = sx.Session(parse_record(RANDOM), seed=1)
    assert numbers(session.run({"x": X})["y"]) != numbers(session.run({"x": X})["y"])


def test_an_operator_with_a_seed_repeats_itself() -> None:
    text = RANDOM.replace("<shape", "<seed = 2.0, shape")
    assert numbers(run(text)) == numbers(run(text))
