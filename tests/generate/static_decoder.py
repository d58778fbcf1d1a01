"""The shared decoder in the standard form of version 24, with caches in buffers of a fixed size."""

from __future__ import annotations

from pathlib import Path

import pytest

FILE = Path(__file__).parents[3] / "shared" / "models" / "genai_static_kv_op24" / "model.onnx"


def static_file() -> Path:
    """The file; the test is skipped where the shared models are not."""
    if not FILE.exists():
        pytest.skip("the shared models are not available")
    return FILE
