"""onnxruntime-extensions: its import, and the names of onnxruntime that it takes over; its operators are a native library."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import onnxruntime_extensions


def run() -> dict[str, object]:
    return {
        "error": onnxruntime_extensions.ONNXRuntimeError is onnxruntime.capi.onnxruntime_pybind11_state.Fail,
        "library": Path(onnxruntime_extensions.get_library_path()).exists(),
        "device": onnxruntime.get_device(),
    }
