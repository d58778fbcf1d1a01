"""Results of a long benchmark that are kept in a folder, so that it can be run in pieces."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer")
STATE = os.environ.get("TRAINING_STATE")


def recall(key: str, answer: Callable[[], Answer]) -> Answer:
    """A result of the folder TRAINING_STATE, or a new one, which is kept there."""
    if STATE is None:
        return answer()
    path = Path(STATE) / f"{re.sub('[^a-z0-9]+', '_', key.lower())}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(answer())
        part = path.with_suffix(".part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    kept: Answer = json.loads(path.read_text(encoding="utf-8"))
    return kept
