"""magika: the kinds of some contents."""

from __future__ import annotations

import json
from pathlib import Path

from magika import Magika

CONTENTS = {
    "python": Path(__file__).read_bytes(),
    "json": json.dumps({"numbers": list(range(200)), "text": "a" * 100}).encode(),
    "markdown": b"# Title\n\nSome *text* with [a link](https://example.org).\n\n- one\n- two\n" * 10,
    "html": b"<!DOCTYPE html><html><head><title>t</title></head><body><p>text</p></body></html>" * 5,
    "shell": b'#!/bin/sh\nset -e\nfor f in *.txt; do\n  echo "$f"\ndone\n' * 5,
    "zeros": bytes(2000),
    "short": b"a",
}


def run() -> dict[str, object]:
    magika = Magika()
    answers: dict[str, object] = {}
    for name, content in CONTENTS.items():
        result = magika.identify_bytes(content)
        answers[name] = [str(result.output.label), float(result.score)]
    return answers
