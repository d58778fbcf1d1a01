"""The models of the onnx wheel's backend suite, as bytes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache

from onnx.backend.test.loader import load_node_model_tests

from proto.judge import OFFICIAL, SHARED


@cache
def node_models() -> Mapping[str, bytes]:
    """The models of the node cases, which the wheel generates in memory."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the wheel's own making: casts that overflow on purpose
        return {case.name: case.model.SerializeToString() for case in load_node_model_tests()}


@cache
def stored_models() -> Mapping[str, bytes]:
    return {str(path.relative_to(OFFICIAL)): path.read_bytes() for path in sorted(OFFICIAL.rglob("*.onnx"))}


@cache
def shared_models() -> Mapping[str, bytes]:
    """The shared models, if they are available."""
    return {path.parent.name: path.read_bytes() for path in sorted(SHARED.glob("*/model.onnx"))}
