"""The files of the viewer are in the package, and fit into a page."""

from __future__ import annotations

import base64
import hashlib
import re

import sardonyx as sx
from models import parse_model
from pages import data_of
from sardonyx._src.view.html import page_file

MODEL = "g (float[N,3] x) => (float[N,3] y) { a = Neg(x) y = LeakyRelu<alpha = 0.5>(a) }"


def test_a_page_holds_the_viewer_under_its_hash() -> None:
    page = sx.view(parse_model(MODEL)).html
    assert len(data_of(page)["documents"]) == 1
    for name, element in (("viewer.js", "script"), ("viewer.css", "style")):
        text = page_file(name)
        assert f"<{element}>{text}</{element}>" in page
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in page


def test_the_viewer_asks_nothing_of_the_network() -> None:
    text = page_file("viewer.js") + page_file("viewer.css")
    assert set(re.findall(r"https?://[\w.]+", text)) <= {
        "http://www.w3.org",  # names of XML namespaces, which nothing requests
        "https://www.w3.org",
        "https://github.com",  # of licences, in comments
    }
    assert not re.search(r"\beval\(|new Function\(", text)
