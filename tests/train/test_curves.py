"""Pictures of the metrics of a run: the same chart as SVG and as PNG."""

from __future__ import annotations

import builtins
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from sardonyx._src.train.fit.curves import COLORS, HEIGHT, WIDTH, draw_curves, save_png, svg_of
from sardonyx._src.train.fit.progress import EpochRecord


def record(epoch: int, loss: float, validation: float) -> EpochRecord:
    return EpochRecord(epoch, epoch * 10, {"loss": loss, "a<b": 0.5}, {"loss": validation}, 1.0)


HISTORY = [record(1, 2.0, 2.1), record(2, 1.0, math.nan), record(3, 0.5, 1.2)]


def test_svg_is_well_formed_and_has_a_line_for_each_series() -> None:
    root = ElementTree.fromstring(svg_of(draw_curves(HISTORY)))
    strokes = [element.get("stroke") for element in root.iter() if element.tag.endswith("polyline")]
    assert [strokes.count(COLORS[name]) for name in ("training", "validation")] == [2, 1]
    assert "a<b" in {element.text for element in root.iter()}


def test_png_shows_the_lines(tmp_path: Path) -> None:
    assert save_png(draw_curves(HISTORY), tmp_path / "curves.png")
    with Image.open(tmp_path / "curves.png") as image:
        pixels = np.asarray(image.convert("RGB"))
    assert pixels.shape == (4 * HEIGHT, 2 * WIDTH, 3)
    for color in COLORS.values():
        expected = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
        assert (pixels == expected).all(-1)[: 2 * HEIGHT, 128:].sum() > 200
    assert (pixels == 255).all(-1).mean() > 0.8


def test_an_empty_history_is_a_white_picture(tmp_path: Path) -> None:
    assert save_png(draw_curves([]), tmp_path / "curves.png")
    with Image.open(tmp_path / "curves.png") as image:
        assert image.getextrema() == ((255, 255),) * 3


def test_without_pillow_there_is_no_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def refuse(name: str, *args: object, **options: object) -> object:
        if name == "PIL":
            raise ImportError(name)
        return original(name, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", refuse)
    assert not save_png(draw_curves(HISTORY), tmp_path / "curves.png")
    assert not (tmp_path / "curves.png").exists()
