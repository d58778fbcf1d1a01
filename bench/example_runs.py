"""Runs of the training examples for pages in docs/generated: their metrics by epoch, their curves and what they print."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GENERATED = ROOT / "docs/generated"


@dataclass(frozen=True)
class ExampleRun:
    """An example that has trained with validation data.  epochs: the lines of its metrics file.  curves: as SVG."""

    epochs: list[dict[str, float]]
    seconds: float
    curves: str
    printed: str

    @property
    def steps(self) -> int:
        return int(self.epochs[-1]["step"])


def run_example(*arguments: str) -> ExampleRun:
    """Runs this Python from the root of the repository, with `--folder` for the files of the run."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, *arguments, "--folder", folder]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - start
        lines = (Path(folder) / "metrics.jsonl").read_text("utf-8").splitlines()
        curves = (Path(folder) / "curves.svg").read_text("utf-8")
    epochs = [line for line in map(json.loads, lines) if line["kind"] == "epoch"]
    return ExampleRun(epochs, seconds, curves, done.stdout)


def epochs_table(run: ExampleRun, held_out: str) -> list[str]:
    """Loss and share of right answers by epoch; held_out: what the validation data are called."""
    rows = [
        f"| {e['epoch']} | {e['loss']:.3f} | {e['accuracy']:.1%} | {e['validation_loss']:.3f} | {e['validation_accuracy']:.1%} |"
        for e in run.epochs
    ]
    return [f"| epoch | loss | right | loss, {held_out} | right, {held_out} |", "|---" * 5 + "|", *rows]


def write_page(name: str, run: ExampleRun, lines: Sequence[str]) -> None:
    """Writes `name`.md and the curves, `name`.svg."""
    (GENERATED / f"{name}.svg").write_text(run.curves, "utf-8")
    (GENERATED / f"{name}.md").write_text("\n".join([*lines, ""]), "utf-8")
