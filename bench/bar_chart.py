"""Bar charts as SVG, for light and dark pages: a group of bars for each question, a bar for each tool."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

WIDTH, LABELS, BAR, GAP = 560, 144, 14, 12
BARS_END = WIDTH - 64  # what follows a bar is its number
HEAD = 76
LEGEND = 92  # of a tool


@dataclass(frozen=True)
class Theme:
    """Colors of text and of the bars, the first for the first tool; the page's own background shows through."""

    text: str
    faint: str
    bars: Sequence[str]


LIGHT = Theme("#1f2328", "#59636e", ("#e8590c", "#818b98", "#bcc4cd", "#6c8ebf"))
DARK = Theme("#f0f6fc", "#9198a1", ("#ff8533", "#818b98", "#525b66", "#5b7db1"))


@dataclass(frozen=True)
class Group:
    """Seconds by tool; a tool without a number is in `missing`, with what is written instead."""

    label: str
    seconds: Mapping[str, float]
    missing: Mapping[str, str]


def draw_chart(title: str, note: str, groups: Sequence[Group], tools: Sequence[str], theme: Theme) -> str:
    """Each group fills the width with its longest bar, since groups differ by orders of magnitude."""
    parts = [text(0, 18, title, theme.text, size=16, weight="bold"), *draw_legend(note, tools, theme)]
    y = HEAD
    for group in groups:
        parts += draw_group(group, tools, y, theme)
        y += BAR * (len(group.seconds) + len(group.missing)) + GAP
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" '
        f'role="img" font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="12">'
    )
    described = html.escape("; ".join(map(describe, groups)))
    return "\n".join(
        [head, f"<title>{html.escape(title)}</title>", f"<desc>{described}</desc>", *parts, "</svg>\n"]
    )


def describe(group: Group) -> str:
    """The numbers of a group in words, for readers who do not see the picture."""
    numbers = [f"{tool} {milliseconds(seconds)}" for tool, seconds in group.seconds.items()]
    return f"{group.label}: {', '.join(numbers)}"


def draw_legend(note: str, tools: Sequence[str], theme: Theme) -> Iterator[str]:
    yield text(0, 38, note, theme.faint)
    x = 0
    for tool, color in zip(tools, theme.bars, strict=False):
        yield f'<rect x="{x}" y="49" width="10" height="10" fill="{color}"/>'
        yield text(x + 14, 58, tool, theme.text)
        x += LEGEND


def draw_group(group: Group, tools: Sequence[str], y: int, theme: Theme) -> Iterator[str]:
    longest = max(group.seconds.values())
    rows = [tool for tool in tools if tool in group.seconds or tool in group.missing]
    yield text(LABELS - 12, y + BAR * len(rows) / 2 + 4, group.label, theme.text, anchor="end")
    for tool in rows:
        width = group.seconds.get(tool, 0) / longest * (BARS_END - LABELS)
        color = theme.bars[tools.index(tool)]
        if width:
            yield f'<rect x="{LABELS}" y="{y}" width="{max(width, 1):.1f}" height="{BAR - 2}" fill="{color}"/>'
        number = milliseconds(group.seconds[tool]) if width else group.missing[tool]
        ours = tool == tools[0]
        yield text(LABELS + width + 6, y + 11, number, theme.text if ours else theme.faint)
        y += BAR


def milliseconds(seconds: float) -> str:
    """Three digits with their unit."""
    value, unit = (seconds * 1e3, "ms") if seconds >= 1e-3 else (seconds * 1e6, "µs")
    return f"{float(f'{value:.3g}'):,g} {unit}"


def text(
    x: float,
    y: float,
    content: str,
    color: str,
    *,
    size: int = 12,
    anchor: str = "start",
    weight: str = "normal",
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{color}" font-size="{size}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{html.escape(content)}</text>'
    )
