"""Classify handwritten digits with `sardonyx run`: a few as text pictures, the accuracy, the latency."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
RESULT = HERE.parent.parent / ".demo"
SHADES = " .:-=+*#%@"
SHOWN = 6


def picture(image: NDArray[np.float32]) -> list[str]:
    """An image of [64] values from 0 to 16 as eight lines, two characters a pixel."""
    return [
        "".join(SHADES[min(int(v * len(SHADES) / 17), 9)] * 2 for v in row) for row in image.reshape(8, 8)
    ]


def main() -> int:
    RESULT.mkdir(exist_ok=True)
    test = np.load(HERE / "test.npz")
    np.savez(RESULT / "images.npz", image=test["image"])
    command = [
        "run",
        "examples/digits/digits.onnx",
        ".demo/images.npz",
        "-o",
        ".demo/digits.npz",
        "--repeat",
        "20",
    ]
    print("$ sardonyx", *command, flush=True)
    words = [sys.executable, "-c", "from sardonyx.cli.main import entry; entry()", *command]
    done = subprocess.run(words, cwd=HERE.parent.parent, check=False)
    if done.returncode:
        return done.returncode
    found = np.load(RESULT / "digits.npz")["digit"]
    pictures = [picture(image) for image in test["image"][:SHOWN]]
    for lines in zip(*pictures, strict=True):
        print("  " + "   ".join(lines))
    print(
        "  "
        + "   ".join(
            f"seen as {d}, is {t}".ljust(16) for d, t in zip(found, test["digit"][:SHOWN], strict=False)
        )
    )
    right = int((found == test["digit"]).sum())
    print(
        f"{right} of {len(found)} digits right ({right / len(found):.1%}); the latency above is for all of them at once"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
