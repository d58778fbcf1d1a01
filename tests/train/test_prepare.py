"""Training models made by `prepare`: what they contain, and the parts of a step besides loss and optimizer."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array
from sardonyx._src.ir.walk import nodes
from sardonyx.train import MSE, SGD, Adam, LossScale, Momentum, ParameterGroup, prepare
from train.linear_model import T, W, X, gradients, linear_model

NORM = """g (float[N, 2, 3] x) => (float[N, 2, 3] y) <
  float[2] scale = {2, 3}, float[2] bias = {1, -1}, float[2] mean = {0.5, 0.25}, float[2] var = {4, 9}> {
    n = BatchNormalization <epsilon = 0.001, momentum = 0.8> (x, scale, bias, mean, var)
    y = Relu(n)
}"""
HEAD = 'domain: "com.example", producer_name: "t", producer_version: "1"'


def run(model: sx.Model, steps: int = 1, **feeds: object) -> tuple[sx.TrainingSession, dict[str, Array]]:
    session = sx.TrainingSession(model, engine="reference", seed=3)
    for _ in range(steps):
        results = session.step(feeds)
    return session, {name: value for name, value in results.items() if isinstance(value, np.ndarray)}


def test_the_inference_graph_is_untouched_and_nothing_is_reported() -> None:
    model = linear_model()
    assert sx.check(model).diagnostics == ()
    result = prepare(
        model, loss="mse", optimizer="adam", clip_norm=1.0, accumulate=2, initialization="he_normal"
    )
    assert sx.check(result).diagnostics == ()
    assert sx.check(prepare(parse_text(NORM), loss="mse")).diagnostics == ()
    result.training.clear()
    del result.opset_imports["ai.onnx.preview.training"]
    assert sx.to_text(result) == sx.to_text(model)


def parse_text(graph: str, opset: int = 21) -> sx.Model:
    return sx.from_text(f'<ir_version: 10, opset_import: ["": {opset}], {HEAD}> {graph}')


def test_a_step_has_loss_bindings_and_an_initialization_without_inputs() -> None:
    (step,) = prepare(linear_model(), loss=MSE(), optimizer=Momentum(rate=0.1)).training
    assert step.algorithm is not None and step.initialization is not None
    assert [v.name for v in step.algorithm.inputs] == ["target"]
    assert step.algorithm.outputs[0].name == "loss"
    states = {state.name for state, _ in step.update_binding}
    assert states == {"w", "b", "w_velocity", "b_velocity", "train_updates"}
    assert {state.name for state, _ in step.initialization_binding} == states - {"w", "b"}
    assert step.initialization.inputs == ()
    (gradient,) = (n for n in nodes(step.algorithm) if n.op_type == "Gradient")
    assert gradient.domain == "ai.onnx.preview.training"
    assert gradient.attributes["xs"].value == (b"w", b"b")


@pytest.mark.parametrize(
    ("arguments", "trained"),
    [
        ({}, {"w", "b"}),
        ({"trainable": "w"}, {"w"}),
        ({"frozen": ["w*"]}, {"b"}),
        ({"trainable": ["?"], "frozen": "b"}, {"w"}),
    ],
)
def test_frozen_parts_have_no_binding(arguments: dict[str, str], trained: set[str]) -> None:
    (step,) = prepare(linear_model(), loss="mse", optimizer="sgd", **arguments).training  # type: ignore[arg-type]
    assert {state.name for state, _ in step.update_binding} - {"train_updates"} == trained


def test_scalars_masks_and_statistics_are_not_trained_by_default() -> None:
    model = parse_model(
        """g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 2, 3, 4}, float factor = {2}, float[2] mask = {0, -inf},
             float[2] scale = {1, 1}, float[2] bias = {0, 0}, float[2] mean = {0, 0}, float[2] var = {1, 1}, float[2] other = {1, 2}> {
             a = MatMul(x, w) b = Mul(a, factor) c = BatchNormalization(b, scale, bias, mean, var) y = Add(c, mask) }"""
    )
    (step,) = prepare(model, loss="mse", optimizer="sgd", training_mode=False).training
    assert [s.name for s, _ in step.update_binding] == ["w", "scale", "bias", "train_updates"]


def test_groups_have_rates_and_decays_of_their_own() -> None:
    groups = [ParameterGroup("b", rate_factor=0.5, weight_decay=0.3)]
    session, _ = run(
        prepare(linear_model(), loss="mse", optimizer=SGD(rate=0.1, weight_decay=0.2), groups=groups),
        x=X,
        target=T,
    )
    model = linear_model()
    b = model.graph.initializers["b"].initializer
    assert b is not None
    slopes = gradients(W, b.numpy())
    np.testing.assert_allclose(session.state["w"], W - 0.1 * (slopes["w"] + 0.2 * W), rtol=1e-6)
    np.testing.assert_allclose(
        session.state["b"], b.numpy() - 0.05 * (slopes["b"] + 0.3 * b.numpy()), rtol=1e-6
    )


def steps_of(**arguments: object) -> dict[str, Array]:
    """The differences of the weights after one step of SGD with rate 1."""
    model = linear_model()
    session, _ = run(prepare(model, loss="mse", optimizer=SGD(rate=1.0), **arguments), x=X, target=T)  # type: ignore[arg-type]
    stored = {name: v.initializer for name, v in model.graph.initializers.items()}
    return {name: t.numpy() - session.state[name] for name, t in stored.items() if t is not None}


def slopes_of_stored() -> dict[str, Array]:
    tensor = linear_model().graph.initializers["b"].initializer
    assert tensor is not None
    return gradients(W, tensor.numpy())


def test_clipping_by_norm() -> None:
    slopes = slopes_of_stored()
    norm = np.sqrt(sum((g * g).sum() for g in slopes.values()))
    clipped = steps_of(clip_norm=0.25)
    for name, slope in slopes.items():
        np.testing.assert_allclose(clipped[name], slope * 0.25 / (norm + 1e-6), rtol=1e-5)
    for name, step in steps_of(clip_norm=100.0).items():
        np.testing.assert_allclose(step, slopes[name], rtol=1e-6)


def test_clipping_by_value() -> None:
    slopes = slopes_of_stored()
    assert any((np.abs(g) > 0.1).any() for g in slopes.values())
    for name, step in steps_of(clip_value=0.1).items():
        np.testing.assert_allclose(step, np.clip(slopes[name], -0.1, 0.1), rtol=1e-6)


def test_minibatches_accumulate_to_the_update_of_their_union() -> None:
    """Two steps on half of the examples each are one step on all, twice."""
    optimizer = Adam(rate=0.1)
    whole = sx.TrainingSession(prepare(linear_model(), loss="mse", optimizer=optimizer), engine="reference")
    halves = sx.TrainingSession(
        prepare(linear_model(), loss="mse", optimizer=optimizer, accumulate=2), engine="reference"
    )
    for _ in range(2):
        before = halves.state["w"]
        halves.step({"x": X[:8], "target": T[:8]})
        np.testing.assert_array_equal(halves.state["w"], before)
        halves.step({"x": X[8:], "target": T[8:]})
        whole.step({"x": X, "target": T})
        np.testing.assert_allclose(halves.state["w"], whole.state["w"], rtol=1e-9)
    assert halves.state["train_updates"] == 2


def test_norms_use_and_update_statistics_of_the_batch() -> None:
    x = np.random.default_rng(2).standard_normal((5, 2, 3)).astype(np.float32)
    target = np.zeros_like(x)
    session, results = run(prepare(parse_text(NORM), loss="mse", optimizer=SGD(rate=0)), x=x, target=target)
    mean, variance = x.mean(axis=(0, 2)), x.var(axis=(0, 2))
    normal = (x - mean[:, None]) / np.sqrt(variance[:, None] + 0.001)
    trained = np.maximum(normal * np.array([[2], [3]]) + np.array([[1], [-1]]), 0)
    np.testing.assert_allclose(results["loss"], (trained**2).mean(), rtol=1e-5)
    np.testing.assert_allclose(session.state["mean"], 0.8 * np.array([0.5, 0.25]) + 0.2 * mean, rtol=1e-5)
    np.testing.assert_allclose(session.state["var"], 0.8 * np.array([4, 9]) + 0.2 * variance, rtol=1e-5)


@pytest.mark.parametrize(
    "arguments",
    [{"training_mode": False}, {"frozen": ["scale", "bias"], "trainable": ["scale", "w", "bias"]}],
)
def test_frozen_norms_stay_in_inference_mode(arguments: dict[str, object]) -> None:
    graph = NORM.replace(
        "float[2] scale", "float[3, 3] w = {1, 0, 0, 0, 1, 0, 0, 0, 1}, float[2] scale"
    ).replace("y = Relu(n)", "r = Relu(n) y = MatMul(r, w)")
    model = parse_text(graph)
    x = np.random.default_rng(2).standard_normal((5, 2, 3)).astype(np.float32)
    session, results = run(
        prepare(model, loss="mse", optimizer="sgd", **arguments),  # type: ignore[arg-type]
        x=x,
        target=np.zeros_like(x),
    )
    assert "mean" not in session.state
    y = sx.Session(model, engine="reference").run({"x": x})["y"]
    np.testing.assert_allclose(results["loss"], (np.asarray(y) ** 2).mean(), rtol=1e-5)


DROPOUT = """g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 0, 0, 1}, float ratio = {0.5}> {
  m = MatMul(x, w) y = Dropout(m, ratio) }"""
NESTED = """g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {1, 0, 0, 1}> { m = MatMul(x, w) y = my.Drop(m) }
<domain: "my", opset_import: ["": 21]> Drop (a) => (b) { r = Constant<value = float {0.5}>() c = Dropout(a, r) b = Identity(c) }"""


@pytest.mark.parametrize("graph", [DROPOUT, NESTED], ids=["node", "function"])
def test_dropout_drops_in_training_only(graph: str) -> None:
    model = parse_text(graph)
    if graph is NESTED:
        model = parse_model(NESTED, more='"my": 1')
    prepared = prepare(model, loss="mse", optimizer=SGD(rate=0))
    x = np.ones((1000, 2), np.float32)
    session, results = run(prepared, x=x, target=np.zeros_like(x))
    # Kept elements are 2, and half of them are kept: the mean square is about 2.
    assert 1.8 < float(results["loss"]) < 2.2
    np.testing.assert_array_equal(np.asarray(session.infer({"x": x})["y"]), x)
    again = session.step({"x": x, "target": np.zeros_like(x)})["loss"]
    assert float(np.asarray(again)) != float(results["loss"])


CONSTANT_MODES = {
    "initializer": DROPOUT.replace("> {", ", bool t = {0}> {"),
    "Constant": DROPOUT.replace("m =", "t = Constant<value = bool {0}>() m ="),
}


@pytest.mark.parametrize("mode", CONSTANT_MODES)
def test_dropout_with_a_constant_mode_drops_in_training(mode: str) -> None:
    model = parse_text(CONSTANT_MODES[mode].replace("(m, ratio)", "(m, ratio, t)"))
    x = np.ones((1000, 2), np.float32)
    _, results = run(prepare(model, loss="mse", optimizer=SGD(rate=0)), x=x, target=np.zeros_like(x))
    assert 1.8 < float(results["loss"]) < 2.2


def test_an_input_decides_whether_dropout_drops() -> None:
    text = DROPOUT.replace(" x)", " x, bool t)").replace("> {", ", bool t = {0}> {")
    prepared = prepare(
        parse_text(text.replace("(m, ratio)", "(m, ratio, t)")), loss="mse", optimizer=SGD(rate=0)
    )
    x = np.ones((1000, 2), np.float32)
    assert run(prepared, x=x, target=np.zeros_like(x))[1]["loss"] == 1
    _, results = run(prepared, x=x, target=np.zeros_like(x), t=np.bool_(True))
    assert 1.8 < float(results["loss"]) < 2.2


@pytest.mark.parametrize(("mask", "y"), [("k", "Sub(d, c)"), ('""', "Sub(d, m)")], ids=["read", "omitted"])
def test_a_mask_that_the_model_reads_is_the_mask_of_the_dropout(mask: str, y: str) -> None:
    cast = f"c = Cast<to = 1>({mask})" if mask == "k" else ""
    model = parse_text(
        f"""g (float[N, 2] x) => (float[N, 2] y) <float[2, 2] w = {{1, 0, 0, 1}}, float ratio = {{0.5}}> {{
          m = MatMul(x, w) d, {mask} = Dropout(m, ratio) {cast} y = {y} }}"""
    )
    prepared = prepare(model, loss="mse", optimizer=SGD(rate=0))
    assert sx.check(prepared).diagnostics == ()
    x = np.ones((1000, 2), np.float32)
    session, results = run(prepared, x=x, target=np.zeros_like(x))
    # Elements are 2 - 1 if kept.  Dropped ones are 0 - 0 with the mask, and 0 - 1 without it.
    mean_square = float(results["loss"])
    assert 0.4 < mean_square < 0.6 if mask == "k" else mean_square == 1
    np.testing.assert_array_equal(np.asarray(session.infer({"x": x})["y"]), np.zeros_like(x))


HALF = """g ({t}[N, 2] x) => ({t}[N, 1] y) <{t}[2, 1] w = {{{bits}}}> {{ y = MatMul(x, w) }}"""

ONE_AND_TWO = {"float16": "15360, 16384", "bfloat16": "16256, 16384"}  # the bits of 1 and 2


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_half_precision_weights_have_float32_masters(name: str) -> None:
    """The update of 1e-5 is below the precision of both types at 1, and is not lost in the master."""
    model = parse_text(HALF.format(t=name, bits=ONE_AND_TWO[name]))
    prepared = prepare(model, loss="mse", optimizer=SGD(rate=1e-5 / 2), loss_scale=8.0)
    session = sx.TrainingSession(prepared, engine="reference")
    dtype = session.state["w"].dtype
    x, target = np.array([[1, 0]], dtype), np.zeros((1, 1), np.float32)
    for _ in range(3):
        session.step({"x": x, "target": target})
    # The slope of w^2 at 1 is 2.
    np.testing.assert_allclose(session.state["w_master"], np.array([[1 - 3e-5], [2.0]]), rtol=1e-7)
    assert session.state["w_master"].dtype == np.float32
    np.testing.assert_array_equal(session.state["w"], session.state["w_master"].astype(dtype))


def test_a_loss_scale_shrinks_at_infinite_gradients_and_grows_after_finite_ones() -> None:
    model = parse_text(HALF.format(t="float16", bits=ONE_AND_TWO["float16"]))
    rule = LossScale(initial=2.0**16, growth=4.0, backoff=0.25, interval=2)
    session = sx.TrainingSession(
        prepare(model, loss="mse", optimizer=SGD(rate=0.01), loss_scale=rule), engine="reference"
    )
    x, target = np.array([[8, 8]], np.float16), np.zeros((1, 1), np.float32)
    scales, weights = [], [session.state["w_master"]]
    for _ in range(6):
        session.step({"x": x, "target": target})
        scales.append(float(session.state["train_loss_scale"]))
        weights.append(session.state["w_master"])
    # The slope of y is 2 y = 48, and that of w is 384: 65504 is passed while the scale is above 170.
    assert scales[:5] == [2.0**14, 2.0**12, 2.0**10, 2.0**8, 2.0**6]
    assert all((w == weights[0]).all() for w in weights[:6])
    assert scales[5] == 2.0**6 and not (weights[6] == weights[0]).any()
    session.step({"x": x, "target": target})
    assert float(session.state["train_loss_scale"]) == 2.0**8
    assert session.state["train_updates"] == 2


def test_initialization_draws_weights_and_resets_the_optimizer() -> None:
    zeros, quarters = ", ".join(["0"] * 40000), ", ".join(["0.25"] * 100)
    weights = f"float[400, 100] w = {{{zeros}}}, float[100] b = {{{quarters}}}"
    model = parse_text(
        f"g (float[N, 400] x) => (float[N, 100] y) <{weights}> {{ p = MatMul(x, w) y = Add(p, b) }}"
    )
    prepared = prepare(model, loss="mse", optimizer="adam", initialization="he_normal", seed=4)
    session = sx.TrainingSession(prepared, engine="reference")
    session.initialize()
    drawn = session.state["w"]
    assert abs(float(drawn.std()) - np.sqrt(2 / 400)) < 1e-3 and abs(float(drawn.mean())) < 1e-3
    np.testing.assert_array_equal(session.state["b"], np.full(100, 0.25, np.float32))
    x = np.ones((2, 400), np.float32)
    session.step({"x": x, "target": np.zeros((2, 100), np.float32)})
    assert session.state["train_updates"] == 1 and session.state["w_mean"].any()
    session.initialize()
    assert session.state["train_updates"] == 0 and not session.state["w_mean"].any()
    np.testing.assert_array_equal(session.state["w"], drawn)


@pytest.mark.parametrize(
    ("initialization", "bound", "deviation"),
    [
        ("he_uniform", np.sqrt(6 / 400), np.sqrt(2 / 400)),
        ("glorot_uniform", np.sqrt(6 / 500), np.sqrt(2 / 500)),
        ("glorot_normal", np.inf, np.sqrt(2 / 500)),
        ({"w": 0.5}, np.inf, 0.5),
        ({"*": "ones"}, 1, 0),
    ],
)
def test_distributions(initialization: str, bound: float, deviation: float) -> None:
    """A Gemm with transposed weights: [out, in]."""
    weights = f"float[100, 400] w = {{{', '.join(['0'] * 40000)}}}"
    model = parse_text(
        f"g (float[N, 400] x) => (float[N, 100] y) <{weights}> {{ y = Gemm<transB = 1>(x, w) }}"
    )
    session = sx.TrainingSession(
        prepare(model, loss="mse", initialization=initialization), engine="reference"
    )
    session.initialize()
    drawn = session.state["w"]
    assert float(np.abs(drawn).max()) <= bound
    assert float(drawn.std()) == pytest.approx(deviation, rel=0.02)


def test_old_operator_sets_are_converted_and_folded_norms_noted() -> None:
    model = sx.from_text("""<ir_version: 3, opset_import: ["": 9]>
      g (float[1, 1, 3, 3] x, float[1, 1, 1, 1] "onnx::Conv_7", float[1] "onnx::Conv_8") => (float[1, 1, 3, 3] y)
      <float[1, 1, 1, 1] "onnx::Conv_7" = {2}, float[1] "onnx::Conv_8" = {1}> { y = Conv(x, "onnx::Conv_7", "onnx::Conv_8") }""")
    result = prepare(model, loss="mse", trainable="onnx::Conv_*")
    texts = [note.message for note in result.notes]
    assert "the operator set was converted from 9 to 15, which training requires" in texts
    assert any("BatchNormalization seems to be folded into 1 convolutions" in text for text in texts)
    assert result.ir_version >= 7 and model.opset_imports == {"": 9}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "q"}, r"the graph has no value 'q'"),
        (
            {"output": "x", "trainable": "w"},
            r"trainable must name values that the prediction depends on; got 'w'",
        ),
        ({"trainable": "v*"}, r"trainable: no floating-point initializer matches 'v\*'"),
        ({"frozen": "*"}, r"there are none"),
        ({"trainable": 3}, r"trainable must be a list of str; got int"),
        ({"groups": [ParameterGroup("q")]}, r"groups: no floating-point initializer matches 'q'"),
        ({"groups": ["w"]}, r"groups must be a list of ParameterGroups; an element is str"),
        ({"target": "x"}, r"target must be a name that the model does not have; got 'x'"),
        ({"target": 1}, r"target must be a str; got int"),
        ({"clip_norm": 0}, r"clip_norm must be a number > 0; got 0"),
        ({"accumulate": 0}, r"accumulate must be at least 1; got 0"),
        ({"loss_scale": -1}, r"loss_scale must be a number > 0; got -1"),
        ({"initialization": "he"}, r"there is no distribution 'he'"),
        ({"seed": -1, "initialization": "ones"}, r"seed must be in 0 to 16777216; got -1"),
        ({"optimizer": "adan"}, r"there is no optimizer 'adan'; did you mean 'adam'\?"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises((sx.InputError, TypeError), match=message):
        prepare(linear_model(), **{"loss": "mse", **arguments})  # type: ignore[arg-type]


def test_the_prediction_must_be_clear() -> None:
    model = parse_text(
        "g (float[N] x) => (float[N] y, float[N] z) <float[2] w = {1, 2}> { y = Add(x, w) z = Mul(x, w) }"
    )
    with pytest.raises((sx.InputError, TypeError), match="the floating-point outputs are 'y', 'z'"):
        prepare(model, loss="mse")
    with pytest.raises((sx.InputError, TypeError), match="model must be a Model; got str"):
        prepare("m.onnx", loss="mse")  # type: ignore[arg-type]


def test_logits_before_a_softmax_are_taken() -> None:
    model = parse_text(
        "g (float[N, 3] x) => (float[N, 3] p) <float[3] b = {1, 2, 3}> { l = Add(x, b) p = Softmax(l) }"
    )
    _, results = run(prepare(model), x=np.zeros((1, 3), np.float32), target=[2])
    e = np.exp([1, 2, 3])
    np.testing.assert_allclose(results["loss"], -np.log(e[2] / e.sum()), rtol=1e-5)


def test_steps_refuse_labels_and_inputs_that_do_not_exist() -> None:
    model = parse_text("g (float[N, 3] x) => (float[N, 3] y) <float[3] b = {1, 2, 3}> { y = Add(x, b) }")
    session = sx.TrainingSession(prepare(model), engine="reference")
    feeds = {"x": np.zeros((2, 3), np.float32), "target": np.array([0, 2])}
    state = session.state["b"].copy()
    for label in (-1, 3):
        with pytest.raises(
            sx.InputError, match=f"'target' of feeds must be in 0 to 2; got {label} in example 1"
        ):
            session.step({**feeds, "target": np.array([0, label])})
    with pytest.raises(sx.InputError, match="there is no input 'q'; the inputs are 'target', 'x'"):
        session.step({**feeds, "q": feeds["x"]})
    np.testing.assert_array_equal(session.state["b"], state)
    session.step(feeds)


def test_numbers_of_bytes_are_written_as_such() -> None:
    metadata = prepare(linear_model(), loss="mse", checkpointing=np.int64(4096)).metadata  # type: ignore[arg-type]
    assert "4096" in metadata.values()
