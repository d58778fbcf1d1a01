"""Runs of `fit`: results, resumption, files, and data that cannot be trained on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.train.fit.crc32c import crc32c, masked_crc32c
from sardonyx._src.train.fit.metrics_log import EVENTS, JSON_LINES
from sardonyx.train import SGD, FitResult, TrainingStatus, fit, prepare, without_training
from train.classification import classifier, task
from train.event_reader import read_scalars
from train.linear_model import T, X, linear_model

DATA = task()
OPTIONS = {"epochs": 6, "batch_size": 16, "initialize": True, "engine": "reference"}


def run(folder: Path | None = None, model: sx.Model | None = None, **options: object) -> FitResult:
    arguments = {**OPTIONS, "folder": folder, **options}
    return fit(model or classifier(dropout=True), DATA, **arguments)  # type: ignore[arg-type]


def bits(model: sx.Model) -> dict[str, bytes]:
    """The initializers of a model and of its training step."""
    graphs = [model.graph, *(s.algorithm for s in model.training if s.algorithm is not None)]
    tensors = [v.initializer for graph in graphs for v in graph.initializers.values()]
    return {t.name: t.numpy().tobytes() for t in tensors if t is not None}


def metrics(result: FitResult) -> list[object]:
    return [(r.epoch, r.step, r.metrics, r.validation) for r in result.history]


def test_the_loss_falls_and_the_accuracy_rises() -> None:
    result = fit(
        classifier(), DATA, epochs=20, batch_size=16, initialize=True, validation=0.2, engine="reference"
    )
    first, last = result.history[0], result.history[-1]
    assert last.metrics["loss"] < 0.3 * first.metrics["loss"]
    assert last.validation["accuracy"] > 0.9
    assert last.step == 20 * 5  # 72 examples remain for training
    y = sx.Session(result.model, engine="reference").run({"x": DATA["x"]})["y"]
    assert (np.asarray(y).argmax(1) == DATA["target"]).mean() > 0.9
    assert result.model.training == [] and "ai.onnx.preview.training" not in result.model.opset_imports
    assert not any(key.startswith("sardonyx.train") for key in result.model.metadata)


def test_epoch_metrics_are_means_over_examples() -> None:
    """90 examples in batches of 40 are 40, 40 and 10."""
    result = fit(
        prepare(linear_model(), loss="mse", optimizer=SGD(rate=0)),
        {"x": np.tile(X, (6, 1))[:90], "target": np.tile(T, (6, 1))[:90]},
        epochs=1,
        batch_size=40,
        engine="reference",
    )
    w = [v.initializer for v in linear_model().graph.initializers.values()]
    assert w[0] is not None and w[1] is not None
    errors = (np.tile(X, (6, 1))[:90] @ w[0].numpy() + w[1].numpy() - np.tile(T, (6, 1))[:90]) ** 2
    assert result.history[0].metrics["loss"] == pytest.approx(errors.mean(), rel=1e-9)


def test_equal_seeds_have_equal_bits_and_others_do_not() -> None:
    assert bits(run().checkpoint) == bits(run().checkpoint)
    assert bits(run(seed=1).checkpoint) != bits(run(seed=2).checkpoint)


class Stop(Exception):
    pass


@pytest.mark.parametrize("steps", [1, 6, 7, 17])
def test_a_run_that_ends_at_any_step_is_resumed_to_equal_bits(tmp_path: Path, steps: int) -> None:
    """Dropout masks, the order of the examples, the optimizer and the metrics continue as they would have."""

    def stop(status: TrainingStatus) -> None:
        if status.step == steps and status.record is None:
            raise Stop

    whole = run(tmp_path / "whole", validation=0.2, patience=4)
    with pytest.raises(Stop):
        run(tmp_path / "parts", validation=0.2, patience=4, report=stop, checkpoint_seconds=0)
    parts = run(tmp_path / "parts", validation=0.2, patience=4)
    assert bits(parts.checkpoint) == bits(whole.checkpoint)
    assert bits(parts.model) == bits(whole.model)
    assert metrics(parts) == metrics(whole)
    assert parts.best_epoch == whole.best_epoch
    entries = [
        [json.loads(line) for line in (tmp_path / name / JSON_LINES).read_text().splitlines()]
        for name in ("whole", "parts")
    ]
    for entry in (*entries[0], *entries[1]):
        entry.pop("seconds", None)
    assert entries[0] == entries[1]
    assert read_scalars(tmp_path / "whole" / EVENTS) == read_scalars(tmp_path / "parts" / EVENTS)


KILLED = """
import sys
from train.classification import classifier, task
from sardonyx.train import fit
def report(status):
    print(status.step, flush=True)
