"""Train a classifier of handwritten digits with `sardonyx train`, and run it with `sardonyx run`.

Prints the progress, some images of the test as text, the accuracy and the latency.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
RESULT = HERE.parent.parent / ".demo"
SHADES = " .:-=+*#%@"
TRAIN = (
    "train examples/digits/digits.onnx --data examples/digits/train.npz --column digit=target --initialization he_normal "
    "--optimizer adamw --rate 3e-3 --weight-decay 0.05 --schedule cosine --epochs 24 --batch 64 --seed 2"
)
WRITE = "-o .demo/digits.onnx"
RUN = "run .demo/digits.onnx .demo/images.npz -o .demo/digits.npz --repeat 20"
SHOWN = (0, 2, 3, 4, 7, 9)  # digits of which the first image is drawn


def picture(image: NDArray[np.float32]) -> list[str]:
    """An image of [64] values from 0 to 16 as eight lines, two characters per pixel."""
    return [
        "".join(SHADES[min(int(v * len(SHADES) / 17), 9)] * 2 for v in row) for row in image.reshape(8, 8)
    ]


def call(command: str) -> int:
    """Shows and runs a command line of Sardonyx; returns its exit code."""
    print("$ sardonyx", command, flush=True)
    words = [sys.executable, "-m", "sardonyx", *command.split()]
    return subprocess.run(words, cwd=HERE.parent.parent, check=False).returncode


def main() -> int:
    RESULT.mkdir(exist_ok=True)
    test = np.load(HERE / "test.npz")
    np.savez(RESULT / "images.npz", image=test["image"])
    for command in (f"{TRAIN} {WRITE}", RUN):
        code = call(command)
        if code:
            return code
    predicted, labels = np.load(RESULT / "digits.npz")["digit"], test["digit"]
    shown = [int(np.flatnonzero(labels == digit)[0]) for digit in SHOWN]
    print()
    for lines in zip(*(picture(test["image"][i]) for i in shown), strict=True):
        print("  " + "   ".join(lines))
    print("  " + "   ".join(f"seen as {predicted[i]}, is {labels[i]}".ljust(16) for i in shown))
    right = int((predicted == labels).sum())
    print(
        f"\n{right} of {len(predicted)} digits right ({right / len(predicted):.1%}), none of which was trained on; each run "
        "above took all of them at once"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
