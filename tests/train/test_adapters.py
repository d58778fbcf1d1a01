"""Low-rank adapters: added, trained alone, and merged."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array
from sardonyx.train import SGD, add_adapters, merge_adapters, prepare

DRAW = np.random.default_rng(9)
W, V = DRAW.standard_normal((4, 3)), DRAW.standard_normal((2, 3))
X, T = DRAW.standard_normal((5, 4)), DRAW.standard_normal((5, 2))


def numbers(array: Array) -> str:
    return ", ".join(map(repr, map(float, array.flat)))


def model() -> sx.Model:
    """A MatMul with w [4, 3] and a Gemm with the transposed v [2, 3] and a factor of 0.5."""
    return parse_model(
        f"""g (double[N, 4] x) => (double[N, 2] y) <double[4, 3] w = {{{numbers(W)}}}, double[2, 3] v = {{{numbers(V)}}}> {{
          h = MatMul(x, w) r = Tanh(h) y = Gemm<transB = 1, alpha = 0.5>(r, v) }}"""
    )


def run(model: sx.Model) -> Array:
    return np.asarray(sx.Session(model, engine="reference").run({"x": X})["y"])


def trained() -> tuple[sx.Model, sx.TrainingSession]:
    """The adapted model after some steps, and its session."""
    adapted = add_adapters(model(), 2, alpha=3, seed=1)
    training = prepare(adapted, loss="mse", optimizer=SGD(rate=0.1), trainable="*_adapter_?")
    session = sx.TrainingSession(training, engine="reference")
    for _ in range(5):
        session.step({"x": X, "target": T})
    return session.checkpoint(), session


def test_new_adapters_change_nothing() -> None:
    adapted = add_adapters(model(), 2)
    np.testing.assert_array_equal(run(adapted), run(model()))
    assert sorted(adapted.graph.initializers) == [
        "v", "v_adapter_a", "v_adapter_b", "w", "w_adapter_a", "w_adapter_b"
    ]  # fmt: skip
    assert [v.name for v in adapted.graph.outputs] == ["y"]
    assert not [d for d in sx.check(adapted).diagnostics if d.severity == "error"]


def test_training_changes_adapters_alone_by_the_formula_of_the_paper() -> None:
    checkpoint, session = trained()
    state = session.state
    assert set(state) == {"w_adapter_a", "w_adapter_b", "v_adapter_a", "v_adapter_b", "train_updates"}
    assert all(state[name].any() for name in state)
    w = W + 3 / 2 * state["w_adapter_a"] @ state["w_adapter_b"]
    h = np.tanh(X @ w)
    y = 0.5 * (h @ V.T) + 3 / 2 * h @ state["v_adapter_a"] @ state["v_adapter_b"]
    np.testing.assert_allclose(run(sx.train.without_training(checkpoint)), y, rtol=1e-6)
    assert np.abs(y - run(model())).max() > 1e-3


def test_merged_adapters_compute_the_same_without_them() -> None:
    checkpoint, _ = trained()
    merged = merge_adapters(checkpoint)
    np.testing.assert_allclose(run(merged), run(sx.train.without_training(checkpoint)), rtol=1e-6)
    assert [node.op_type for node in merged.graph.nodes] == ["MatMul", "Tanh", "Gemm"]
    assert sorted(merged.graph.initializers) == ["v", "w"]
    assert merged.functions == {} and merged.training == []
    assert merged.opset_imports == {"": 21}


def test_shared_weights_are_merged_where_they_are_adapted() -> None:
    shared = parse_model(
        "g (float[2, 2] x) => (float[2, 2] y, float[2, 2] z) <float[2, 2] w = {1, 2, 3, 4}> { y = MatMul(x, w) z = Add(x, w) }"
    )
    adapted = add_adapters(shared, 1)
    ones = [value for name, value in adapted.graph.initializers.items() if "adapter" in name]
    for value in ones:
        assert value.initializer is not None
        value.initializer = sx.Tensor.of(np.ones(value.initializer.shape, np.float32), name=value.name)
    x = np.eye(2, dtype=np.float32)
    for candidate in (adapted, merge_adapters(adapted)):
        out = sx.Session(candidate, engine="reference").run({"x": x})
        np.testing.assert_array_equal(np.asarray(out["y"]), [[2, 3], [4, 5]])
        np.testing.assert_array_equal(np.asarray(out["z"]), [[2, 2], [3, 5]])


def test_a_model_without_adapters_is_refused() -> None:
    with pytest.raises(
        sx.InputError, match=r"the model must have adapters, .* it has none: it can be used as it is"
    ):
        merge_adapters(model())
    merged = merge_adapters(add_adapters(model(), 1))
    with pytest.raises(sx.InputError, match="it has none"):
        merge_adapters(merged)


def test_adapters_in_a_branch_are_refused() -> None:
    branched = sx.from_text(
        """<ir_version: 10, opset_import: ["": 21, "sardonyx.adapters": 1]>
        g (bool c, float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float[2, 1] a = {1, 1}, float[1, 2] b = {1, 1}> {
          y = If<then_branch = t () => (float[2, 2] p) { h = MatMul(x, w) p = sardonyx.adapters.LowRankAdapter<scale = 1.0>(x, h, a, b) },
                 else_branch = e () => (float[2, 2] q) { q = Neg(x) }>(c) }"""
    )
    with pytest.raises(
        sx.InputError, match=r"in the main graph, .*then_branch.node\[1\] .* is in a function or a branch"
    ):
        merge_adapters(branched)


def test_targets_choose_the_layers() -> None:
    adapted = add_adapters(model(), 1, targets="w")
    assert [node.op_type for node in adapted.graph.nodes] == ["MatMul", "LowRankAdapter", "Tanh", "Gemm"]
    with pytest.raises(sx.InputError, match="targets: "):
        add_adapters(model(), 1, targets="q")
    with pytest.raises(sx.InputError, match="there are none"):
        add_adapters(parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }"), 1)
    with pytest.raises(sx.InputError, match="rank must be at least 1; got 0"):
        add_adapters(model(), 0)
    with pytest.raises(sx.InputError, match="alpha must be a number > 0; got -1"):
        add_adapters(model(), 1, alpha=-1)


def test_a_gemm_without_a_product_is_no_layer() -> None:
    nothing = parse_model(
        f"""g (double[N, 4] x) => (double[N, 3] y) <double[4, 3] w = {{{numbers(W)}}}> {{
          y = Gemm<alpha = 0.0>(x, w) }}"""
    )
    with pytest.raises(sx.InputError, match="must name weights of MatMul or Gemm nodes"):
        add_adapters(nothing, 2)
