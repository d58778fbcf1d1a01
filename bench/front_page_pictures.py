"""Draws the pictures of the README: `sardonyx check --fix` in a terminal, and the page of `sardonyx view` in a browser.

CHROMIUM=chromium python bench/front_page_pictures.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import sardonyx as sx
from terminal_picture import draw_terminal, run_session

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/generated/front_page"
VIEWED = ROOT.parent / "shared/models/mnist_8/model.onnx"
SIZE = "1100,640"
SCHEMES = {"light": "1", "dark": "0"}  # Chromium's numbers of the preferred color scheme
BROKEN = """<ir_version: 8, opset_import: ["": 13]>
g (float[N, 4] x) => (float[N, 3] y) <float[4, 3] w = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}> {
  y = Softmax <axis = 1, axis = 1> (a)
  a = MatMul (x, w)
}
"""
COMMANDS = (
    "sardonyx check export.onnxtxt",
    "sardonyx check --fix -o fixed.onnx export.onnxtxt",
    "sardonyx check fixed.onnx",
)


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        draw_check(Path(folder))
        draw_view(Path(folder))


def draw_check(folder: Path) -> None:
    (folder / "export.onnxtxt").write_text(BROKEN)
    program = folder / "sardonyx"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sardonyx "$@"\n')
    program.chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    os.environ["PYTHONPATH"] = str(Path(sx.__file__).parents[1])
    (PICTURES / "check.svg").write_text(draw_terminal(run_session(COMMANDS, folder)))


def draw_view(folder: Path) -> None:
    page = folder / "mnist.html"
    sx.view(VIEWED).save(page)
    for scheme, number in SCHEMES.items():
        command = [
            os.environ.get("CHROMIUM", "chromium"),
            *"--headless --no-sandbox --disable-gpu --hide-scrollbars --virtual-time-budget=5000".split(),
            f"--window-size={SIZE}",
            f"--blink-settings=preferredColorScheme={number}",
            f"--screenshot={PICTURES / f'view_{scheme}.png'}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL, timeout=120)


if __name__ == "__main__":
    main()
