"""Losses, compared with their formulas in NumPy, and their gradients with central differences of those."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array
from sardonyx._src.train.losses.table import LOSSES
from sardonyx.train import CTC, MAE, MSE, NLL, SGD, BCEWithLogits, CrossEntropy, Huber, Loss, prepare

DRAW = np.random.default_rng(11)
SCORES = DRAW.standard_normal((6, 4))
LABELS = np.array([0, 3, 1, 2, 2, 0])
WEIGHTS = [0.5, 1.0, 2.0, 0.25]
IMAGES = DRAW.standard_normal((2, 3, 2, 2))
PIXELS = DRAW.integers(0, 3, (2, 2, 2))
TOKENS = np.moveaxis(IMAGES, 1, -1)
REAL = DRAW.standard_normal((6, 4)) * 2
SHARES = DRAW.random((6, 4))
Formula = Callable[[Array, Array], float]


def log_softmax(x: Array, axis: int = 1) -> Array:
    shifted = x - x.max(axis=axis, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True)))


def cross_entropy(
    weights: list[float] | None = None,
    ignored: int | None = None,
    smoothing: float = 0.0,
    *,
    log: bool = True,
    mean: bool = True,
) -> Formula:
    """PyTorch's CrossEntropyLoss as its documentation words it, example by example; classes are the last axis."""

    def formula(x: Array, labels: Array) -> float:
        rows = x.reshape(-1, x.shape[-1])
        log_p = log_softmax(rows) if log else rows
        w = np.ones(x.shape[-1]) if weights is None else np.asarray(weights)
        total, share = 0.0, 0.0
        for row, label in zip(log_p, labels.flat, strict=True):
            if label == ignored:
                continue
            total -= (1 - smoothing) * w[label] * row[label] + smoothing / len(row) * (w * row).sum()
            share += w[label]
        return float(total / share) if mean else float(total)

    return formula


def images(formula: Formula) -> Formula:
    return lambda x, labels: formula(np.moveaxis(x, 1, -1), labels)


def huber(x: Array, t: Array) -> float:
    e = np.abs(x - t)
    return float(np.where(e <= 0.7, e * e / 2, 0.7 * (e - 0.35)).mean())


def bce(x: Array, t: Array) -> float:
    p, w = 1 / (1 + np.exp(-x)), np.asarray(WEIGHTS)
    return float(-(w * t * np.log(p) + (1 - t) * np.log(1 - p)).mean())


CASES: list[tuple[str, Loss, Array, Array, Formula]] = [
    ("cross-entropy", CrossEntropy(), SCORES, LABELS, cross_entropy()),
    ("weights", CrossEntropy(weights=WEIGHTS), SCORES, LABELS, cross_entropy(WEIGHTS)),
    ("ignored", CrossEntropy(ignore_index=2), SCORES, LABELS, cross_entropy(None, 2)),
    (
        "ignored outside",
        CrossEntropy(WEIGHTS, ignore_index=-1),
        SCORES,
        np.array([0, -1, 1, 2, -1, 0]),
        cross_entropy(WEIGHTS, -1),
    ),
    ("smoothing", CrossEntropy(smoothing=0.2), SCORES, LABELS, cross_entropy(None, None, 0.2)),
    (
        "all",
        CrossEntropy(WEIGHTS, ignore_index=-1, smoothing=0.2),
        SCORES,
        np.array([0, -1, 1, 2, -1, 0]),
        cross_entropy(WEIGHTS, -1, 0.2),
    ),
    ("sum", CrossEntropy(WEIGHTS, reduction="sum"), SCORES, LABELS, cross_entropy(WEIGHTS, mean=False)),
    (
        "smooth sum",
        CrossEntropy(smoothing=0.3, reduction="sum"),
        SCORES,
        LABELS,
        cross_entropy(None, None, 0.3, mean=False),
    ),
    ("images", CrossEntropy(), IMAGES, PIXELS, images(cross_entropy())),
    (
        "smooth images",
        CrossEntropy([1, 2, 3], smoothing=0.2),
        IMAGES,
        PIXELS,
        images(cross_entropy([1, 2, 3], None, 0.2)),
    ),
    ("tokens", CrossEntropy(axis=-1), TOKENS, PIXELS, cross_entropy()),
    (
        "smooth tokens",
        CrossEntropy([1, 2, 3], smoothing=0.2, axis=-1),
        TOKENS,
        PIXELS,
        cross_entropy([1, 2, 3], None, 0.2),
    ),
    (
        "axis 2",
        CrossEntropy(axis=2),
        np.moveaxis(IMAGES, 1, 2),
        PIXELS,
        lambda x, t: cross_entropy()(np.moveaxis(x, 2, -1), t),
    ),
    ("nll", NLL(WEIGHTS, ignore_index=3), SCORES, LABELS, cross_entropy(WEIGHTS, 3, log=False)),
    ("mse", MSE(), SCORES, REAL, lambda x, t: float(((x - t) ** 2).mean())),
    ("mse sum", MSE(reduction="sum"), SCORES, REAL, lambda x, t: float(((x - t) ** 2).sum())),
    ("mae", MAE(), SCORES, REAL, lambda x, t: float(np.abs(x - t).mean())),
    ("huber", Huber(delta=0.7), SCORES, REAL, huber),
    ("bce", BCEWithLogits(positive_weights=WEIGHTS), SCORES, SHARES, bce),
]


