"""How fast are the classes of processors, each compared with other engines on the same instructions?

    OPENBLAS_NUM_THREADS=1 python bench/classes.py [--classes x86-64-v3] [--only deep_mlp_64] [--families networks] [--out PAGE]

Each class runs in a process of its own with `SARDONYX_TARGET`, on one thread.  OpenVINO is restricted to the same
instructions by `ONEDNN_MAX_CPU_ISA`.  onnxruntime cannot be restricted: it uses all instructions of the machine in every
class, AVX-512 among them, and so do the libraries of trees.  A ratio is the time of the fastest peer over ours, and the second
one that of OpenVINO: above 1, Sardonyx is faster.

The shares of products are those of the peak of the class: of multiply-adds on registers, as many as hide their latency,
measured beside each product.  They ought to be 95 % with AVX-512 and 90 % with AVX2.

What a product lacks of its peak are mostly the ends of its tiles: zeros, the first loads of A and B, two branches that are not
foreseen, 24 stores, and for each further block of k as many loads, together some 200 cycles.  A tile with 256 terms takes
6,144 cycles, so that 64 x 256 @ 256 x 256 loses 3 % to them, and 1 % to its call from Python.  With 768 terms a second block
of k adds 1 %: 128 x 768 @ 768 x 3072 takes that much less with one block, which equal bits forbid.  Products of 16 rows also
stop every 128 terms, so that lines of B that were prefetched are used soon.  Prefetching A or the result, and smaller chunks
of rows, change less than 1 %.

Code without fused multiply-adds cannot come close: with SSE an element of A needs a load and a shuffle before it is multiplied,
and a product a register of its own, so that 12 multiplications and 12 additions are 46 instructions, for which a core takes at
least 1.3 times as long.  OpenVINO's pointwise convolutions of MobileNetV2 take 0.9 of the time of ours with SSE4.1; it
computes each as a step, while ours of large images are fused with the depthwise ones, which are faster.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from class_cases import FAMILIES, ClassRow
from latency import BUSY_NOTE, header, line, ratio
from measure import FOLDER, stamp
from sardonyx._src.measure.engines import OURS

PAGE = FOLDER.parent / "docs" / "generated" / "classes.md"
LIMITS = {"x86-64-v4-zen4": "AVX512_CORE_BF16", "x86-64-v3": "AVX2", "x86-64-v2": "SSE41"}  # of oneDNN
RESTRICTED = "openvino"  # the engine that is restricted to the class
GOALS = {"x86-64-v4-zen4": 0.95, "x86-64-v3": 0.9}  # of the peak


@dataclass(frozen=True)
class ClassResult:
    """What was measured in the process of a class; shares: of the peak, by product."""

    name: str
    rows: Sequence[ClassRow]
    shares: Mapping[str, float]


def measure_class(name: str, arguments: Sequence[str]) -> ClassResult:
    """Runs `class_cases.py` in the class; its lines are printed as they come."""
    environment = {**os.environ, "SARDONYX_TARGET": name, "ONEDNN_MAX_CPU_ISA": LIMITS[name]}
    command = [sys.executable, str(FOLDER / "class_cases.py"), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None, "the output is a pipe"
        text = ""
        for text in process.stdout:
            print(f"{name}: {text}", end="", flush=True)
    if process.returncode:
        raise SystemExit(f"the measurements of {name} failed with exit code {process.returncode}")
    return parse_result(name, text)


def parse_result(name: str, text: str) -> ClassResult:
    """The result in the last line of a class."""
    document = json.loads(text)
    return ClassResult(name, [ClassRow(**row) for row in document["rows"]], document["shares"])


def row_ratio(row: ClassRow) -> float:
    """The time of the fastest peer over ours; NaN if either is missing."""
    peers = [seconds for engine, seconds in row.seconds.items() if engine != OURS]
    return min(peers, default=math.nan) / row.seconds.get(OURS, math.nan)


def restricted_ratio(row: ClassRow) -> float:
    """The time of the peer that is restricted to the class, over ours; NaN if either is missing."""
    return row.seconds.get(RESTRICTED, math.nan) / row.seconds.get(OURS, math.nan)


# --- page ------------------------------------------------------------------------------------


def page(results: Sequence[ClassResult], notes: Sequence[str] = ()) -> str:
    """The tables; notes: what was measured otherwise than by default."""
    summary, _, explanation = (__doc__ or "").partition("\n")
    text = explanation.partition("[--out PAGE]\n\n")[2].strip()
    parts = [
        "# Classes of processors",
        f"Written by `bench/classes.py`. {summary}",
        text,
        " ".join([stamp(), *notes]),
        summary_table(results),
    ]
    families = dict.fromkeys(row.family for result in results for row in result.rows)
    parts += [f"## {family.capitalize()}\n\n{family_table(family, results)}" for family in families]
    if any(result.shares for result in results):
        parts.append(f"## Shares of the peak\n\n{share_table(results)}")
    return "\n\n".join(parts) + "\n"


def summary_table(results: Iterable[ClassResult]) -> str:
    """Geometric means of the ratios by family and class, and the rows in which a peer is faster."""
    lines = [
        header("class", "family", "rows", "ratio", "slower than a peer", "to OpenVINO", "slower than it")
    ]
    for result in results:
        for family in dict.fromkeys(row.family for row in result.rows):
            rows = [row for row in result.rows if row.family == family]
            means = [mean_cells(rows, compared) for compared in (row_ratio, restricted_ratio)]
            lines.append(line(result.name, family, len(rows), *means[0], *means[1]))
    return "\n".join(lines)


def mean_cells(rows: Iterable[ClassRow], compared: Callable[[ClassRow], float]) -> tuple[str, str]:
    """The geometric mean of the ratios of some rows, and the rows with ratios below 1."""
    known = {row.name: value for row in rows if not math.isnan(value := compared(row))}
    if not known:
        return "", ""
    slower = ", ".join(f"{name} ({value:.2f})" for name, value in known.items() if value < 1)
    return f"{math.exp(statistics.fmean(map(math.log, known.values()))):.2f}", slower or "none"


def family_table(family: str, results: Sequence[ClassResult]) -> str:
    """Milliseconds of every engine in every class."""
    rows = [(result.name, row) for result in results for row in result.rows if row.family == family]
    engines = dict.fromkeys(engine for _, row in rows for engine in (OURS, *row.seconds))
    lines = [header("what", "class", *(f"{engine}, ms" for engine in engines), "ratio", "to OpenVINO")]
    for name in dict.fromkeys(row.name for _, row in rows):
        for target, row in rows:
            if row.name == name:
                times = (milliseconds(row.seconds.get(engine)) for engine in engines)
                lines.append(line(name, target, *times, ratio(row_ratio(row)), ratio(restricted_ratio(row))))
    return "\n".join(lines)


def milliseconds(seconds: float | None) -> str:
    """A number, or that the engine failed or computed something else."""
    return "fails" if seconds is None else f"{seconds * 1e3:.3g}"


def share_table(results: Sequence[ClassResult]) -> str:
    """Shares of the peak by product and class; those below the goal are marked."""
    lines = [header("product", *(result.name for result in results))]
    for name in dict.fromkeys(name for result in results for name in result.shares):
        cells = (share_text(result.shares.get(name), GOALS.get(result.name, 0.0)) for result in results)
        lines.append(line(name, *cells))
    return "\n".join(lines)


def share_text(share: float | None, goal: float) -> str:
    if share is None:
        return ""
    return f"{share:.0%}" if share >= goal else f"**{share:.0%}**"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--classes", default=",".join(LIMITS), help="comma-separated (%(default)s)")
    parser.add_argument("--families", default=",".join(FAMILIES), help="comma-separated (%(default)s)")
    parser.add_argument("--only", default="", help="comma-separated parts of names; all by default")
    parser.add_argument("--turns", default="7", help="runs of each engine (%(default)s)")
    parser.add_argument("--least", action="store_true", help="compare the shortest runs, not the medians")
    parser.add_argument("--cpu", action="store_true", help="measure processor time, not wall-clock time")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page (%(default)s)")
    args = parser.parse_args()
    switches = [f"--{name}" for name in ("least", "cpu") if getattr(args, name)]
    arguments = [args.families, "--only", args.only, "--turns", args.turns, *switches]
    notes = [BUSY_NOTE] if args.least else []
    notes += ["Times are those of the processor."] if args.cpu else []
    notes += [f"Only rows with {args.only} in their names were measured."] if args.only else []
    args.out.write_text(page([measure_class(name, arguments) for name in args.classes.split(",")], notes))


if __name__ == "__main__":
    main()
