"""Are the values of `compile/kernels/tuning` the best ones on this machine, and those of analysis?

    OPENBLAS_NUM_THREADS=1 python bench/tuning.py [--classes x86-64-v3] [--only gemm,winograd] [--rounds 30] [--least] [--out PAGE]

Varies one field at a time around its value, for representative shapes, on one core, in a process for each class; a unit of
work is therefore seen by its overhead and its use of the caches, not by how it balances threads.  The kernels of all values run
in turn, so that a change of the processor's speed affects them alike; times are those of the processor, and their ratios
medians.  The results of the kernels are compared, too.  "Off" is by how much the chosen value, or that of the model, is slower
than the best; a choice that is more than 3 % off has been measured twice, and the smaller difference counts.

The model is that of BLIS (Low and others, 2016), from registers, caches and latency without any measurement:
`bench/tuning_model.py` has its equations.  Of a value that is one for all machines it has the smallest cache of the class.

Two choices are slower on purpose.  Images of 28 x 28 are four groups of Winograd's tiles, not two, so that four threads have
work; and the algorithm of a convolution is one for all processors, since it decides bits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from latency import BUSY_NOTE, header, line
from measure import FOLDER, stamp
from tuning_cases import ROUNDS, THRESHOLD, Result

PAGE = FOLDER.parent / "docs" / "generated" / "tuning.md"
CLASSES = "x86-64-v4-zen4,x86-64-v3"
Results = Mapping[str, Sequence[Result]]  # by class


def measure_class(name: str, arguments: Sequence[str], program: str = "tuning_cases.py") -> list[Result]:
    """Runs a program of this folder in the class; its lines are printed as they come."""
    environment, results = {**os.environ, "SARDONYX_TARGET": name}, []
    command = [sys.executable, str(FOLDER / program), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None, "the output is a pipe"
        for text in process.stdout:
            results.append(Result(**json.loads(text)))
            print(result_row(name, results[-1]), flush=True)
    if process.returncode:
        raise SystemExit(f"the measurements of {name} failed with exit code {process.returncode}")
    return results


# --- page ------------------------------------------------------------------------------------


def page(results: Results, notes: Sequence[str] = ()) -> str:
    """The tables; notes: what was measured otherwise than by default."""
    question, _, explanation = (__doc__ or "").partition("\n")
    text = explanation.partition("[--out PAGE]\n\n")[2].strip()
    analyzed, others, layers = ({}, {}, {})
    for name, measured in results.items():
        layers[name] = [result for result in measured if result.field == "winograd.cost_model"]
        fields = [result for result in measured if result.field != "winograd.cost_model"]
        analyzed[name] = [result for result in fields if result.model]
        others[name] = [result for result in fields if not result.model]
    parts = [
        "# Tuning",
        f"Written by `bench/tuning.py`. {question}",
        text,
        " ".join([stamp(), *notes]),
        summary_table(results),
        f"## Blocks and tiles\n\n{result_table(analyzed)}",
        f"## Other fields\n\n{result_table(others)}",
        f"## Algorithms of 3 x 3 convolutions\n\nThe cost model of Winograd has chosen.\n\n{result_table(layers)}",
    ]
    return "\n\n".join(parts) + "\n"


def summary_table(results: Results) -> str:
    """How far the choices and the model are off, by class, and the choices that are off by more than the threshold."""
    most = f"more than {THRESHOLD:.0%} off"
    lines = [header("class", "chosen by", "choices", "off on the average", "most off", most)]
    for name, measured in results.items():
        models = [(result, result.model) for result in measured if result.model in result.ratios]
        for who, choices in (("tables", [(result, result.choice) for result in measured]), ("model", models)):
            lines.append(line(name, who, *summary_cells(choices)))
    return "\n".join(lines)


def summary_cells(choices: Sequence[tuple[Result, str]]) -> tuple[object, ...]:
    """The cells of a row of the summary, for results with the choice in each."""
    if not choices:
        return 0, "", "", ""
    excesses = [result.excess(choice) for result, choice in choices]
    listed = [
        f"{result.field} = {choice} for {result.shape} ({excess:.1%}; best: {result.best})"
        for (result, choice), excess in zip(choices, excesses, strict=True)
        if excess > THRESHOLD
    ]
    mean = sum(excesses) / len(excesses)
    return len(choices), f"{mean:.1%}", f"{max(excesses):.1%}", "; ".join(listed) or "none"


def result_table(results: Results) -> str:
    names = (
        "field",
        "shape",
        "class",
        "chosen",
        "model",
        "best",
        "time",
        "chosen off",
        "model off",
        "times over that of the chosen",
    )
    rows = [
        (result.field, result.shape, name, result)
        for name, measured in results.items()
        for result in measured
    ]
    order = {pair: i for i, pair in enumerate(dict.fromkeys(row[:2] for row in rows))}
    ordered = sorted(rows, key=lambda row: order[row[:2]])
    return "\n".join((header(*names), *(result_row(name, result) for _, _, name, result in ordered)))


def result_row(class_name: str, result: Result) -> str:
    ratios = ", ".join(f"{name}: {ratio:.2f}" for name, ratio in result.ratios.items())
    offs = (off_text(result, choice) for choice in (result.choice, result.model))
    shown = (result.choice, result.model, result.best, f"{result.seconds * 1e3:.3g} ms")
    return line(result.field, result.shape, class_name, *shown, *offs, ratios)


def off_text(result: Result, choice: str) -> str:
    if choice not in result.ratios:
        return ""
    excess = result.excess(choice)
    return f"**{excess:.1%}**" if excess > THRESHOLD else f"{excess:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--classes", default=CLASSES, help="comma-separated (%(default)s)")
    parser.add_argument("--only", default="", help="comma-separated prefixes of fields: gemm, winograd.fused")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="%(default)s by default")
    parser.add_argument("--least", action="store_true", help="compare the shortest runs, not the medians")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page (%(default)s)")
    options = parser.parse_args()
    arguments = ["--only", options.only, "--rounds", str(options.rounds), *["--least"] * options.least]
    results = {name: measure_class(name, arguments) for name in options.classes.split(",")}
    notes = [BUSY_NOTE] if options.least else []
    notes += [f"Only fields of {options.only} were measured."] if options.only else []
    options.out.write_text(page(results, notes))
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
