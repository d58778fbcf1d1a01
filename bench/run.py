"""Answer every question of this folder, and write the answers into docs/generated/benchmarks.md."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from pathlib import Path

import checking
import inference
import loading
import networks
import optimizing
import products
from measure import Row, commit, machine

TARGET = Path(__file__).resolve().parent.parent / "docs/generated/benchmarks.md"


def table(rows: Iterable[Row]) -> str:
    """A Markdown table of the rows, grouped by question; the ratio is that of the first tool to this one."""
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


def main() -> None:
    sections = [
        ("Loading, saving, importing", loading.__doc__, loading.rows()),
        ("Types and shapes", inference.__doc__, inference.rows()),
        ("Checking", checking.__doc__, checking.rows()),
        ("Networks on the reference engine", networks.__doc__, networks.rows()),
        ("Products on one core", products.__doc__, products.rows()),
    ]
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    parts = [
        f"# Benchmarks\n\nWritten by `make bench` on {day} at {commit()}: {machine()}, BLAS threads: {threads}. Medians; tools in turn.\n"
    ]
    for title, question, rows in sections:
        parts.append(f"## {title}\n\n{question}\n\n{table(rows)}\n")
    parts.append(f"## Optimising models\n\n{optimizing.__doc__}\n\n{optimizing.section()}\n")
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text("\n".join(parts))
    print(f"written: {TARGET}")


if __name__ == "__main__":
    main()
