"""Run all benchmarks of this folder and write their tables to docs/generated/benchmarks.md."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import ModuleType

import block_quantized
import checking
import classical
import exported
import inference
import latency
import lengths
import limits
import loading
import networks
import operators
import optimizing
import precisions
import products
import quantized_operators
import recurrent
import shared_models
import starts
import training
import trees
from measure import Row, stamp
from measured_cases import PATH, MeasuredCases

TARGET = Path(__file__).resolve().parent.parent / "docs/generated/benchmarks.md"
BUSY = latency.Method(turns=21, least=True)


def table(rows: Iterable[Row]) -> str:
    """A Markdown table of the rows, grouped by question; the last column is the time over that of the first tool."""
    lines = [
        "| question | tool | median | lowest to highest | added peak memory | written | times the first |",
        "|---|---|---|---|---|---|---|",
    ]
    first: dict[str, Row] = {}
    for row in rows:
        base = first.setdefault(row.what, row)
        what = row.what if base is row else ""
        ratio = "" if base is row else f"{row.seconds / base.seconds:.2f}"
        span = f"{milliseconds(row.low)} to {milliseconds(row.high)}"
        memory = f"{row.bytes / 1e6:.1f} MB" if row.bytes else ""
        wrote = f"{row.written / 1e6:.1f} MB" if row.written > 1e4 else ""
        lines.append(
            f"| {what} | {row.tool} | {milliseconds(row.seconds)} | {span} | {memory} | {wrote} | {ratio} |"
        )
    return "\n".join(lines)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds * 1e3:.0f} ms"


SECTIONS: dict[str, tuple[ModuleType, Callable[[], str | None]]] = {
    "Loading, saving, importing": (loading, lambda: table(loading.rows())),
    "Types and shapes": (inference, lambda: table(inference.rows())),
    "Checking": (checking, lambda: table(checking.rows())),
    "Networks on the reference engine": (networks, lambda: table(networks.rows())),
    "Products on one core": (products, lambda: table(products.rows())),
    "Optimizing models": (optimizing, optimizing.section),
    "The native engine beside other engines": (latency, latency.section),
    "Recurrent layers": (recurrent, recurrent.section),
    "Operators of one node": (operators, operators.section),
    "Products of bfloat16 and int8": (precisions, precisions.section),
    "Products of quantized matrices": (quantized_operators, quantized_operators.section),
    "Products by weights of 4 and 8 bits": (block_quantized, block_quantized.section),
    "Limits of one core": (limits, limits.section),
    "Models that others have made": (shared_models, shared_models.section),
    "Models of exporters": (exported, exported.section),
    "Models of scikit-learn": (classical, classical.section),
    "New lengths": (lengths, lengths.section),
    "Starts": (starts, starts.section),
    "Trees": (trees, trees.section),
    "Training steps": (training, training.section),
}


SHORTEST_RUNS: dict[str, Callable[[], str | None]] = {
    "The native engine beside other engines": lambda: latency.section(method=BUSY),
    "Models that others have made": lambda: shared_models.section(method=BUSY),
    "Models of exporters": lambda: exported.section(method=BUSY),
}


RESUMABLE: dict[str, Callable[[MeasuredCases], str | None]] = {
    "Models of exporters": lambda cases: exported.section(measured=cases),
    "Models of scikit-learn": lambda cases: classical.section(cases=cases),
    "Trees": lambda cases: trees.section(cases=cases),
}


def section(title: str, *, least: bool = False, resume: bool = False) -> str | None:
    """The section of one benchmark: time and place, question, table; None if the benchmark cannot run here."""
    module, answer = SECTIONS[title]
    if least:
        answer = SHORTEST_RUNS.get(title, answer)
    elif resume and title in RESUMABLE:
        answer = partial(RESUMABLE[title], MeasuredCases(PATH))
    answer_text = answer()
    if answer_text is None:
        return None
    return f"## {title}\n\n{stamp()}\n\n{(module.__doc__ or '').strip()}\n\n{answer_text}\n"


def read_sections(page: str) -> dict[str, str]:
    """The sections of a page by title."""
    parts = page.split("\n## ")[1:]
    return {part.partition("\n")[0]: f"## {part.rstrip()}\n" for part in parts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", action="append", help="prefix of a section's title; sections without it stay unchanged"
    )
    parser.add_argument(
        "--least", action="store_true", help="compare the shortest runs of engines, on a machine that is busy"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep the cases that were measured at this commit (of long sections)",
    )
    args = parser.parse_args()
    titles = args.only or [""]
    sections = read_sections(TARGET.read_text()) if TARGET.exists() else {}
    for title in SECTIONS:
        if title.startswith(tuple(titles)):
            sections |= (
                {title: text}
                if (text := section(title, least=args.least, resume=args.resume)) is not None
                else {}
            )
    parts = ["# Benchmarks\n\nWritten by `make bench`.\n", *(sections[t] for t in SECTIONS if t in sections)]
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text("\n".join(parts))
    print(f"written: {TARGET}")


if __name__ == "__main__":
    main()
