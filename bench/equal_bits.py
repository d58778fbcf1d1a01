"""What do equal bits on all classes of processors cost?

    OPENBLAS_NUM_THREADS=1 python bench/equal_bits.py [--classes x86-64-v3] [--only fields] [--rounds 30] [--medians] [--out PAGE]

Each row is a choice that equal bits have made (`docs/reproducibility.md`), and what a class could do instead: kernels with the
choice, and kernels without it, run in turn on one core, in a process for each class.  Times are those of the processor.
The cost is by how much the kernel with equal bits takes longer; below zero, the other one does.

Fields decide the order of a sum, and are one value for all classes: the cost is that beside the best value of the class.  So it
is with the algorithm of a convolution, whose other choices are slower or faster by class.

Attention adds in 16 partial sums, too, and has no kernels with others: when it had, decoding took 1 to 4 % less as AVX2 code.

Not in the table, since no class would do otherwise: fused multiply-adds, which all of these classes have; the conversions of
float16 and bfloat16, which are one instruction or the same integer operations; the order of terms in products of bfloat16,
which is that of the instruction; and NaN, whose bits are left to the processor.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from equal_bits_cases import EQUAL, OWN
from equal_bits_choices import choices
from latency import BUSY_NOTE, header, line
from measure import FOLDER, stamp
from tuning import CLASSES, measure_class
from tuning_cases import ROUNDS, Result

PAGE = FOLDER.parent / "docs" / "generated" / "equal_bits.md"
OTHERS = {choice.name: choice.other for choice in choices()}
BEST = "the best value of the class"
Results = Mapping[str, Sequence[Result]]  # by class


def cost(result: Result) -> float:
    """By which share the kernel with equal bits takes longer than that of the class's own; 0 where they are the same."""
    if result.choice == EQUAL:
        return 1 / result.ratios.get(OWN, 1.0) - 1
    return result.excess(result.choice)


def page(results: Results, notes: Sequence[str] = ()) -> str:
    question, _, explanation = (__doc__ or "").partition("\n")
    parts = [
        "# The cost of equal bits",
        f"Written by `bench/equal_bits.py`. {question}",
        explanation.partition("[--out PAGE]\n\n")[2].strip(),
        " ".join([stamp(), *notes]),
        summary_table(results),
        f"## Choices\n\n{table(results)}",
    ]
    return "\n\n".join(parts) + "\n"


def summary_table(results: Results) -> str:
    """The mean cost of each choice by class."""
    lines = [header("choice", *(f"{name}: mean cost" for name in results))]
    for field in dict.fromkeys(result.field for measured in results.values() for result in measured):
        means = (
            [cost(result) for result in measured if result.field == field] for measured in results.values()
        )
        lines.append(
            line(field, *(f"{statistics.fmean(costs):+.1%}" if costs else "none" for costs in means))
        )
    return "\n".join(lines)


def table(results: Results) -> str:
    rows = [
        (result.field, result.shape, name, result)
        for name, measured in results.items()
        for result in measured
    ]
    order = {pair: i for i, pair in enumerate(dict.fromkeys(row[:2] for row in rows))}
    lines = [header("choice", "instead", "kernel", "class", "time", "cost")]
    for field, shape, name, result in sorted(rows, key=lambda row: order[row[:2]]):
        lines.append(line(field, instead(result), shape, name, *cells(result)))
    return "\n".join(lines)


def instead(result: Result) -> str:
    if result.best == result.choice and result.field not in OTHERS:
        return f"nothing: {result.choice} is the best"
    return OTHERS.get(result.field) or f"{result.best} instead of {result.choice}"


def cells(result: Result) -> Iterator[str]:
    """The time with equal bits, and what they cost."""
    yield "" if math.isnan(result.seconds) else f"{result.seconds * 1e3:.3g} ms"
    yield "none: the same kernel" if len(result.ratios) == 1 else f"{cost(result):+.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--classes", default=CLASSES, help="comma-separated (%(default)s)")
    parser.add_argument(
        "--only", default="", help='comma-separated beginnings of choices, "fields" and "algorithms"'
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="%(default)s by default")
    parser.add_argument("--medians", action="store_true", help="compare medians, not the shortest runs")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page (%(default)s)")
    options = parser.parse_args()
    arguments = ["--only", options.only, "--rounds", str(options.rounds), *["--medians"] * options.medians]
    program = "equal_bits_cases.py"
    results = {name: measure_class(name, arguments, program) for name in options.classes.split(",")}
    notes = [] if options.medians else [BUSY_NOTE]
    notes += [f"Only choices of {options.only} were measured."] if options.only else []
    options.out.write_text(page(results, notes))
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
