"""Pictures of the metrics of a run: one chart for each metric, training and validation over epochs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Literal

from sardonyx._src.dataclass import dataclass
from sardonyx._src.train.fit.progress import EpochRecord

CURVES, CURVES_PNG = "curves.svg", "curves.png"
WIDTH, HEIGHT = 560, 240  # size of a chart in pixels
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 32, 36  # margins of a chart in pixels
FONT_SIZE, PNG_SCALE = 12, 2
GRID = "#dddddd"
COLORS = {"training": "#3465a4", "validation": "#cc0000"}
Series = Mapping[str, Sequence[tuple[float, float]]]  # points (epoch, number) by the name of the line
Anchor = Literal["start", "middle", "end"]
PILLOW_ANCHORS: dict[Anchor, str] = {"start": "ls", "middle": "ms", "end": "rs"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points, in pixels."""

    points: Sequence[tuple[float, float]]
    color: str
    width: float = 1.0


@dataclass(frozen=True, slots=True)
class Label:
    """Text with its anchor at a point on the baseline, in pixels."""

    x: float
    y: float
    content: str
    anchor: Anchor
    color: str = "#333333"


@dataclass(frozen=True, slots=True)
class CurvesPicture:
    """Lines and labels on a white background; height in pixels."""

    height: int
    shapes: Sequence[Line | Label]


def draw_curves(history: Sequence[EpochRecord]) -> CurvesPicture:
    """A picture of the metrics of all epochs, one chart for each metric."""
    names = list(dict.fromkeys(name for record in history for name in record.metrics))
    shapes = [
        moved
        for i, name in enumerate(names)
        for moved in move_down(draw_chart(name, series_of(name, history)), i * HEIGHT)
    ]
    return CurvesPicture(max(len(names), 1) * HEIGHT, shapes)


def series_of(name: str, history: Sequence[EpochRecord]) -> Series:
    """The points of a metric, without those that are not finite."""
    lines = {
        "training": [(r.epoch, r.metrics.get(name, math.nan)) for r in history],
        "validation": [(r.epoch, r.validation.get(name, math.nan)) for r in history],
    }
    kept = {key: [(x, y) for x, y in points if math.isfinite(y)] for key, points in lines.items()}
    return {key: points for key, points in kept.items() if points}


def draw_chart(title: str, series: Series) -> list[Line | Label]:
    """One chart, at the top of a picture."""
    points = [point for line in series.values() for point in line]
    x_range = span([x for x, _ in points])
    y_ticks = ticks([y for _, y in points])
    y_range = (y_ticks[0], y_ticks[-1])
    shapes: list[Line | Label] = [Label(LEFT, TOP - 14, title, "start", "#000000")]
    for y in y_ticks:
        row = place(y, y_range, HEIGHT - BOTTOM, TOP)
        shapes.append(Line([(LEFT, row), (WIDTH - RIGHT, row)], GRID))
        shapes.append(Label(LEFT - 8, row + 4, f"{y:g}", "end"))
    for x in sorted({x_range[0], x_range[1]}):
        column = place(x, x_range, LEFT, WIDTH - RIGHT)
        shapes.append(Label(column, HEIGHT - BOTTOM + 18, f"{x:g}", "middle"))
    shapes.append(Label((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, "epoch", "middle"))
    for i, (name, line) in enumerate(series.items()):
        places = [
            (place(x, x_range, LEFT, WIDTH - RIGHT), place(y, y_range, HEIGHT - BOTTOM, TOP)) for x, y in line
        ]
        shapes.append(Line(places, COLORS[name], 1.5))
        shapes.append(Label(WIDTH - RIGHT - 90 * i, TOP - 14, name, "end", COLORS[name]))
    return shapes


def move_down(shapes: Sequence[Line | Label], offset: int) -> list[Line | Label]:
    """Shapes of a chart that is `offset` pixels below the top."""
    return [
        replace(shape, y=shape.y + offset)
        if isinstance(shape, Label)
        else replace(shape, points=[(x, y + offset) for x, y in shape.points])
        for shape in shapes
    ]


# --- files -----------------------------------------------------------------------------------


def svg_of(picture: CurvesPicture) -> str:
    """The picture as an SVG document."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{picture.height}" '
        f'font-family="sans-serif" font-size="{FONT_SIZE}">'
    )
    background = f'<rect width="{WIDTH}" height="{picture.height}" fill="white"/>'
    return "\n".join([head, background, *map(svg_element, picture.shapes), "</svg>"]) + "\n"


def svg_element(shape: Line | Label) -> str:
    if isinstance(shape, Label):
        style = f'text-anchor="{shape.anchor}" fill="{shape.color}"'
        return f'<text x="{shape.x:.1f}" y="{shape.y:.1f}" {style}>{escape(shape.content)}</text>'
    if shape.color == GRID:
        (left, row), (right, _) = shape.points
        return f'<line x1="{left}" x2="{right}" y1="{row:.1f}" y2="{row:.1f}" stroke="{GRID}"/>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in shape.points)
    return f'<polyline points="{path}" fill="none" stroke="{shape.color}" stroke-width="{shape.width}"/>'


def save_png(picture: CurvesPicture, path: Path) -> bool:
    """Writes the picture as a PNG file of twice its size, with Pillow; returns whether Pillow is installed."""
    try:
        from PIL import Image, ImageDraw, ImageFont  # lazy: optional
    except ImportError:
        return False
    image = Image.new("RGB", (WIDTH * PNG_SCALE, picture.height * PNG_SCALE), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(FONT_SIZE * PNG_SCALE)
    for shape in picture.shapes:
        if isinstance(shape, Label):
            position = (shape.x * PNG_SCALE, shape.y * PNG_SCALE)
            is_vector_font = isinstance(font, ImageFont.FreeTypeFont)
            anchor = PILLOW_ANCHORS[shape.anchor] if is_vector_font else None
            draw.text(position, shape.content, shape.color, font, anchor=anchor)
        else:
            points = [(x * PNG_SCALE, y * PNG_SCALE) for x, y in shape.points]
            draw.line(points, shape.color, round(shape.width * PNG_SCALE), joint="curve")
    image.save(path, optimize=True)
    return True


# --- scales ----------------------------------------------------------------------------------


def span(numbers: Sequence[float]) -> tuple[float, float]:
    """The smallest and the largest number."""
    return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)


def place(number: float, span: tuple[float, float], start: float, end: float) -> float:
    """The position in pixels of a number: the ends of the span are at the pixels `start` and `end`."""
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
