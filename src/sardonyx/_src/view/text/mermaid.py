"""Outlines as Mermaid flowcharts, which GitHub and other sites render in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sardonyx._src.view.outline import Outline, OutlineBox

MAX_BOXES = 60  # boxes of an outline that the command line draws as a flowchart
MAX_EDGES = 480  # edges of a chart: Mermaid refuses to draw more than 500
MAX_CHARACTERS = 48_000  # characters of a chart: Mermaid refuses to draw more than 50,000
MAX_LABEL = 60
SHAPES = {"node": '["{}"]', "scope": '[["{}"]]', "input": '(["{}"])', "output": '(["{}"])'}
PLAIN = re.compile(r"[^A-Za-z0-9 _.,/×–-]")


def mermaid(outline: Outline) -> str:
    """A flowchart; if it would exceed Mermaid's limits, the types of edges are left out, then the last edges."""
    for edges, types in ((MAX_EDGES, True), (MAX_EDGES, False), (MAX_EDGES // 4, False)):
        lines = ["flowchart TD", *write_scope(outline, 0, "  "), *write_edges(outline, edges, types=types)]
        text = "\n".join(lines) + "\n"
        if len(text) <= MAX_CHARACTERS:
            break
    return text


def write_scope(outline: Outline, scope: int, indent: str) -> Iterator[str]:
    """The boxes of an opened scope, and the scopes inside it as subgraphs."""
    for box in outline.boxes:
        if box.scope == scope:
            yield f"{indent}{box.key}{SHAPES[box.kind].format(box_label(box))}"
    for inner, (parent, label) in outline.scopes.items():
        if parent == scope:
            yield f'{indent}subgraph g{inner}["{escape(label)}"]'
            yield from write_scope(outline, inner, indent + "  ")
            yield f"{indent}end"


def write_edges(outline: Outline, most: int, *, types: bool) -> Iterator[str]:
    edges = [*outline.edges.items()]
    for (source, target), text in edges[:most]:
        label = f'|"{escape(text)}"|' if text and types else ""
        yield f"  {source} -->{label} {target}"
    if len(edges) > most:
        yield f"  %% {len(edges) - most} more edges"


def box_label(box: OutlineBox) -> str:
    return "<br/>".join(map(escape, box.lines))


def escape(text: str) -> str:
    """A label in which every character that Mermaid could read as syntax is an entity code."""
    shortened = text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"
    return PLAIN.sub(lambda match: f"#{ord(match[0])};", shortened) or "#32;"
