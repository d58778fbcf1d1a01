"""Conversion between models and protobuf messages of the package `onnx`, for programs that also use its functions."""

from __future__ import annotations

import importlib
import io
from typing import Any

from sardonyx._src.errors import LimitError, MissingPackage
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Model

MAX_MESSAGE = (1 << 31) - 1  # bytes of the largest message that protobuf encodes


def from_onnx(message: ModelSource) -> Model:
    """The model of an `onnx.ModelProto`, or of an `onnx_ir.Model`.

    This is `sx.load` under a name that users of onnx look for.  External data are read relative to the working directory of
    the process; `sx.load(message, base=folder)` reads them from another folder.
    """
    return load(message)


def to_onnx(model: Model) -> Any:
    """The model as an `onnx.ModelProto`, with external tensors inline.

    Raises MissingPackage if onnx is not installed, LimitError for more than the 2 GiB that a message can have (save such
    a model to a file), and what `sx.save` raises.
    """
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise MissingPackage("to_onnx needs the package onnx: pip install onnx", package="onnx") from error
    file = io.BytesIO()
    save(model, file, external=False)
    if file.getbuffer().nbytes > MAX_MESSAGE:
        what = f"a message has at most {MAX_MESSAGE} bytes; got {file.getbuffer().nbytes}; write the model with sx.save"
        raise LimitError(what, limit="the size of protobuf messages")
    return onnx.ModelProto.FromString(file.getvalue())
