"""Writes what README.md and docs/index.md state first: docs/generated/front_page.md, its chart, and the highlights.

    python bench/front_page.py [--only latency,load] [--least] [--stored]

Parts that are not measured keep their numbers, which are in docs/generated/front_page.json; with `--stored` all do.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import front_page_parts as parts
from bar_chart import DARK, LIGHT, Group, draw_chart, milliseconds
from measure import stamp
from peers import ENGINES

ROOT = Path(__file__).resolve().parent.parent
GENERATED = ROOT / "docs/generated"
FRONT_PAGES = (ROOT / "README.md", ROOT / "docs/index.md")
HIGHLIGHTS = re.compile(r"(<!-- Written by bench/front_page.py -->\n).*?(<!-- -->\n)", re.DOTALL)
NUMBERS = GENERATED / "front_page.json"
TOOLS = (*ENGINES, "onnx")
TURNS = 15
THEMES = {"light": LIGHT, "dark": DARK}
Part = Mapping[str, Mapping[str, float]]
Document = dict[str, dict[str, Any]]  # by part: `measured`, a sentence, and `numbers`


def measure_parts(names: list[str], least: bool) -> Document:
    measures: dict[str, Callable[[], Part]] = {
        "latency": lambda: parts.latencies(TURNS, least),
        "load": parts.load_times,
        "official": parts.official_cases,
        "checker": parts.checker_corpus,
        "threads": parts.equal_bits,
        "wheel": parts.wheel,
    }
    note = (
        " The machine was busy: shortest runs, not medians, those over 1 ms in processor time."
        if least
        else ""
    )
    return {
        name: {"measured": stamp() + (note if name == "latency" else ""), "numbers": measures[name]()}
        for name in names or measures
    }


def write_files(document: Document) -> None:
    NUMBERS.write_text(json.dumps(document, indent=1) + "\n")
    (GENERATED / "front_page.md").write_text(page(document))
    for name in THEMES:
        (GENERATED / f"front_page_{name}.svg").write_text(chart(document, name))
    for path in FRONT_PAGES:
        path.write_text(HIGHLIGHTS.sub(rf"\1{highlights(document)}\2", path.read_text()))


def chart(document: Document, theme: str) -> str:
    """The chart for pages of a theme, `light` or `dark`."""
    latency = document["latency"]["numbers"]
    groups = [
        Group(label, seconds, {tool: f"{tool} rejects the model" for tool in ENGINES if tool not in seconds})
        for label, seconds in latency.items()
    ]
    load = document["load"]["numbers"]
    groups.append(Group(f"load {megabytes(load['file']['bytes'])}", load["seconds"], {}))
    title = "Latency of eight networks on one thread, and loading a large file"
    note = "Shorter is faster; each group has its own scale."
    return draw_chart(title, note, groups, TOOLS, THEMES[theme])


def page(document: Document) -> str:
    """The page: the chart, its numbers, and the statements of the README with the commands that reproduce them."""
    return "\n\n".join([HEAD, *latency_lines(document), *statement_lines(document)]) + "\n"


HEAD = """# Numbers of the first page

Written by `bench/front_page.py` (`pip install --group bench`). The README and the first page of the documentation state
these numbers."""


METHOD = """Runs of each engine in one process, in turn, on one thread, with the same file and inputs. The last column is
the time of the faster other engine over ours: above 1, Sardonyx is faster than both."""

PICTURES = """![latency of eight networks, and loading a large file](front_page_light.svg#only-light)
![latency of eight networks, and loading a large file](front_page_dark.svg#only-dark)"""


def latency_lines(document: Document) -> list[str]:
    rows = [
        "| network | sardonyx | onnxruntime | openvino | of the faster other engine |",
        "|---|---|---|---|---|",
    ]
    for label, seconds in document["latency"]["numbers"].items():
        cells = [milliseconds(seconds[e]) if e in seconds else "rejects the model" for e in ENGINES]
        rows.append(f"| {label} | {' | '.join(cells)} | {ratio(seconds):.2f} |")
    return [
        "## Latency",
        document["latency"]["measured"],
        METHOD,
        PICTURES,
        "\n".join(rows),
        f"Faster than both on {faster_count(document)} of {len(document['latency']['numbers'])}.",
    ]


def ratio(seconds: Mapping[str, float]) -> float:
    """The time of the faster other engine over ours."""
    return min(value for engine, value in seconds.items() if engine != "sardonyx") / seconds["sardonyx"]


def faster_count(document: Document) -> int:
    return sum(ratio(seconds) > 1 for seconds in document["latency"]["numbers"].values())


def statement_lines(document: Document) -> list[str]:
    rows = ["| statement | command | measured |", "|---|---|---|"]
    for name, sentence in statements(document).items():
        command = f"`python bench/front_page.py --only {name}`"
        rows.append(f"| {sentence} | {command} | {document[name]['measured'].split(':')[0]} |")
    return ["## Statements", "\n".join(rows), NOTES]


NOTES = """The official cases are those of the onnx wheel: nodes, small models and networks. Sardonyx runs them on the
native engine, onnxruntime through its own `onnxruntime.backend`; models of IR version 14, which it rejects, are given
to it as version 13. Most of the others use operator sets that are newer than it, or element types that NumPy lacks.

The pairs of the checker are in `tests/check/pairs`: a model that violates one MUST of the specification, and the same
model without the fault. A pair counts if the tool accepts the one and rejects the other. onnx runs with `full_check`.
Rules and pairs were written by the same project; none of the pairs was removed because a tool fails it."""


TITLES = {
    "official": "Complete",
    "load": "Quick to open",
    "checker": "Strict",
    "threads": "Reproducible",
    "wheel": "Easy to install",
}


def highlights(document: Document) -> str:
    """The statements as the list of the first screen."""
    return "".join(f"- **{TITLES[name]}**: {text}.\n" for name, text in statements(document).items())


def statements(document: Document) -> dict[str, str]:
    """The sentences of the README by part; a test compares them."""
    load, official, checker, threads, wheel = (
        document[name]["numbers"] for name in ("load", "official", "checker", "threads", "wheel")
    )
    ours, theirs = load["seconds"]["sardonyx"], load["seconds"]["onnx"]
    equal = threads["networks"]
    return {
        "official": f"{official['passed']['sardonyx']:,} of {official['all']['cases']:,} official cases pass; "
        f"onnxruntime passes {official['passed']['onnxruntime']:,}",
        "load": f"a file of {megabytes(load['file']['bytes'])} loads in {milliseconds(ours)}; "
        f"onnx needs {milliseconds(theirs)}",
        "checker": f"the checker tells {checker['passed']['sardonyx']:,} of {checker['all']['cases']:,} faulty models "
        f"from repaired twins; onnx's tells {checker['passed']['onnx']:,}",
        "threads": f"{equal['equal']:,} of {equal['all']:,} networks have the same bits on 1 to {equal['threads']:,} threads",
        "wheel": f"one pure wheel of {wheel['wheel']['bytes'] / 1e6:.1f} MB for every platform",
    }


def megabytes(size: float) -> str:
    return f"{size / 1e6:.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="", help="comma-separated parts to measure")
    parser.add_argument("--least", action="store_true", help="the shortest runs, on a machine that is busy")
    parser.add_argument("--stored", action="store_true", help="write the files from the stored numbers")
    options = parser.parse_args()
    document: Document = json.loads(NUMBERS.read_text()) if NUMBERS.exists() else {}
    if not options.stored:
        document |= measure_parts([name for name in options.only.split(",") if name], options.least)
    write_files(document)


if __name__ == "__main__":
    main()
