"""Drawings of pages as SVG and PNG: the layout and drawing of the viewer, run in a JavaScript engine without a browser."""

from __future__ import annotations

import importlib
import json
from types import ModuleType

from sardonyx._src.errors import MissingPackage
from sardonyx._src.view.html import page_file
from sardonyx._src.view.page_data import PageData

CURE = "pip install 'sardonyx[view]'"
PROGRAM = "picture.js"  # defines picture(data, options)


def draw_svg(data: PageData, *, dark: bool, graph: int = 0) -> str:
    """A graph of a page as SVG; of a page with two models, a graph of the second.

    Raises MissingPackage without the extra `view`.
    """
    engine = import_engine().MiniRacer()
    engine.eval(page_file(PROGRAM))
    return str(engine.call("picture", json.dumps(data, allow_nan=False), {"dark": dark, "graph": graph}))


def draw_png(svg: str, scale: float) -> bytes:
    """An SVG drawing as PNG, with `scale` pixels for each unit of the drawing.  Raises MissingPackage without the extra `view`."""
    return bytes(import_rasterizer().svg_to_bytes(svg_string=svg, zoom=scale))


def import_engine() -> ModuleType:
    """The JavaScript engine."""
    return import_extra("py_mini_racer", "mini-racer", "drawings require a JavaScript engine")


def import_rasterizer() -> ModuleType:
    """The renderer of SVG."""
    return import_extra("resvg_py", "resvg-py", "PNG requires a renderer of SVG")


def import_extra(module: str, package: str, why: str) -> ModuleType:
    """A module of the extra `view`."""
    try:
        return importlib.import_module(module)
    except ImportError:
        what = f"{why}, the package {package}, which is not installed; {CURE}"
        raise MissingPackage(what, package=package) from None
