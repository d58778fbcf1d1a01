"""Pages of `view` in tests: their data, and a stub of the viewer."""

from __future__ import annotations

import html
import json
import re
from typing import cast

import pytest

from sardonyx._src.view import drawings
from sardonyx._src.view import html as page_html
from sardonyx._src.view.page_data import GraphData, PageData

STUB = {
    "viewer.js": 'JSON.parse(document.getElementById("page-data").textContent);',
    "viewer.css": "body{margin:0}",
}
DATA = re.compile(r'<script type="application/json" id="page-data">(.*?)</script>', re.DOTALL)


class DrawingStub:
    """Stands for the JavaScript engine and the renderer of the extra `view`."""

    @classmethod
    def MiniRacer(cls) -> DrawingStub:
        return cls()

    def eval(self, program: str) -> None:
        assert program == "picture.js"

    def call(self, function: str, data: str, options: object) -> str:
        return f"<svg>{function} {json.loads(data)['title']} {options}</svg>"

    @staticmethod
    def svg_to_bytes(svg_string: str, zoom: float) -> bytes:
        return f"PNG x{zoom} of {svg_string}".encode()


def stub_viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the viewer by a short program, so that pages are short, and what draws without a browser."""
    monkeypatch.setattr(page_html, "page_file", STUB.__getitem__)
    monkeypatch.setattr(drawings, "import_engine", lambda: DrawingStub)
    monkeypatch.setattr(drawings, "import_rasterizer", lambda: DrawingStub)
    monkeypatch.setattr(drawings, "page_file", lambda name: name)


def data_of(page: str) -> PageData:
    """The data that a page holds, as a browser reads them."""
    match = DATA.search(page)
    assert match is not None, "a page must hold data"
    assert html.unescape(match[1]) == match[1], "the data must need no HTML escapes"
    return cast(PageData, json.loads(match[1]))


def scope_children(graph: GraphData) -> dict[int, int]:
    """How many boxes each scope of a graph has: inner scopes, and nodes of its own."""
    boxes = dict.fromkeys(range(len(graph["scopes"]["parent"])), 0)
    for parent in graph["scopes"]["parent"][1:]:
        boxes[parent] += 1
    for scope in graph["nodes"]["scope"]:
        boxes[scope] += 1
    return boxes