fit(classifier(dropout=True), task(), epochs=6, batch_size=16, initialize=True, engine="reference",
    folder=sys.argv[1], checkpoint_seconds=0.0, report=report)
"""


@pytest.mark.skipif(os.name == "nt", reason="the test sends SIGKILL")
def test_a_killed_process_is_resumed_to_equal_bits(tmp_path: Path) -> None:
    """The process is killed at some moment of its 15th step or after, mostly while it writes a checkpoint."""
    whole = run()
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    paths = os.pathsep.join(["tests", str(Path(sx.__file__).parents[1])])
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) >= 15:
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    process.stdout.close()
    assert (tmp_path / "last.onnx").exists()
    resumed = run(tmp_path)
    assert bits(resumed.checkpoint) == bits(whole.checkpoint)
    assert metrics(resumed) == metrics(whole)


@pytest.mark.skipif(os.name == "nt", reason="the test sends SIGKILL")
def test_a_run_that_is_killed_again_and_again_ends_with_equal_bits(tmp_path: Path) -> None:
    """Each process is killed some milliseconds after some of its steps, at random."""
    whole, draw = run(), np.random.default_rng(9)
    paths = os.pathsep.join(["tests", str(Path(sx.__file__).parents[1])])
    for _ in range(5):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": paths},
        )
        assert process.stdout is not None
        for _ in range(int(draw.integers(1, 8))):
            process.stdout.readline()
        time.sleep(draw.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
    resumed = run(tmp_path)
    assert bits(resumed.checkpoint) == bits(whole.checkpoint)
    assert metrics(resumed) == metrics(whole)


def test_a_finished_run_is_not_repeated_and_can_be_continued(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", epochs=6)
    run(tmp_path / "parts", epochs=2)
    seen: list[int] = []
    run(tmp_path / "parts", epochs=2, report=lambda status: seen.append(status.step))
    assert seen == []
    assert bits(run(tmp_path / "parts", epochs=6).checkpoint) == bits(whole.checkpoint)


@pytest.mark.parametrize(
    ("options", "name"),
    [({"seed": 5}, "seed"), ({"batch_size": 8}, "batch_size"), ({"validation": 0.1}, "data")],
)
def test_a_folder_with_another_run_is_refused(tmp_path: Path, options: dict[str, object], name: str) -> None:
    run(tmp_path, epochs=1)
    with pytest.raises(sx.InputError, match=f"folder must have a run with the same {name}"):
        run(tmp_path, None, epochs=1, **options)
    assert len(run(tmp_path, None, epochs=1, resume=False, **options).history) == 1


def test_a_checkpoint_is_a_training_model_without_findings_above_info(tmp_path: Path) -> None:
    run(tmp_path, epochs=1, validation=0.2)
    for name in ("last.onnx", "best.onnx"):
        assert [d for d in sx.check(tmp_path / name).diagnostics if d.severity == "error"] == []
        assert sx.TrainingSession(tmp_path / name, engine="reference").steps == 1


def test_the_best_epoch_is_kept_and_patience_ends_the_run(tmp_path: Path) -> None:
    """With a rate this large the loss of a linear model grows from its first epoch on."""
    model = prepare(linear_model(), loss="mse", optimizer=SGD(rate=20.0))
    data = {"x": X, "target": T}
    for folder in (None, tmp_path):
        result = fit(
            model,
            data,
            validation=data,
            epochs=50,
            batch_size=16,
            patience=3,
            engine="reference",
            folder=folder,
        )
        losses = [record.validation["loss"] for record in result.history]
        assert losses == sorted(losses)
        assert result.best_epoch == 1 and len(losses) == 4 and result.stopped_early
        y = np.asarray(sx.Session(result.model, engine="reference").run({"x": X})["y"])
        assert ((y - T) ** 2).mean() == pytest.approx(losses[0], rel=1e-9)


def test_a_diverging_run_keeps_its_last_good_checkpoint(tmp_path: Path) -> None:
    model = prepare(linear_model(), loss="mse", optimizer=SGD(rate=1e30))
    with pytest.raises(
        sx.TrainingDiverged, match=r"epoch \d+, step \d+: .* lower the learning rate"
    ) as caught:
        fit(model, {"x": X, "target": T}, epochs=50, batch_size=16, engine="reference", folder=tmp_path)
    assert caught.value.step > 1
    checkpoint = sx.load(tmp_path / "last.onnx")
    for value in checkpoint.graph.initializers.values():
        assert value.initializer is not None and np.isfinite(value.initializer.numpy()).all()


@pytest.mark.parametrize("name", ["data", "validation"])
def test_numbers_that_are_not_finite_are_named(tmp_path: Path, name: str) -> None:
    bad = {**DATA, "x": DATA["x"].copy()}
    bad["x"][17, 2] = np.nan
    data, validation = (bad, None) if name == "data" else (DATA, bad)
    with pytest.raises(
        sx.TrainingDiverged, match=r"loss must be finite; got nan, and input 'x' is nan in example 17;"
    ):
        fit(classifier(), data, validation=validation, epochs=1, engine="reference", folder=tmp_path)


def test_metrics_are_written_as_json_lines_and_events(tmp_path: Path) -> None:
    result = run(tmp_path, epochs=5, validation=0.2)
    lines = [json.loads(line) for line in (tmp_path / JSON_LINES).read_text().splitlines()]
    epochs = [line for line in lines if line["kind"] == "epoch"]
    assert [line["epoch"] for line in epochs] == [1, 2, 3, 4, 5]
    for line, record in zip(epochs, result.history, strict=True):
        assert (line["loss"], line["accuracy"]) == (record.metrics["loss"], record.metrics["accuracy"])
        assert line["validation_loss"] == record.validation["loss"]
    assert [line["step"] for line in lines if line["kind"] == "step"] == [10, 20]
    events = read_scalars(tmp_path / EVENTS)
    assert [step for step, _ in events] == [line["step"] for line in lines]
    for (_, scalars), line in zip(events, lines, strict=True):
        for tag, number in scalars.items():
            kind, name = tag.split("/")
            assert line["kind"] == kind and line[name] == pytest.approx(number, rel=1e-6)


def test_the_checksum_is_that_of_the_rfc() -> None:
    """RFC 3720, appendix B.4."""
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43
    assert crc32c(bytes(range(32))) == 0x46DD794E
    assert crc32c(b"123456789") == 0xE3069283
    assert masked_crc32c(b"123456789") == ((0xE3069283 >> 15 | 0xE3069283 << 17) + 0xA282EAD8) % 2**32


def test_the_curves_are_a_picture_of_every_metric(tmp_path: Path) -> None:
    result = run(tmp_path, validation=0.2)
    root = ElementTree.fromstring((tmp_path / "curves.svg").read_text())
    name = "{http://www.w3.org/2000/svg}"
    lines = root.findall(f".//{name}polyline")
    assert len(lines) == 4  # training and validation, of the loss and of the accuracy
    for line in lines:
        assert len(line.get("points", "").split()) == len(result.history)
    texts = [element.text for element in root.iter(f"{name}text")]
    assert {"loss", "accuracy", "training", "validation", "epoch"} <= set(texts)
    losses = [float(point.split(",")[1]) for point in lines[0].get("points", "").split()]
    expected = [record.metrics["loss"] for record in result.history]
    assert np.argsort(losses).tolist() == np.argsort(expected).tolist()[::-1]  # pixels count downwards


def test_the_status_tells_metrics_speed_and_time_left() -> None:
    seen: list[TrainingStatus] = []
    run(epochs=2, report=seen.append)
    assert [(s.epoch, s.batch) for s in seen if s.record is None] == [
        (e, b) for e in (1, 2) for b in range(1, 7)
    ]
    assert all(s.epochs == 2 and s.batches == 6 for s in seen)
    assert all(s.examples_per_second > 0 and s.seconds_left is not None for s in seen)
    assert [s.record.epoch for s in seen if s.record is not None] == [1, 2]


def with_column(name: str, values: object) -> dict[str, object]:
    return {**DATA, name: values}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            with_column("target", DATA["target"] + 1),
            r"labels in 'target' of data must be in 0 to 2; got 3 in example 2 \(and 29 more\)",
        ),
        (with_column("target", -DATA["target"]), r"must be in 0 to 2; got -1 in example 1"),
        (with_column("target", DATA["target"][:-1]), r"data must have one length; got 'x' 90, 'target' 89"),
        (
            with_column("target", DATA["target"].astype(np.float32)),
            r"column 'target' of data must be int64; got float32",
        ),
        (
            with_column("x", DATA["x"][:, :3]),
            r"column 'x' of data must have the shape \[N,4\]; got \[90, 3\]",
        ),
        (with_column("x", np.float32(3)), r"column 'x' of data must have an axis of examples"),
        (
            {"x": DATA["x"], "label": DATA["target"]},
            r"data must have a column for input 'target'; the columns are 'label', 'x'",
        ),
        (
            with_column("target", DATA["target"].astype(np.uint64) + (1 << 63)),
            r"column 'target' of data must be int64; got 9223372036854775808",
        ),
        ({name: values[:0] for name, values in DATA.items()}, r"data must have at least one example; got 0"),
        ("nowhere.npz", r"nowhere.npz must be a .npz file, a table .* or a folder; it does not exist"),
        (3, r"data must be arrays by name, or a path; got int"),
    ],
)
def test_data_that_do_not_fit_are_refused(data: object, message: str, tmp_path: Path) -> None:
    with pytest.raises((sx.InputError, TypeError), match=message):
        fit(classifier(), data, folder=tmp_path)  # type: ignore[arg-type]
    assert not (tmp_path / "last.onnx").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1; got 0"),
        ({"batch_size": "x"}, "batch_size must be an integer; got str"),
        ({"validation": 1.0}, "validation must be a share below 1"),
        ({"validation": -0.5}, "validation must be a number > 0"),
        ({"monitor": "accurracy"}, "got 'accurracy'; did you mean 'accuracy'?"),
        ({"seed": -1}, "seed must be in 0 to 4294967295; got -1"),
        ({"patience": 0}, "patience must be at least 1; got 0"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises((sx.InputError, TypeError), match=message.replace("?", r"\?")):
        run(**options)  # type: ignore[arg-type]


def test_a_model_without_training_information_is_refused() -> None:
    with pytest.raises(sx.InputError, match=r"it has none: sx.train.prepare adds it"):
        fit(without_training(classifier()), DATA)


def test_evaluation_is_in_inference_mode_and_changes_nothing() -> None:
    session = sx.TrainingSession(classifier(dropout=True), engine="reference")
    session.initialize()
    before = dict(session.state)
    first, second = (session.evaluate(DATA)["loss"] for _ in range(2))
    np.testing.assert_array_equal(np.asarray(first), np.asarray(second))
    scores = np.asarray(session.infer({"x": DATA["x"]})["y"]).astype(np.float64)
    log_p = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    expected = -log_p[np.arange(90), DATA["target"]].mean()
    assert float(np.asarray(first)) == pytest.approx(expected, rel=1e-5)
    assert all(session.state[name] is value for name, value in before.items())
