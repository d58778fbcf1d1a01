"""`sardonyx train`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.cli.main import main
from sardonyx._src.cli.output.training_progress import duration
from sardonyx.train import without_training
from train.classification import classifier, task

DATA = task()
FAST = ["--engine", "reference", "--epochs", "3"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an inference model, a training model and data, which is the current one."""
    sx.save(without_training(classifier()), tmp_path / "m.onnx")
    sx.save(classifier(), tmp_path / "training.onnx")
    np.savez(tmp_path / "train.npz", x=DATA["x"], target=DATA["target"])
    np.savez(tmp_path / "other.npz", points=DATA["x"], classes=DATA["target"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_an_inference_model_is_prepared_and_trained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "--validation 0.2 --optimizer adamw --rate 0.05 --initialization he_normal --schedule cosine --warm-up 5 --epochs 15".split()
    command = ["train", "m.onnx", "--data", "train.npz", "-o", "out.onnx", "--engine", "reference", *options]
    assert main(command) == 0
    streams = capsys.readouterr()
    lines = streams.err.splitlines()
    assert (
        len(lines) == 15 and lines[0].startswith("epoch 1 of 15: loss ") and "; validation loss " in lines[0]
    )
    assert streams.out.startswith("epoch ") and "\nwritten: out.onnx (" in streams.out
    y = sx.Session("out.onnx", engine="reference").run({"x": DATA["x"]})["y"]
    assert (np.asarray(y).argmax(1) == DATA["target"]).mean() > 0.9
    assert sx.load("out.onnx").training == []


def test_a_training_model_is_trained_as_it_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["train", "training.onnx", "--data", "train.npz", "--checkpoint", "c.onnx", "--json", *FAST])
        == 0
    )
    streams = capsys.readouterr()
    assert streams.err.startswith("written: c.onnx (")
    facts = json.loads(streams.out)
    assert facts["epochs"] == 3 and facts["steps"] == 9 and facts["best_epoch"] == 3
    assert facts["stopped_early"] is False and set(facts["metrics"]) == {"loss", "accuracy"}
    assert sx.TrainingSession("c.onnx", engine="reference").state["train_updates"] == 9


def test_the_same_command_continues_and_another_one_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["train", "m.onnx", "--data", "train.npz", "--folder", "run", *FAST]
    assert main(command) == 0
    assert {p.name for p in Path("run").iterdir()} == {
        "last.onnx",
        "metrics.jsonl",
        "events.out.tfevents.0.sardonyx",
        "curves.svg",
        "curves.png",
    }
    capsys.readouterr()
    assert main(command) == 0
    assert capsys.readouterr().err == ""  # nothing is left to do
    assert main([*command, "--batch", "8"]) == 2
    assert "folder must have a run with the same batch_size" in capsys.readouterr().err
    assert main([*command, "--batch", "8", "--restart"]) == 0


def test_columns_are_renamed(folder: Path) -> None:
    command = [
        "train",
        "m.onnx",
        "--data",
        "other.npz",
        "--column",
        "points=x",
        "--column",
        "classes=target",
        *FAST,
    ]
    assert main([*command, "-o", "out.onnx"]) == 0


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["m.onnx", "--data", "train.npz"], 2, "train requires -o, --checkpoint or --folder"),
        (["m.onnx", "--data", "other.npz", "-o", "o.onnx"], 2, "data must have a column for input 'x'"),
        (["m.onnx", "--data", "no.npz", "-o", "o.onnx"], 2, "no.npz must be a .npz file, a table"),
        (["training.onnx", "--data", "train.npz", "-o", "o.onnx", "--loss", "nll"], 2, "--loss is for models without"),
        (["m.onnx", "--data", "train.npz", "-o", "o.onnx", "--column", "q=x"], 2, "has no column 'q'"),
        (["m.onnx", "--data", "train.npz", "-o", "o.onnx", "--epochs", "0"], 2, "epochs must be at least 1"),
        (["no.onnx", "--data", "train.npz", "-o", "o.onnx"], 2, "no.onnx"),
        (
            ["m.onnx", "--data", "train.npz", "-o", "o.onnx", "--optimizer", "sgd", "--rate", "1e30",
             "--initialization", "he_normal", "--engine", "reference"],
            1,
            "lower the learning rate",
        ),
    ],
)  # fmt: skip
def test_mistakes_are_reported(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, message: str
) -> None:
    assert main(["train", *options]) == code
    assert message in capsys.readouterr().err
    assert not Path("o.onnx").exists()


def test_durations() -> None:
    assert [duration(s) for s in (5, 65, 3725)] == ["0:05", "1:05", "1:02:05"]


def test_adapters_are_trained_and_merged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session = sx.TrainingSession(classifier(), engine="reference")
    session.initialize()
    sx.save(without_training(session.checkpoint()), "m.onnx")
    options = "--adapters 2 --adapter-alpha 4 --rate 0.05 --clip-value 0.5 --group *_b:rate_factor=2 --epochs 5".split()
    command = [
        "train",
        "m.onnx",
        "--data",
        "train.npz",
        "-o",
        "tuned.onnx",
        "--engine",
        "reference",
        *options,
    ]
    assert main(command) == 0
    tuned, original = sx.load("tuned.onnx"), sx.load("m.onnx")
    weights = {name: v.initializer for name, v in original.graph.initializers.items()}
    assert all(
        np.array_equal(tuned.graph.initializers[name].initializer.numpy(), tensor.numpy())  # type: ignore[union-attr]
        for name, tensor in weights.items()
    )
    assert main(["merge-adapters", "tuned.onnx", "-o", "merged.onnx", "--json"]) == 0
    assert '"adapters": ' in capsys.readouterr().out
    merged = sx.load("merged.onnx")
    assert sorted(merged.graph.initializers) == sorted(original.graph.initializers) and not merged.functions
    feeds = {"x": DATA["x"]}
    first, second = (sx.Session(m, engine="reference").run(feeds)["y"] for m in ("tuned.onnx", "merged.onnx"))
    np.testing.assert_allclose(second, first, rtol=1e-4, atol=1e-5)
    before = sx.Session(original, engine="reference").run(feeds)["y"]
    assert not np.allclose(first, before)
    assert main(["merge-adapters", "m.onnx", "-o", "merged.onnx"]) != 0
    assert "the model must have adapters" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--group", "w*"], "--group must be PATTERN:rate_factor=F"),
        (["--group", "w*:rate_factor=x"], "--group must be PATTERN:rate_factor=F"),
        (["--adapter-alpha", "2"], "require --adapters"),
    ],
)
def test_preparation_options_that_do_not_fit(
    folder: Path, capsys: pytest.CaptureFixture[str], option: list[str], message: str
) -> None:
    assert main(["train", "m.onnx", "--data", "train.npz", "-o", "o.onnx", *FAST, *option]) != 0
    assert message in capsys.readouterr().err
