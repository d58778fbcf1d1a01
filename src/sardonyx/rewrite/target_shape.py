"""The constant shape that makes a Reshape give what is known of a result."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx.ir.dims import Dim


def target(given: Sequence[Dim] | None, made: Sequence[Dim] | None) -> list[int] | None:
    """A constant shape for a Reshape: numbers, 0 for a size at the place where it was, at most one -1."""
    if made is None or given is None or 0 in made:
        return None
    result: list[int] = []
    for i, size in enumerate(made):
        if isinstance(size, int):
            result.append(size)
        elif size is not None and i < len(given) and given[i] == size:
            result.append(0)
        else:
            result.append(-1)
    unclear = result.count(-1) > 1 or (-1 in result and 0 in result)
    return None if unclear else result
