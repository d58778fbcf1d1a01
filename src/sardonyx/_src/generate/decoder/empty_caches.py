"""Caches before the first token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.cache_pairs import CachePair
from sardonyx._src.generate.decoder.grouped_caches import TOKEN_AXIS, window_of
from sardonyx._src.ir import Array, Shape
from sardonyx._src.ir.dims import Dim, Expr
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.runtime.session.session_values import SessionValue


def empty_cache(value: SessionValue, shape: Shape, axis: int | None, rows: int) -> Array:
    """Zeros, of no token along the axis that grows."""
    sizes = [rows]
    for number, dim in enumerate(shape[1:], 1):
        size = 0 if number == axis else dim
        if not isinstance(size, int):
            name = "an open dim" if dim is None else str(dim)
            raise InputError(
                f"the size of {name!r} of the cache {value!r} must be known: state it as sizes={{{name!r}: length}}",
                name=value.name,
            )
        sizes.append(size)
    return zeros(value, sizes)


def window_sizes(session: Session, pairs: Sequence[CachePair]) -> dict[str, int]:
    """The sizes of the open dims of windowed caches, by dim: those of the windows, as small as the operator allows."""
    inputs = {value.name: value for value in session.inputs}
    results = {value.name: value for value in session.model.graph.outputs}
    sizes: dict[str, int] = {}
    for pair in pairs:
        window, shape = window_of(results[pair.present]), inputs[pair.past].shape
        dim = shape[TOKEN_AXIS] if window is not None and shape is not None else None
        if window is not None and isinstance(dim, Expr):
            sizes[str(dim)] = max(window, sizes.get(str(dim), 0))
    return sizes


def unread_cache(value: SessionValue, shape: Shape, rows: int, lengths: Mapping[Dim, int]) -> Array:
    """Zeros in place of a cache of what an encoder computed, which the first run does not read.

    lengths: sizes of open dims, by dim; other ones are 0.
    """
    return zeros(value, [rows, *(dim if isinstance(dim, int) else lengths.get(dim, 0) for dim in shape[1:])])


def zeros(value: SessionValue, sizes: list[int]) -> Array:
    assert value.dtype is not None, "a cache is a tensor"
    return np.zeros(sizes, value.dtype.numpy)
