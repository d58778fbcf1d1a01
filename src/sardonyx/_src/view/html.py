"""Pages as one HTML file, which needs no network and no server."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from importlib import resources

from sardonyx._src.view.page_data import PageData

UNSAFE_IN_DATA = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
ENDS_ELEMENT = re.compile(r"</(script|style)|<!--.*<script|\r", re.IGNORECASE | re.DOTALL)


def page_file(name: str) -> str:
    """The text of a file of the viewer."""
    return (resources.files("sardonyx._src.view") / "page" / name).read_text("utf-8")


def assemble_page(data: PageData, *, server: bool = False) -> str:
    """The page: data, program and style in one document, with a security policy that permits nothing else.

    server: whether the page may send requests to the server that it comes from.
    """
    script, style = page_file("viewer.js"), page_file("viewer.css")
    assert not ENDS_ELEMENT.search(script + style), "the files of the viewer must not end their own elements"
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script, style, server=server)}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{ascii_text(data['title'])}</title>"
        f"<style>{style}</style></head><body>"
        f'<script type="application/json" id="page-data">{embed(data)}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def policy(script: str, style: str, *, server: bool) -> str:
    """The content security policy.

    It permits the viewer's script and style, identified by their hashes, and workers and images that the viewer makes.  The
    viewer sets styles of elements through the object model, which needs no permission.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {hash_source(script)}",
            f"style-src {hash_source(style)}",
            "img-src data: blob:",
            "worker-src blob:",
            f"connect-src {chr(39)}self{chr(39)}" if server else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def embed(data: PageData) -> str:
    """The data as JSON in ASCII, without the characters that could end the element that contains it."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).translate(UNSAFE_IN_DATA)


def ascii_text(text: str) -> str:
    """Text as HTML in ASCII, with entities for all other characters."""
    return html.escape(text).encode("ascii", "xmlcharrefreplace").decode()
