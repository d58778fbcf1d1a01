"""Conversion of a model between opsets, asserting equal results."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cases import assert_same
from models import parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.ir.walk import nodes


def convert_exactly(text: str, opset: int, target: int, /, **feeds: object) -> Model:
    """Converts the model of a graph's text from `opset` to `target`, and asserts that the outputs have the same bits.

    Array-likes of floats are fed as float32, those of integers as int64.
    """
    return convert_and_compare(text, opset, target, feeds, exact=True)


def convert_closely(text: str, opset: int, target: int, /, **feeds: object) -> Model:
    """Like `convert_exactly`, with outputs equal up to rounding."""
    return convert_and_compare(text, opset, target, feeds, exact=False)


def convert_and_compare(
    text: str, opset: int, target: int, feeds: Mapping[str, object], *, exact: bool
) -> Model:
    original = parse_model(text, opset=opset)
    result = convert(original, target)
    verify(result)
    arrays = {name: to_feed(value) for name, value in feeds.items()}
    before, after = (list(Interpreter(m).run(arrays).values()) for m in (original, result))
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        assert_same(new, old, exact=exact, where=f"output {i} under {target}")
    return result


def to_feed(value: object) -> Array:
    array = np.asarray(value)
    return (
        array.astype(np.float32) if not isinstance(value, np.ndarray) and array.dtype.kind == "f" else array
    )


def op_types(model: Model) -> list[str]:
    """Operator types of the nodes of a model, without Constants."""
    return [node.op_type for node in nodes(model.graph) if node.op_type != "Constant"]
