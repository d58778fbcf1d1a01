"""The same twelve mistakes in each library: where each is reported."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path

import onnx

KINDS = (
    "misspelled operator",
    "operator newer than the operator set",
    "input missing",
    "misspelled attribute",
    "attribute of a wrong type",
    "attribute missing",
    "float32 with float64",
    "sizes of a product",
    "sizes that do not broadcast",
    "axis beyond the rank",
    "two values of one name",
    "value of a branch used outside",
)
FOLDER = str(Path(__file__).parent)


def verdict(make: Callable[[], object] | None, source: str) -> str:
    """Where a mistake is reported: at its line, later in the program, by onnx's checker, or nowhere.

    source: the lines of the mistake's function, of which one is marked.
    """
    if make is None:
        return "cannot be written"
    try:
        model = make()
    except Exception as error:  # noqa: BLE001  # each library has errors of its own
        lines = [
            frame.line or ""
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename.startswith(FOLDER)
        ]
        is_named = any("# mistake" in line for line in lines) or "# mistake" in str(error)
        return "at the line" if is_named else "later"
    assert isinstance(model, onnx.ModelProto), source
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:  # noqa: BLE001  # of the checker or of its inference
        return "onnx.checker"
    return "nowhere"
