"""Training with fake quantization: gradients, weights that are won back, and the integers that the engine uses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.main import main
from sardonyx._src.ir import Array, Model, Tensor
from sardonyx.train import SGD, add_fake_quantization, fit, fold_fake_quantization, prepare

RNG = np.random.default_rng(11)
WIDTH, CLASSES = 32, 4
CENTERS = RNG.standard_normal((CLASSES, WIDTH))
LABELS = RNG.integers(0, CLASSES, 256)
ROWS = (CENTERS[LABELS] + RNG.standard_normal((256, WIDTH))).astype(np.float32)
WEIGHT = (RNG.standard_normal((WIDTH, CLASSES)) / 4).astype(np.float32)
BIAS = RNG.standard_normal(CLASSES).astype(np.float32)
DATA = {"x": ROWS, "target": LABELS}


def model() -> Model:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["N", WIDTH])
    return b.model(y=b.Gemm(x, b.constant("w", WEIGHT), b.constant("c", BIAS)))


def initializer(of: Model, name: str) -> Array:
    tensor = of.graph.initializers[name].initializer
    assert isinstance(tensor, Tensor)
    return tensor.numpy()


def rounded(weight: Array, scale: Array) -> Array:
    return np.clip(np.rint(weight / scale), -8, 7)


def outputs(of: Model) -> Array:
    return np.asarray(sx.Session(of).run({"x": ROWS})["y"])


def test_the_model_computes_with_rounded_weights() -> None:
    fake = add_fake_quantization(model(), "int4", data={"x": ROWS}, block=0, algorithm="nearest")
    scale = np.abs(WEIGHT).max(axis=0, keepdims=True) / 7
    np.testing.assert_allclose(initializer(fake, "w_scale"), scale, rtol=1e-6)
    expected = ROWS @ (rounded(WEIGHT, scale) * scale) + BIAS
    np.testing.assert_allclose(outputs(fake), expected, rtol=1e-4, atol=1e-4)
    assert sx.check(fake).ok


def test_a_step_changes_the_floats_by_the_gradient_of_the_rounded_weights() -> None:
    """Straight through: the gradient of x @ rounded(w) with respect to the rounded weights, but 0 beyond the integers."""
    fake = add_fake_quantization(model(), "int4", data={"x": ROWS}, block=0, algorithm="nearest")
    beyond = WEIGHT.copy()
    beyond[:3] = 10  # the integers reach 7 scales
    weight = fake.graph.initializers["w"]
    weight.initializer = Tensor.of(beyond)
    training = prepare(fake, loss="mse", optimizer=SGD(rate=1.0), trainable="w")
    target = RNG.standard_normal((256, CLASSES)).astype(np.float32)
    session = sx.TrainingSession(training)
    session.step({"x": ROWS, "target": target})
    scale = np.abs(WEIGHT).max(axis=0, keepdims=True) / 7
    error = ROWS @ (rounded(beyond, scale) * scale) + BIAS - target
    gradient = ROWS.T @ (2 * error / error.size)
    gradient[:3] = 0
    np.testing.assert_allclose(beyond - session.state["w"], gradient, rtol=1e-3, atol=1e-4)


def test_weights_are_trained_and_scales_are_not() -> None:
    fake = add_fake_quantization(model(), "int8", data={"x": ROWS})
    states = {state.name for state, _ in prepare(fake, optimizer="sgd").training[0].update_binding}
    assert states & fake.graph.initializers.keys() == {"w", "c"}


@pytest.mark.parametrize("block", [0, 16])
def test_scales_are_learned_if_they_are_named(block: int) -> None:
    fake = add_fake_quantization(model(), "int4", data={"x": ROWS}, block=block, algorithm="nearest")
    training = prepare(fake, optimizer=SGD(rate=1e-3), trainable=["w", "w_scale"])
    result = fit(training, DATA, epochs=1, batch_size=64, shuffle=False)
    learned, first = initializer(result.model, "w_scale"), initializer(fake, "w_scale")
    assert learned.shape == first.shape == ((WIDTH // block if block else 1), CLASSES)
    assert (learned != first).any() and (learned > 0).all()
    folded = fold_fake_quantization(result.model)
    np.testing.assert_array_equal(initializer(folded, "w_scale"), learned)


@pytest.mark.parametrize("scheme", ["int4", "int8-weights", "int8"])
def test_the_quantized_model_computes_what_was_trained(scheme: str) -> None:
    fake = add_fake_quantization(model(), scheme, data={"x": ROWS})
    result = fit(prepare(fake, optimizer="sgd"), DATA, epochs=2, batch_size=64)
    folded = fold_fake_quantization(result.model)
    assert sx.check(folded).ok and not folded.training and "w" not in folded.graph.initializers
    node = next(node for node in folded.graph.nodes if node.op_type == "Gemm")
    weight = node.inputs[1]
    assert (
        weight is not None and weight.producer is not None and weight.producer.op_type == "DequantizeLinear"
    )
    bits = {"int4": "int4"}.get(scheme, "int8")
    integers = weight.producer.inputs[0]
    assert integers is not None and integers.initializer is not None
    assert integers.initializer.dtype.name == bits.upper()
    # A bias in int32 changes by at most half of the product of the scales.
    trained = outputs(result.model)
    tolerance = 1e-4 if scheme != "int8" else 1e-2 * np.abs(trained).max()
    np.testing.assert_allclose(outputs(folded), trained, atol=tolerance)


def test_training_wins_back_what_rounding_has_lost() -> None:
    """The loss of a small network: in floats, rounded to 4 bits, and trained with the rounded weights."""
    floats = fit(prepare(model(), optimizer="adam"), DATA, epochs=20, batch_size=64).model
    fake = add_fake_quantization(floats, "int4", data={"x": ROWS}, block=0)
    trained = fit(prepare(fake, optimizer="adam"), DATA, epochs=20, batch_size=64).model

    def loss(of: Model) -> float:
        scores = outputs(fold_fake_quantization(of)).astype(np.float64)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return float(-np.log((odds / odds.sum(axis=1, keepdims=True))[np.arange(len(LABELS)), LABELS]).mean())

    assert loss(trained) < loss(fake)


def test_a_model_without_pairs_stays_as_it_is() -> None:
    np.testing.assert_array_equal(outputs(fold_fake_quantization(model())), outputs(model()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "float16"}, "scheme must be one of"),
        ({"scheme": "int4", "algorithm": "gptq"}, "algorithm must be one of"),
        ({"scheme": "int8", "exclude": ["*"]}, "must have a layer that can be quantized"),
    ],
)
def test_wrong_arguments(options: dict[str, str], message: str) -> None:
    with pytest.raises(sx.InputError, match=message):
        add_fake_quantization(model(), **options)  # type: ignore[arg-type]


def test_the_command_writes_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(model(), tmp_path / "m.onnx")
    np.savez(tmp_path / "d.npz", x=ROWS, target=LABELS)
    words = ["train", str(tmp_path / "m.onnx"), "--data", str(tmp_path / "d.npz"), "--epochs", "1"]
    words += ["--quantize", "int4", "-o", str(tmp_path / "q.onnx")]
    assert main(words) == 0
    types = {
        v.initializer.dtype.name
        for v in sx.load(tmp_path / "q.onnx").graph.initializers.values()
        if v.initializer
    }
    assert "INT4" in types
    assert main([*words, "--initialization", "he_normal"]) == 2
    assert "--quantize must be without --initialization" in capsys.readouterr().err
