"""Trains the digits model as `make demo` does, with the test images as validation data, and writes its curves to docs/generated.

python bench/digits.py
"""

from __future__ import annotations

import runpy

import numpy as np

from example_runs import ROOT, epochs_table, run_example, write_page

EXAMPLE = ROOT / "examples/digits"


def main() -> None:
    train = str(runpy.run_path(str(EXAMPLE / "demo.py"))["TRAIN"])
    run = run_example("-m", "sardonyx", *train.split(), "--validation", "examples/digits/test.npz")
    counts = {name: len(np.load(EXAMPLE / f"{name}.npz")["digit"]) for name in ("train", "test")}
    last = run.epochs[-1]
    lines = [
        "# Handwritten digits",
        "",
        f"Written by `bench/digits.py`: the command of `make demo` trains a classifier from nothing on {counts['train']:,} images,",
        f"{run.steps} steps of 64 in {run.seconds:.1f} seconds, start, compilation and the tests after each epoch included. The {counts['test']} images of the test",
        "change nothing in the run. The demo has none: it writes the model of the last epoch, which reads",
        f"{last['validation_accuracy']:.1%} of them.",
        "",
        *epochs_table(run, "test"),
        "",
        "![loss and accuracy over epochs](digits.svg)",
    ]
    write_page("digits", run, lines)


if __name__ == "__main__":
    main()
