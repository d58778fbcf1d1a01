"""The tables of the benchmark of training steps, from results that are kept in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from test_zoo import import_benchmark


def test_the_geometric_mean_is_of_the_ratios_to_the_better_peer() -> None:
    training = import_benchmark("training")
    results = {
        "sardonyx": training.Result(2.0, 10**6),
        "eager": training.Result(8.0, 2 * 10**6),
        "compiled": training.Result(6.0, 3 * 10**6),
    }
    assert training.ratio(results) == 3.0
    assert training.ratio({"sardonyx": results["sardonyx"]}) is None
    assert training.times_row("n", 2, results) == "| n | 2 | 2.00 | 8.00 | 6.00 | 3.00 | 1 / 2 / 3 |"


def test_kept_results_are_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training, state = import_benchmark("training"), import_benchmark("training_state")
    monkeypatch.setattr(state, "STATE", str(tmp_path))
    for name, own in (("a", 1.0), ("b", 4.0)):
        engines = {"sardonyx": own, "eager": 8.0, "compiled": 8.0}
        kept = {engine: {"milliseconds": ms, "bytes": 0} for engine, ms in engines.items()}
        (tmp_path / f"times_{name}_1.json").write_text(json.dumps(kept))
    *_, mean = training.times_table(("a", "b"), [1])
    assert mean == "| geometric mean of 2 | 1 | | | | 4.00 | |"  # of 8 and 2


def test_losses_differ_by_the_largest_of_the_steps() -> None:
    accuracy = import_benchmark("training_accuracy")
    assert accuracy.largest_difference([2.0, 3.0], [2.0, 4.0]) == 0.25
    assert accuracy.largest_difference([], [1.0]) == np.inf


def test_errors_are_relative_and_at_least_a_unit_in_the_last_place() -> None:
    relative_error = import_benchmark("training_accuracy").relative_error
    exact = np.array([3.0, 4.0])
    assert relative_error(np.array([3.0, 4.5], np.float32), exact) == 0.1
    assert relative_error(exact.astype(np.float32), exact) == 2.0**-24


def test_examples_are_reversed_with_all_of_their_classes() -> None:
    reverse_examples = import_benchmark("training_engines").reverse_examples
    assert reverse_examples(np.array([1, 2, 3]), 3).tolist() == [3, 2, 1]
    assert reverse_examples(np.array([1, 2, 3, 4]), 2).tolist() == [3, 4, 1, 2]
