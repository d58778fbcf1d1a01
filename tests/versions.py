"""One model under two operator sets: it gives the same, and these are its nodes there."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cases import assert_same
from models import model
from sardonyx._src.convert.converter import convert
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.verify import verify
from sardonyx._src.ir.walk import nodes


def agree(text: str, opset: int, target: int, /, **feeds: object) -> Model:
    """The model of a graph's text under operator set `target`, which gives what it gives under `opset`.

    Array-likes of floats are fed as float32, those of integers as int64.
    """
    return compared(text, opset, target, feeds, exact=True)


def nearly_agree(text: str, opset: int, target: int, /, **feeds: object) -> Model:
    """As `agree`, up to rounding."""
    return compared(text, opset, target, feeds, exact=False)


def compared(text: str, opset: int, target: int, feeds: Mapping[str, object], *, exact: bool) -> Model:
    original = model(text, opset=opset)
    result = convert(original, target)
    verify(result)
    arrays = {name: fed(value) for name, value in feeds.items()}
    before, after = (list(Interpreter(m).run(arrays).values()) for m in (original, result))
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        assert_same(new, old, exact=exact, where=f"output {i} under {target}")
    return result


def fed(value: object) -> Array:
    array = np.asarray(value)
    return (
        array.astype(np.float32) if not isinstance(value, np.ndarray) and array.dtype.kind == "f" else array
    )


def op_types(found: Model) -> list[str]:
    """What the nodes of a model are, Constants left out."""
    return [node.op_type for node in nodes(found.graph) if node.op_type != "Constant"]
