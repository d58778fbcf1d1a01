"""Arrays of the caller that receive the outputs of a run: `Session.run(out=...)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sardonyx._src.errors import OutputError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.suggestions import suggest

OutputArrays = Mapping[str, Array]


def check_output_arrays(out: object, names: Iterable[str], feeds: object) -> None:
    """Raises OutputError unless each array is for an output, writeable, contiguous, and shares no memory with others or feeds."""
    if not isinstance(out, Mapping):
        raise OutputError(f"out must be a mapping of output names to arrays; got {out!r}", name="out")
    known = set(names)
    for name, array in out.items():
        if name not in known:
            raise OutputError(
                f"the model has no output {name!r}{suggest(str(name), known, 'outputs')}", name=name
            )
        if not isinstance(array, np.ndarray) or not array.flags.carray:
            what = "must be an array that is writeable, aligned and contiguous in C order"
            raise OutputError(f"out[{name!r}] {what}", name=name)
    fed = feeds.values() if isinstance(feeds, Mapping) else ()
    memory = sorted((*ranges_of(out.values(), is_out=True), *ranges_of(fed, is_out=False)))
    end = end_of_out = 0  # of all ranges so far, and of those of `out`; feeds may overlap each other
    for start, stop, is_out in memory:
        if start < (end if is_out else end_of_out):
            raise OutputError("arrays of out must not share memory with feeds or with each other", name="out")
        end = max(end, stop)
        end_of_out = max(end_of_out, stop if is_out else 0)


def ranges_of(values: Iterable[object], *, is_out: bool) -> Iterable[tuple[int, int, bool]]:
    """The address ranges of arrays, each from its first byte to one past its last, with `is_out` as a mark."""
    for value in values:
        if isinstance(value, np.ndarray) and value.size:
            if value.flags.c_contiguous:
                first = value.__array_interface__["data"][0]
                yield first, first + value.nbytes, is_out
            else:
                yield *np.lib.array_utils.byte_bounds(value), is_out


def require_fit(array: Array, shape: tuple[int, ...], dtype: np.dtype[np.generic], name: str) -> Array:
    """The array; raises OutputError unless it has the shape and the element type of an output."""
    if array.shape != shape or array.dtype != dtype:
        actual = f"{array.dtype}{list(array.shape)}"
        raise OutputError(f"out[{name!r}] must be {dtype}{list(shape)}; got {actual}", name=name)
    return array


def place_outputs(
    types: Sequence[tuple[tuple[int, ...], np.dtype[np.generic]]], names: Sequence[str], out: OutputArrays
) -> list[Array]:
    """The arrays that a run fills, for outputs of these shapes and element types: those in `out`, or new ones."""
    return [
        require_fit(out[name], shape, dtype, name) if name in out else np.empty(shape, dtype)
        for name, (shape, dtype) in zip(names, types, strict=True)
    ]


def copy_outputs(results: dict[str, RuntimeValue], out: OutputArrays) -> dict[str, RuntimeValue]:
    """Copies results into the arrays of `out`, which then take their places in the dict `results`; returns this dict."""
    for name, array in out.items():
        result = results.get(name)
        if not isinstance(result, np.ndarray):
            what = f"out[{name!r}] must be left out: the output is {type(result).__name__}, no tensor"
            raise OutputError(what, name=name)
        require_fit(array, result.shape, result.dtype, name)[...] = result
        results[name] = array
    return results
