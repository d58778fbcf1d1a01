"""What holds of every model that a builder makes."""

from __future__ import annotations

import io

import onnx

import sardonyx as sx


def assert_valid(model: sx.Model) -> None:
    """Holds a model to both checkers."""
    assert [d for d in sx.check(model).diagnostics if d.severity == "error"] == []
    file = io.BytesIO()
    sx.save(model, file)
    onnx.checker.check_model(onnx.load_from_string(file.getvalue()), full_check=True)
