"""`install`: makes an interface of this package replace the package that it imitates."""

from __future__ import annotations

import importlib
import logging
import sys

from sardonyx._src.compat.notices import note_once
from sardonyx._src.compat.onnxruntime.missing import explain_missing_modules

HOME = "sardonyx.compat"
MODULES = (
    "onnxruntime",
    "onnxruntime.capi",
    "onnxruntime.capi._pybind_state",
    "onnxruntime.capi.onnxruntime_inference_collection",
    "onnxruntime.capi.onnxruntime_pybind11_state",
    "onnxruntime.transformers",
    "onnxruntime.transformers.io_binding_helper",
)


def install() -> None:
    """Makes `import onnxruntime` import `sardonyx.compat.onnxruntime` in this process.

    Call it before anything imports onnxruntime: modules that have imported it keep what they have.
    """
    existing = sys.modules.get("onnxruntime")
    if existing is not None and existing.__name__ == "onnxruntime":
        what = "onnxruntime was imported before sardonyx.compat.install(); who imported it goes on to use it"
        note_once(what, logging.WARNING)
        for name in [name for name in sys.modules if name.startswith("onnxruntime.")]:
            del sys.modules[name]
    for name in MODULES:
        sys.modules[name] = importlib.import_module(f"{HOME}.{name}")
    explain_missing_modules()
