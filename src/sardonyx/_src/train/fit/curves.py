"""A picture of the metrics of a run: SVG, one chart for each metric, training and validation over epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from sardonyx._src.train.fit.progress import EpochRecord

CURVES = "curves.svg"
WIDTH, HEIGHT = 560, 240  # of a chart, in pixels
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 32, 36  # margins
COLOURS = {"training": "#3465a4", "validation": "#cc0000"}
Series = Mapping[str, Sequence[tuple[float, float]]]  # points (epoch, number) by the name of the line


def draw_curves(history: Sequence[EpochRecord]) -> str:
    """The metrics of all epochs as an SVG document."""
    names = list(dict.fromkeys(name for record in history for name in record.metrics))
    charts = [draw_chart(name, series_of(name, history), i * HEIGHT) for i, name in enumerate(names)]
    height = max(len(names), 1) * HEIGHT
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="12">'
    background = f'<rect width="{WIDTH}" height="{height}" fill="white"/>'
    return "\n".join([head, background, *charts, "</svg>"]) + "\n"


def series_of(name: str, history: Sequence[EpochRecord]) -> Series:
    """The points of a metric, without those that are not finite."""
    lines = {
        "training": [(r.epoch, r.metrics.get(name, math.nan)) for r in history],
        "validation": [(r.epoch, r.validation.get(name, math.nan)) for r in history],
    }
    kept = {key: [(x, y) for x, y in points if math.isfinite(y)] for key, points in lines.items()}
    return {key: points for key, points in kept.items() if points}


def draw_chart(title: str, series: Series, offset: int) -> str:
    """One chart, `offset` pixels from the top."""
    points = [point for line in series.values() for point in line]
    x_range = span([x for x, _ in points])
    y_ticks = ticks([y for _, y in points])
    y_range = (y_ticks[0], y_ticks[-1])
    parts = [
        f'<g transform="translate(0,{offset})">',
        text(LEFT, TOP - 14, title, anchor="start", weight="bold"),
    ]
    for y in y_ticks:
        row = place(y, y_range, HEIGHT - BOTTOM, TOP)
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{row:.1f}" y2="{row:.1f}" stroke="#dddddd"/>'
        )
        parts.append(text(LEFT - 8, row + 4, f"{y:g}", anchor="end"))
    for x in sorted({x_range[0], x_range[1]}):
        column = place(x, x_range, LEFT, WIDTH - RIGHT)
        parts.append(text(column, HEIGHT - BOTTOM + 18, f"{x:g}", anchor="middle"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "epoch", anchor="middle"))
    for i, (name, line) in enumerate(series.items()):
        path = " ".join(
            f"{place(x, x_range, LEFT, WIDTH - RIGHT):.1f},{place(y, y_range, HEIGHT - BOTTOM, TOP):.1f}"
            for x, y in line
        )
        colour = COLOURS[name]
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(text(WIDTH - RIGHT - 90 * i, TOP - 14, name, anchor="end", colour=colour))
    return "\n".join([*parts, "</g>"])


def text(
    x: float, y: float, content: str, *, anchor: str, weight: str = "normal", colour: str = "#333333"
) -> str:
    style = f'text-anchor="{anchor}" font-weight="{weight}" fill="{colour}"'
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(content)}</text>'


def span(numbers: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest number."""
    return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)


def place(number: float, span: tuple[float, float], start: float, end: float) -> float:
    """Where a number of a range is between two pixels."""
    low, high = span
    return start if high == low else start + (number - low) / (high - low) * (end - start)


def ticks(numbers: Sequence[float]) -> list[float]:
    """Three to eight round numbers, equally spaced, that enclose the given ones."""
    low, high = span(numbers)
    if high == low:
        low, high = low - 0.5 * (abs(low) or 1), high + 0.5 * (abs(high) or 1)
    step = 10.0 ** math.floor(math.log10((high - low) / 2))
    step *= next((factor for factor in (1, 2, 5) if (high - low) / (step * factor) <= 5), 10)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, 12) for i in range(first, last + 1)]
