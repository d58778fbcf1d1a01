"""Trains the character model of examples/characters, and writes its curves and its text to docs/generated.

python bench/characters.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE, CURVES = ROOT / "docs/generated/characters.md", ROOT / "docs/generated/characters.svg"
EPOCHS = 10


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "examples/characters/train.py",
            "--epochs",
            str(EPOCHS),
            "--folder",
            folder,
        ]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        seconds = time.perf_counter() - start
        CURVES.write_text((Path(folder) / "curves.svg").read_text("utf-8"), "utf-8")
        lines = [
            json.loads(line) for line in (Path(folder) / "metrics.jsonl").read_text("utf-8").splitlines()
        ]
    epochs = [line for line in lines if line["kind"] == "epoch"]
    PAGE.write_text(page(epochs, seconds, done.stdout), "utf-8")


def page(epochs: list[dict[str, float]], seconds: float, text: str) -> str:
    """The page: numbers of each epoch, the picture, and the text that the model wrote."""
    rows = [
        f"| {e['epoch']} | {e['loss']:.3f} | {e['accuracy']:.1%} | {e['validation_loss']:.3f} | {e['validation_accuracy']:.1%} |"
        for e in epochs
    ]
    return "\n".join(
        [
            "# A language model of characters",
            "",
            "Written by `bench/characters.py`: `examples/characters/train.py` trains from nothing on the documents of this repository,",
            f"{epochs[-1]['step']} steps of 256 examples in {seconds:.0f} seconds, compilation and text included. The last twentieth of the text is held out.",
            "",
            "| epoch | loss | right | loss, held out | right, held out |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "![loss and accuracy over epochs](characters.svg)",
            "",
            "What the model writes after the first 24 characters:",
            "",
            *(f"    {line}" for line in text.rstrip().splitlines()),
            "",
        ]
    )


if __name__ == "__main__":
    main()
