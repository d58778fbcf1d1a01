"""Feeds for mutated models: those of the model before the mutation where they still fit, random ones elsewhere."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Model, OptionalType, SequenceType, TensorType, Type
from sardonyx._src.measure.random_feeds import random_feeds
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.results.result_types import matches_type
from sardonyx._src.runtime.session.session import SessionValue

MAX_ELEMENTS = 1 << 18  # of one input


def feeds_for(model: Model, feeds: Mapping[str, RuntimeValue], seed: int) -> dict[str, object] | None:
    """Feeds for all inputs; None if an input has a type of which no value can be generated, or is too large."""
    ports = [SessionValue(v.name, v.type, v.initializer is not None) for v in model.graph.inputs]
    fitting = {p.name: feeds[p.name] for p in ports if p.name in feeds and fits(feeds[p.name], p.type)}
    missing = [port for port in ports if port.name not in fitting and not port.has_default]
    if any(size > MAX_ELEMENTS for port in missing for size in sizes(port.type)):
        return None
    try:
        return {**fitting, **random_feeds(missing, {}, seed, {}).values}
    except SardonyxError:
        return None


def fits(value: RuntimeValue, declared: Type | None) -> bool:
    """Whether a value has the declared type, rank and numeric dims."""
    if not matches_type(value, declared):
        return False
    if not isinstance(declared, TensorType) or declared.shape is None or not isinstance(value, np.ndarray):
        return True
    dims = declared.shape
    return value.ndim == len(dims) and all(
        not isinstance(dim, int) or dim == size for dim, size in zip(dims, value.shape, strict=True)
    )


def sizes(declared: Type | None) -> Iterator[int]:
    """The largest of the dims and the number of elements of each tensor in a type, open dims left out."""
    match declared:
        case TensorType() if declared.shape is not None:
            numbers = [dim for dim in declared.shape if isinstance(dim, int)]
            yield max(math.prod(numbers), *numbers, 0)
        case SequenceType() | OptionalType():
            yield from sizes(declared.elem)
