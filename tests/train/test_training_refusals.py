"""Data and arguments that cannot be trained with: refused before the first step, with the place and the cure."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Array
from sardonyx.train import FitResult, fit, prepare

X = np.random.default_rng(0).normal(size=(10, 2)).astype(np.float32)
LABELS = np.arange(10) % 3
DATA: dict[str, Array] = {"x": X, "target": LABELS}
WEIGHT = "float[2, 3] w = {1, 2, 3, 4, 5, 6}"


def model(batch: str = "N", more: str = "") -> sx.Model:
    text = f"g ({more}float[{batch}, 2] x) => (float[{batch}, 3] y) <{WEIGHT}> {{ y = MatMul(x, w) }}"
    return parse_model(text, opset=21)


def train(source: sx.Model, data: object = DATA, **options: object) -> FitResult:
    return fit(source, data, epochs=1, engine="reference", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("batch", "examples", "batch_size"), [("1", 10, 32), ("4", 10, 4), ("4", 8, 2), ("4", 3, 4)]
)
def test_batches_of_other_sizes_than_declared_are_refused(batch: str, examples: int, batch_size: int) -> None:
    data = {name: values[:examples] for name, values in DATA.items()}
    steps: list[int] = []
    with pytest.raises(sx.InputError, match=rf"batch_size must be {batch}, which input 'x' declares .*; got"):
        train(prepare(model(batch)), data, batch_size=batch_size, report=lambda s: steps.append(s.step))
    assert steps == []


def test_validation_data_have_batches_of_the_declared_size_too() -> None:
    eight, six = ({name: values[:count] for name, values in DATA.items()} for count in (8, 6))
    training = prepare(model("4"))
    assert train(training, eight, batch_size=4, validation=eight).history[0].step == 2
    with pytest.raises(sx.InputError, match=r"batch_size must be 4, .* got 4 for 6 examples"):
        train(training, eight, batch_size=4, validation=six)


def test_rows_of_different_lengths_are_refused_by_their_column() -> None:
    with pytest.raises(sx.InputError, match="column 'x' of data must have rows of one shape: "):
        train(prepare(model()), {"x": [[1.0, 2.0], [3.0]], "target": [0, 1]})


def test_columns_of_texts_feed_string_inputs() -> None:
    texts = np.array([f"text {i}" for i in range(10)])
    training = prepare(model(more="string[N] s, "), optimizer="sgd")
    with_texts, with_objects = (
        train(training, {**DATA, "s": column}).history[0].metrics for column in (texts, texts.astype(object))
    )
    assert with_texts == with_objects
    with pytest.raises(sx.InputError, match="column 's' of data must be string; got int64"):
        train(training, {**DATA, "s": LABELS})


@pytest.mark.parametrize("wrong", [-1, 7])
def test_labels_in_lists_are_checked(wrong: int) -> None:
    session = sx.TrainingSession(prepare(model()), engine="reference")
    before = session.state["w"].copy()
    with pytest.raises(sx.InputError, match=rf"labels in 'target' of feeds must be in 0 to 2; got {wrong}"):
        session.step({"x": X.tolist(), "target": [wrong] * 10})
    np.testing.assert_array_equal(session.state["w"], before)
    assert float(session.step({"x": X.tolist(), "target": LABELS.tolist()})["loss"]) > 0


def test_steps_without_examples_are_refused() -> None:
    """Their mean loss would be NaN, and so would be the weights."""
    session = sx.TrainingSession(prepare(model()), engine="reference")
    for call in (session.step, session.evaluate):
        with pytest.raises(sx.InputError, match=r"'target' must have at least one example; got shape \[0\]"):
            call({"x": X[:0], "target": LABELS[:0]})
    assert np.isfinite(session.state["w"]).all()


def test_sessions_check_their_options_when_they_open() -> None:
    training = prepare(model())
    with pytest.raises(sx.InputError, match="engine must be "):
        sx.TrainingSession(training, engine="fast")  # type: ignore[arg-type]
    with pytest.raises(sx.InputError, match="threads must be "):
        sx.TrainingSession(training, threads=-1)


def test_patterns_of_initializations_that_match_nothing_are_refused() -> None:
    with pytest.raises(sx.InputError, match="initialization: no floating-point initializer matches 'q'"):
        prepare(model(), initialization={"w": "ones", "q": "zeros"})


def test_a_second_step_needs_a_target_of_its_own() -> None:
    with pytest.raises(
        sx.InputError, match=r"got 'target': choose another one, or remove an earlier step with sx\.train\.w"
    ):
        prepare(prepare(model()))
    assert len(prepare(prepare(model()), target="again").training) == 2
