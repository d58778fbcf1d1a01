"""The accuracy loop: bounds that hold, the fewest layers in floats, and searches that go on where they were."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from quantize.networks import convolutional, images
from sardonyx._src.quantize.accuracy.loop import meet_bound
from sardonyx._src.quantize.accuracy.metrics import loss_of
from sardonyx._src.quantize.accuracy.record import LossRecord

SHARES = {"a": 1.0, "b": 8.0, "c": 2.0, "d": 4.0}
FEEDS = {"x": images(16)}


def added(keys: Sequence[str]) -> float:
    return sum(SHARES[key] for key in keys)


@pytest.mark.parametrize(
    ("bound", "quantized"), [(15, "abcd"), (14.5, "acd"), (7, "acd"), (6.9, "ac"), (1, "a"), (0.5, "")]
)
def test_layers_return_in_the_order_of_their_share(bound: float, quantized: str) -> None:
    result = meet_bound(list(SHARES), added, bound, LossRecord(None, ""), lambda done, total: None)
    assert "".join(result.quantized) == quantized
    assert result.loss == added(quantized) <= bound
    assert [key for key, _ in result.returned] == list("bdca")[: 4 - len(quantized)]


def test_a_search_goes_on_where_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "losses.json")
    calls: list[list[str]] = []

    def interrupted(keys: Sequence[str]) -> float:
        if len(calls) == 3:
            raise KeyboardInterrupt
        calls.append(list(keys))
        return added(keys)

    with pytest.raises(KeyboardInterrupt):
        meet_bound(list(SHARES), interrupted, 6.9, LossRecord(path, "s"), lambda done, total: None)
    later: list[list[str]] = []

    def evaluate(keys: Sequence[str]) -> float:
        later.append(list(keys))
        return added(keys)

    result = meet_bound(list(SHARES), evaluate, 6.9, LossRecord(path, "s"), lambda done, total: None)
    assert list(result.quantized) == ["a", "c"]
    assert not [keys for keys in later if keys in calls]
    assert LossRecord(path, "another").losses == {}


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "losses.json"
    path.write_text(json.dumps([1]))
    with pytest.raises(sx.InputError, match="resume must be a file that an earlier search wrote"):
        LossRecord(str(path), "")


def test_losses_by_hand() -> None:
    expected = [{"y": np.array([[3.0, 4.0], [0.0, 1.0]])}, {"y": np.array([[1.0, 0.0]])}]
    actual = [{"y": np.array([[4.0, 3.0], [0.0, 1.0]])}, {"y": np.array([[1.0, 0.0]])}]
    assert loss_of("mse", expected)(actual) == pytest.approx(2 / 27)
    assert loss_of("top-1", expected)(actual) == pytest.approx(1 / 3)
    assert loss_of(lambda outputs: float(np.asarray(outputs[0]["y"])[0, 1]), expected)(actual) == 1.0
    assert loss_of("mse", expected)(expected) == 0


def test_a_metric_of_floats_needs_some() -> None:
    with pytest.raises(
        sx.InputError, match="metric must be a function for a model without outputs of floats"
    ):
        loss_of("mse", [{"y": np.array([1])}])


@pytest.mark.parametrize("metric", ["mse", "top-1"])
def test_models_meet_the_bound(metric: str, tmp_path: Path) -> None:
    model = convolutional()
    exact = sx.Session(model).run(FEEDS)["y"]
    steps: list[tuple[int, int]] = []
    bound = 2e-5 if metric == "mse" else 0.0
    result = sx.quantize(
        model,
        "int8",
        data=FEEDS,
        force=True,
        rounds=0,
        accuracy=bound,
        metric=metric,
        resume=str(tmp_path / "losses"),
        progress=lambda done, total: steps.append((done, total)),
    )
    actual = sx.Session(result.model).run(FEEDS)["y"]
    if metric == "mse":
        assert np.square(actual - exact).sum() <= bound * np.square(exact).sum()
        assert 0 < len(result.report.layers) < 5 and steps[-1] == (5, 5)
        assert all("the accuracy needs it" in item.why for item in result.report.kept)
    assert (actual.argmax(axis=1) == exact.argmax(axis=1)).all()
