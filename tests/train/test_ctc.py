"""CTC, compared with the sum over all alignments, one by one (Graves et al., 2006, equation 3)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, product

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx.train import CTC, SGD, prepare
from train.test_training_losses import differences, shift_model

STEPS, BATCH, CLASSES = 4, 3, 3
SCORES = np.random.default_rng(4).standard_normal((STEPS, BATCH, CLASSES))
TARGETS = {
    "target": np.array([[1, 2], [2, 2], [1, 0]]),
    "target_input_lengths": np.array([4, 4, 3]),
    "target_lengths": np.array([2, 2, 1]),
}


def probability(p: Array, labels: Sequence[int], blank: int) -> float:
    """The probability of labels: the sum over all paths that become them without repetitions and blanks.  p: [steps, classes]."""
    total = 0.0
    for path in product(range(p.shape[1]), repeat=len(p)):
        if [label for label, _ in groupby(path) if label != blank] == list(labels):
            total += float(np.prod([p[t, label] for t, label in enumerate(path)]))
    return total


def losses(x: Array, targets: dict[str, Array], blank: int = 0) -> list[float]:
    p = np.exp(x) / np.exp(x).sum(-1, keepdims=True)
    rows = zip(*targets.values(), strict=True)
    with np.errstate(divide="ignore"):
        return [
            float(-np.log(probability(p[:steps, n], labels[:count], blank)))
            for n, (labels, steps, count) in enumerate(rows)
        ]


def run(loss: CTC, x: Array, targets: dict[str, Array]) -> tuple[float, Array]:
    """The loss, and the gradient of the prediction."""
    session = sx.TrainingSession(
        prepare(shift_model(x.shape), loss=loss, optimizer=SGD(rate=1.0)), engine="reference"
    )
    result = session.step({"x": x, **targets})["loss"]
    return float(np.asarray(result)), -session.state["shift"]


def test_the_mean_over_examples_and_its_gradient() -> None:
    def mean(x: Array, _: Array) -> float:
        return float(np.mean(np.array(losses(x, TARGETS)) / [2, 2, 1]))

    value, gradient = run(CTC(), SCORES, TARGETS)
    assert value == pytest.approx(mean(SCORES, SCORES), rel=1e-10)
    np.testing.assert_allclose(gradient, differences(mean, SCORES, SCORES), rtol=1e-6, atol=1e-9)


def test_the_sum_with_another_blank_and_the_batch_first() -> None:
    targets = {**TARGETS, "target": np.array([[1, 0], [0, 0], [1, 2]])}
    value, _ = run(CTC(blank=2, reduction="sum", batch_first=True), SCORES.transpose(1, 0, 2).copy(), targets)
    assert value == pytest.approx(sum(losses(SCORES, targets, 2)), rel=1e-10)


def test_empty_targets_are_paths_of_blanks() -> None:
    targets = {**TARGETS, "target_lengths": np.array([0, 0, 0])}
    value, _ = run(CTC(reduction="sum"), SCORES, targets)
    assert value == pytest.approx(sum(losses(SCORES, targets)), rel=1e-10)


def test_targets_without_an_alignment() -> None:
    """Two equal labels need three steps."""
    targets = {**TARGETS, "target_input_lengths": np.array([4, 2, 3])}
    assert run(CTC(), SCORES, targets)[0] == np.inf
    value, gradient = run(CTC(reduction="sum", zero_infinity=True), SCORES, targets)
    expected = losses(SCORES, targets)
    assert expected[1] == np.inf
    assert value == pytest.approx(expected[0] + expected[2], rel=1e-10)
    assert np.isfinite(gradient).all() and not gradient[:, 1].any()


def test_predictions_of_another_rank_are_refused() -> None:
    with pytest.raises(sx.InputError, match=r"must be \[steps, batch, classes\]; got rank 2"):
        prepare(shift_model((2, 3)), loss="ctc")
