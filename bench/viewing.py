"""How soon does a page of `sardonyx view` show a model, compared with Netron?

Both are pages in headless Chromium at 1920x1080 with software rendering, in turn, on the same files: ours written by `sardonyx view -o`,
Netron's served by its package (`pip install --group bench-view`), of which NETRON_PYTHON may name the Python.  `viewer/` must be
installed (`npm ci`).  Times are medians of some visits (`--least`: the least), each with a browser of its own: from the request of
the page until the whole first picture is there; from the key that opens the search, over a node's whole name and the choice of the
first result, until the node is shown; to open the first block; and frames a second while the picture moves.  Those after the first
picture are taken inside the pages (`viewer/tools/measure.mjs`).  `--rows` and `--part` measure in pieces: rows are added to a file,
those that it has are not measured again, and the page is written when all are there.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import cast

import sardonyx as sx
from measure import FOLDER
from viewed_models import models

PAGE = FOLDER.parent / "docs" / "generated" / "viewing.md"
VIEWER = FOLDER.parent / "viewer"
PACKAGE = Path(sx.__file__).parent
LIMIT = 30  # seconds for each step of a visit
PORT = 8973


@dataclass(frozen=True, slots=True)
class Visit:
    """Times of one page: seconds, and frames a second; None where a step took longer than the limit."""

    picture: float | None
    block: float | None
    find: float | None
    frames: float | None


Row = dict[str, object]
TOOLS = ("sardonyx", "netron")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="measure the models whose names contain this, and print")
    parser.add_argument("--visits", type=int, default=3, help="visits of each tool, in turn")
    parser.add_argument(
        "--least", action="store_true", help="least times, for a machine that does other work"
    )
    parser.add_argument("--rows", type=Path, help="add what is measured to the rows in this file")
    parser.add_argument(
        "--part", default="1/1", metavar="I/N", help="measure the I-th of N parts of the models"
    )
    arguments = parser.parse_args()
    part, parts = map(int, arguments.part.split("/"))
    stored = arguments.rows is not None and arguments.rows.exists()
    rows: dict[str, Row] = json.loads(arguments.rows.read_text()) if stored else {}
    with tempfile.TemporaryDirectory() as folder:
        files = models(Path(folder))
        order = [*files]
        compileall.compile_dir(str(PACKAGE), quiet=1)  # as installers do; without it, imports would compile
        for name in order[len(order) * (part - 1) // parts : len(order) * part // parts]:
            if arguments.only in name and name not in rows:
                print(f"{name}: {order.index(name) + 1} of {len(order)}", file=sys.stderr, flush=True)
                rows[name] = measure(
                    name, files[name](), Path(folder), arguments.visits, least=arguments.least
                )
                if arguments.rows is not None:
                    arguments.rows.write_text(json.dumps(rows, indent=1))
    text = page([rows[name] for name in order if name in rows])
    if arguments.only or any(name not in rows for name in order):
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")


def measure(name: str, path: Path, folder: Path, count: int, *, least: bool) -> Row:
    """What the table says of a model; times of visits that the limit ends are None."""
    graph = sx.load(path).graph
    query = next((node.name for node in reversed(list(graph.nodes)) if node.name), graph.outputs[0].name)
    html = folder / "page.html"
    start = time.perf_counter()
    command = [sys.executable, "-m", "sardonyx", "view", str(path), "-o", str(html)]
    subprocess.run(command, check=True, capture_output=True)
    row: Row = {
        "name": name,
        "nodes": len(graph.nodes),
        "written": time.perf_counter() - start,
        "query": query,
        "visits": f"{count}, least" if least else str(count),
    }
    with netron(path) as address:
        addresses = {"sardonyx": html.as_uri(), "netron": address}
        visits: dict[str, list[Visit]] = {tool: [] for tool in TOOLS}
        for _ in range(count):
            for tool, earlier in visits.items():
                if (
                    not earlier or earlier[-1].picture is not None
                ):  # what did not load once is not tried again
                    earlier.append(visit(tool, addresses[tool], query))
    row |= {tool: asdict(summary(every, least=least)) for tool, every in visits.items()}
    print(json.dumps(row), file=sys.stderr, flush=True)
    return row


def summary(visits: Sequence[Visit], *, least: bool) -> Visit:
    """The medians of the columns, or the least times and the most frames; None for what one visit lacks."""
    columns: dict[str, float | None] = {}
    for field in fields(Visit):
        values = [getattr(each, field.name) for each in visits]
        best = max if field.name == "frames" else min
        columns[field.name] = None if None in values else best(values) if least else statistics.median(values)
    return Visit(**columns)


@contextmanager
def netron(path: Path) -> Iterator[str]:
    """The address of a running Netron that shows a file."""
    python = os.environ.get("NETRON_PYTHON", sys.executable)
    command = [
        python,
        "-c",
        f"import netron; netron.start({str(path)!r}, address={PORT}, browse=False); netron.wait()",
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://localhost:{PORT}/"
    try:
        wait_for(address)
        yield address
    finally:
        server.terminate()
        server.wait()


def wait_for(address: str) -> None:
    """Returns when a server answers; it has 20 seconds to start."""
    for _ in range(100):
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(f"{address} does not answer")


def visit(tool: str, address: str, query: str) -> Visit:
    task = json.dumps([{"tool": tool, "address": address, "query": query}])
    environment = {**os.environ, "LIMIT": str(LIMIT * 1000)}
    run = subprocess.run(
        ["node", "tools/measure.mjs"],
        input=task,
        cwd=VIEWER,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(run.stdout)
    if "failure" in answer:
        print(f"{tool}: {answer['failure']}", file=sys.stderr)
    seconds = {
        key: None if answer[key] is None else answer[key] / 1000 for key in ("picture", "block", "find")
    }
    return Visit(**seconds, frames=answer["frames"])


def page(rows: Sequence[Row]) -> str:
    lines = [
        "# Pages beside Netron",
        "",
        "Written by `bench/viewing.py`. Headless Chromium at 1920x1080 with software rendering on two cores; Netron 9.3.3 from its Python package. Times in seconds, medians of the visits or the least, from",
        "the request of a page until the whole first picture is there; to open the first block (Netron has none); to find a node: from the key that opens the search, over the node's whole name",
        "and the choice of the first result, to the frame that shows it; frames a second while the picture moves. All but `picture` are taken inside the pages.",
        f"`-`: not within {LIMIT} seconds or not at all, or nothing to open. `written` is what `sardonyx view -o` takes before, with the start of Python; Netron reads the file in the page. The",
        "models: shared ones, the nine networks of the onnx wheel (light), BERT base with small weights, and transformers of many layers. `least`: the machine did other work meanwhile.",
        "",
        "| model | nodes | written | picture | Netron | open | find | Netron | frames/s | Netron | visits |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        ours, theirs = (Visit(**cast("dict[str, float | None]", row[tool])) for tool in TOOLS)
        cells = [
            str(row["name"]),
            str(row["nodes"]),
            f"{row['written']:.2f}",
            seconds(ours.picture),
            seconds(theirs.picture),
            seconds(ours.block),
            seconds(ours.find),
            seconds(theirs.find),
            rate(ours.frames),
            rate(theirs.frames),
            str(row["visits"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def rate(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"


if __name__ == "__main__":
    main()