def shift_model(shape: tuple[int, ...]) -> sx.Model:
    """y = x + shift, so that the gradient of the shift is that of the prediction."""
    dims = ", ".join(map(str, shape))
    zeros = ", ".join("0" for _ in range(int(np.prod(shape))))
    return parse_model(
        f"g (double[{dims}] x) => (double[{dims}] y) <double[{dims}] shift = {{{zeros}}}> {{ y = Add(x, shift) }}"
    )


def differences(formula: Formula, x: Array, target: Array) -> Array:
    """The gradient of a formula at x by central differences."""
    result = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[place] = 1e-5
        result[place] = (formula(x + step, target) - formula(x - step, target)) / 2e-5
    return result


@pytest.mark.parametrize(("name", "loss", "x", "target", "formula"), CASES, ids=[case[0] for case in CASES])
def test_value_and_gradient_are_those_of_the_formula(
    name: str, loss: Loss, x: Array, target: Array, formula: Formula
) -> None:
    model = prepare(shift_model(x.shape), loss=loss, optimizer=SGD(rate=1.0))
    session = sx.TrainingSession(model, engine="reference")
    result = session.step({"x": x, "target": target})["loss"]
    assert isinstance(result, np.ndarray) and result.shape == ()
    np.testing.assert_allclose(result, formula(x, target), rtol=1e-10)
    np.testing.assert_allclose(-session.state["shift"], differences(formula, x, target), rtol=1e-6, atol=1e-9)


def test_every_loss_has_a_case() -> None:
    assert {type(case[1]) for case in CASES} | {CTC} == set(LOSSES.values())  # test_ctc.py has those of CTC


@pytest.mark.parametrize(
    ("loss", "target", "accuracy"),
    [
        (CrossEntropy(), SCORES.argmax(1), 1.0),
        (CrossEntropy(), np.add(SCORES.argmax(1), [0, 1, 0, 0, 1, 0]) % 4, 4 / 6),
        (CrossEntropy(ignore_index=-1), np.where([0, 0, 1, 1, 1, 0], -1, SCORES.argmax(1)), 1.0),
        (BCEWithLogits(), np.where(SCORES > 0, 1.0, 0.0), 1.0),
    ],
)
def test_accuracy(loss: Loss, target: Array, accuracy: float) -> None:
    model = prepare(shift_model(SCORES.shape), loss=loss)
    session = sx.TrainingSession(model, engine="reference")
    result = session.step({"x": SCORES, "target": target})["accuracy"]
    assert isinstance(result, np.ndarray) and float(result) == pytest.approx(accuracy)


def test_binary_cross_entropy_of_large_logits_is_finite() -> None:
    model = prepare(shift_model((1, 2)), loss="bce")
    session = sx.TrainingSession(model, engine="reference")
    result = session.step({"x": [[1000.0, -1000.0]], "target": [[1.0, 1.0]]})["loss"]
    assert isinstance(result, np.ndarray) and float(result) == pytest.approx(500)


def test_a_model_as_loss() -> None:
    """The model's inputs are the prediction, by name, and a weight for each example."""
    loss = parse_model(
        """weighted (double[6, 4] y, double[6, 1] weight) => (double l) {
          s = Mul(y, y) w = my.Scale(s, weight) l = ReduceSum<keepdims = 0>(w) }
        <domain: "my", opset_import: ["": 18]> Scale (a, b) => (c) { c = Mul(a, b) }""",
        opset=18,
        more='"my": 1',
    )
    model = prepare(shift_model((6, 4)), loss=loss, optimizer=SGD(rate=1.0))
    session = sx.TrainingSession(model, engine="reference")
    weight = DRAW.random((6, 1))
    result = session.step({"x": SCORES, "weight": weight})["loss"]
    np.testing.assert_allclose(np.asarray(result), (SCORES**2 * weight).sum(), rtol=1e-12)
    np.testing.assert_allclose(-session.state["shift"], 2 * SCORES * weight, rtol=1e-12)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("cross-entropy", r"there is no loss 'cross-entropy'; did you mean 'cross_entropy'\?"),
        (7, r"loss must be a Loss, a Model or a name; got int"),
        (CrossEntropy(weights=[1, 2]), r"weights must be 4 numbers, one for each class; got 2"),
        (CrossEntropy(axis=5), r"axis must be in -2 to 1; got 5"),
        (
            parse_model("l (float[6, 4] y) => (float l) { l = ReduceSum<keepdims = 0>(y) }"),
            r"input 'y' of the loss must be double; got float",
        ),
        (
            parse_model("l (double[6, 4] y) => (double[6, 4] l) { l = Neg(y) }"),
            r"the first output of the loss must be a scalar of type double",
        ),
    ],
)
def test_losses_that_do_not_fit_are_refused(loss: Loss, message: str) -> None:
    with pytest.raises((sx.InputError, TypeError), match=message):
        prepare(shift_model(SCORES.shape), loss=loss)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CrossEntropy(smoothing=1.5), r"smoothing must be a number >= 0 and <= 1; got 1.5"),
        (lambda: CrossEntropy(reduction="none"), r"reduction must be one of 'mean', 'sum'; got 'none'"),  # type: ignore[arg-type]
        (lambda: NLL(ignore_index="x"), r"ignore_index must be an integer or None; got str"),  # type: ignore[arg-type]
        (lambda: Huber(delta=0), r"delta must be a number > 0; got 0"),
    ],
)
def test_parameters_out_of_range(make: Callable[[], Loss], message: str) -> None:
    with pytest.raises((sx.InputError, TypeError), match=message):
        make()
