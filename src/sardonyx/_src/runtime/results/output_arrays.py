"""Arrays that receive the outputs of a run: those of the caller (`Session.run(out=...)`), and new ones of changing sizes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import OutputError
from sardonyx._src.ir import Array
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.suggestions import suggest

OutputArrays = Mapping[str, Array]
MIN_ROUNDED_BYTES = 1 << 15  # of outputs of changing sizes
MAX_ROOM = 1.125  # the rounded size over the size


@dataclass(frozen=True, slots=True)
class OutputMemory:
    """The arrays of a caller that receive outputs.

    arrays: by output name.
    fed: the inputs to which an array is fed as well, by output name.
    """

    arrays: OutputArrays
    fed: Mapping[str, str]

    def place(
        self,
        types: Sequence[tuple[tuple[int, ...], np.dtype[np.generic]]],
        names: Sequence[str],
        in_place: Mapping[str, str],
    ) -> list[Array]:
        """The arrays that a run fills, for outputs of these shapes and element types: the caller's, or new ones.

        A fed array is filled only if the program may write the output in the memory of its input, as `in_place` says.
        """
        placed = []
        for name, (shape, dtype) in zip(names, types, strict=True):
            array = self.arrays.get(name)
            if array is not None:
                require_fit(array, shape, dtype, name)
            if array is None or (name in self.fed and self.fed[name] != in_place.get(name)):
                array = np.empty(shape, dtype)
            placed.append(array)
        return placed

    def copy(self, results: dict[str, RuntimeValue]) -> dict[str, RuntimeValue]:
        """Copies results into the arrays, which then take their places in the dict `results`; returns this dict."""
        for name, array in self.arrays.items():
            result = results.get(name)
            if result is array:
                continue
            if not isinstance(result, np.ndarray):
                what = f"out[{name!r}] must be left out: the output is {type(result).__name__}, no tensor"
                raise OutputError(what, name=name)
            require_fit(array, result.shape, result.dtype, name)[...] = result
            results[name] = array
        return results


class OwnedArrays(dict[str, Array]):
    """Arrays whose owner guarantees what `check_output_arrays` checks, so that no run checks it again.

    fed: the inputs to which the owner feeds an array as well, by output name.
    """

    def __init__(self, arrays: OutputArrays, fed: Mapping[str, str]) -> None:
        super().__init__(arrays)
        self.fed = fed


def check_output_arrays(out: object, names: Iterable[str], feeds: object) -> OutputMemory:
    """The arrays of `out`.

    Raises OutputError unless each array is for an output, writeable, contiguous, and shares no memory with others or with
    feeds, unless it is one fed array itself.
    """
    if isinstance(out, OwnedArrays):
        return OutputMemory(out, out.fed)
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
    arrays = dict(feeds) if isinstance(feeds, Mapping) else {}
    fed = find_fed(out, arrays)
    others = [value for name, value in arrays.items() if name not in fed.values()]
    memory = sorted((*ranges_of(out.values(), is_out=True), *ranges_of(others, is_out=False)))
    end = end_of_out = 0  # of all ranges so far, and of those of `out`; feeds may overlap each other
    for start, stop, is_out in memory:
        if start < (end if is_out else end_of_out):
            what = "arrays of out must not share memory with each other, nor with feeds, unless they are one fed array"
            raise OutputError(what, name="out")
        end = max(end, stop)
        end_of_out = max(end_of_out, stop if is_out else 0)
    return OutputMemory(out, fed)


def find_fed(out: OutputArrays, feeds: Mapping[str, object]) -> dict[str, str]:
    """For each array of `out` that is a fed array, too, the name of the input."""
    inputs = {id(value): name for name, value in feeds.items()}
    return {name: inputs[id(array)] for name, array in out.items() if id(array) in inputs}


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


def new_output(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """A new array for an output whose sizes differ from run to run, like a cache that grows by a token.

    A large one has memory of a rounded size, at most an eighth more.  So the next runs get memory that earlier results have
    freed, and the system need not map new pages for each run.
    """
    count = math.prod(shape)
    size = count * dtype.itemsize
    if size < MIN_ROUNDED_BYTES:
        return np.empty(shape, dtype)
    step = 1 << (size.bit_length() - 4)
    room = -(-size // step) * step
    return np.empty(room // dtype.itemsize, dtype)[:count].reshape(shape)
