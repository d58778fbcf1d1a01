"""Outlines in DOT, the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.view.outline import Outline, OutlineBox

MAX_BOXES = 500  # boxes of an outline: Graphviz lays them out in seconds
MAX_LABEL = 120
STYLES = {
    "node": "",
    "scope": ', style="rounded,bold"',
    "input": ', shape="ellipse"',
    "output": ', shape="ellipse"',
}


def dot(outline: Outline) -> str:
    """A directed graph with a cluster for each opened scope."""
    lines = ["digraph model {", '  node [shape="box"];', *write_scope(outline, 0, "  ")]
    for (source, target), text in outline.edges.items():
        label = f" [label={quote(text)}]" if text else ""
        lines.append(f"  {source} -> {target}{label};")
    return "\n".join([*lines, "}"]) + "\n"


def write_scope(outline: Outline, scope: int, indent: str) -> Iterator[str]:
    """The boxes of an opened scope, and the scopes inside it as clusters."""
    for box in outline.boxes:
        if box.scope == scope:
            yield f"{indent}{box.key} [label={box_label(box)}{STYLES[box.kind]}];"
    for inner, (parent, label) in outline.scopes.items():
        if parent == scope:
            yield f"{indent}subgraph cluster_{inner} {{"
            yield f"{indent}  label={quote(label)};"
            yield from write_scope(outline, inner, indent + "  ")
            yield f"{indent}}}"


def box_label(box: OutlineBox) -> str:
    return '"' + "\\n".join(quote(line)[1:-1] for line in box.lines) + '"'


def quote(text: str) -> str:
    """A quoted string, cut if it is long; backslashes are escaped, since Graphviz interprets them in labels."""
    shortened = text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1] + "…"
    printable = "".join(c if c.isprintable() else " " for c in shortened)
    escaped = printable.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
