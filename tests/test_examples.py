"""The examples run, the digits with the accuracy that the README promises."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx

ROOT = Path(__file__).resolve().parent.parent


def test_the_demo_trains_and_shows_digits_accuracy_and_latency() -> None:
    command = [sys.executable, "-W", "error", "examples/digits/demo.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(r"epoch 24 of 24: loss [0-9.]+, accuracy", done.stderr)
    assert re.search(r"20 runs: median [0-9.]+ ms", done.stderr)
    right, total = map(int, re.findall(r"(\d+) of (\d+) digits right", done.stdout)[0])
    assert total >= 300
    assert right / total >= 0.97
    assert done.stdout.count("seen as") == 6
    assert len(re.findall(r"^  [ .:\-=+*#%@]{16}", done.stdout, re.M)) == 8  # lines of a picture


def test_the_training_images_are_not_those_of_the_test() -> None:
    train, test = (np.load(ROOT / f"examples/digits/{name}.npz") for name in ("train", "test"))
    assert train["image"].shape == (1437, 64) and test["image"].shape == (360, 64)
    assert train["image"].max() == 16 and set(train["digit"]) == set(range(10))
    known = {row.tobytes() for row in train["image"]}
    assert not any(row.tobytes() in known for row in test["image"].astype(np.uint8))


def test_the_model_says_how_sure_it_is() -> None:
    test = np.load(ROOT / "examples/digits/test.npz")
    out = sx.Session(ROOT / "examples/digits/digits.onnx").run({"image": test["image"]})
    probability = out["probability"]
    assert isinstance(probability, np.ndarray)
    np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-5)
    assert np.array_equal(probability.argmax(axis=1), np.asarray(out["digit"]))


def test_the_character_model_learns_and_writes(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-W",
        "error",
        "examples/characters/train.py",
        "--epochs",
        "2",
        "--limit",
        "12000",
        "--out",
        str(tmp_path / "characters"),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    losses = [float(loss) for loss in re.findall(r"held-out text loss ([0-9.]+)", done.stderr)]
    assert len(losses) == 2 and losses[1] < losses[0] < 4.5
    assert len(done.stdout) > 300
    generator = sx.Generator(tmp_path / "characters")  # reads 24 characters at a time
    text = generator.generate(done.stdout[:24], max_tokens=300, temperature=0.5).text
    assert done.stdout == f"{done.stdout[:24]}{text}\n"
    with pytest.raises(sx.InputError, match="the prompt must have at least 24 tokens"):
        generator.generate("short")
