"""Decoding of long JSON requests in slices: the lists of `data` are cut into pieces, which are decoded one after the other.

Decoding a long text at once would hold the interpreter, and with it the event loop, and the decoded objects would have many
times the bytes of the text.  The text without the elements of its lists is short and is decoded at once, with a placeholder for
each list; the elements become arrays slice by slice.  Each slice, with the brackets around it, is decoded as JSON, so that the
same texts are accepted as in one piece.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator
from itertools import chain

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.serve.protocol.codec_threads import yield_interpreter
from sardonyx._src.serve.protocol.datatypes import ELEMENT_TYPES
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.held_bytes import Allowance
from sardonyx._src.serve.protocol.json_data import elements_array, invalid
from sardonyx._src.serve.protocol.json_text import parse_json, parse_object
from sardonyx._src.serve.protocol.tensor_shapes import MAX_RANK, check_count

MAX_FIELDS = 256 << 10  # bytes of the JSON of a request without the lists of `data`
FIRST_SLICE = 1 << 10  # bytes of the first slice of a list; each slice has twice as many as the one before
MAX_SLICE = 1 << 14  # largest number of bytes of a slice, unless it has a longer string
KEY = b'"data"'
LIST_BEGIN = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*(?=\[)")
SPACE = b" \t\r\n"
QUOTE, OPEN, CLOSE, COMMA, BACKSLASH = b'"[],\\'
PLACEHOLDER = f"\0{os.urandom(8).hex()}:"  # followed by the number of a list: no client can write one


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a list.

    begin, end: where its text begins and ends.
    depth, open_depth: the number of lists that are open before and after it.
    """

    begin: int
    end: int
    depth: int
    open_depth: int


@dataclass(frozen=True, slots=True)
class SlicedList:
    """A list of a JSON text."""

    text: bytes | bytearray
    slices: list[Slice]

    @property
    def max_elements(self) -> int:
        """An upper bound of the number of elements: each has at least one byte, and a comma or a bracket after it."""
        return (self.slices[-1].end - self.slices[0].begin) // 2

    def values(self) -> Iterator[tuple[Slice, list[object]]]:
        """Each slice, and its values inside the lists that are open.  Raises RequestFailure for a slice that is not JSON."""
        for piece in self.slices:
            yield_interpreter()
            text = bytes(self.text[piece.begin : piece.end]).strip(SPACE)
            if (piece.depth and text[:1] == b"]") or (piece.open_depth and text[-1:] in (b"[", b"")):
                raise malformed("a comma must be between two values")
            value = parse_json(b"[" * piece.depth + text + b"]" * piece.open_depth)
            assert isinstance(value, list), "a slice is in brackets"
            yield piece, value


def parse_long_object(text: bytes | bytearray, end: int) -> dict[str, object]:
    """The JSON object in the first `end` bytes of a text; in its inputs, each list of `data` is a SlicedList.

    Raises RequestFailure.
    """
    parts, lists = cut_lists(text, end)
    message = parse_object(b"".join(parts))
    inputs = message.get("inputs")
    for item in inputs if isinstance(inputs, list) else ():
        data = item.get("data") if isinstance(item, dict) else None
        if isinstance(data, str) and data.startswith(PLACEHOLDER):
            item["data"] = lists.pop(int(data.removeprefix(PLACEHOLDER)))
    if lists:
        raise malformed("data must be in an input, once")
    return message


def cut_lists(text: bytes | bytearray, end: int) -> tuple[list[bytes | bytearray], dict[int, SlicedList]]:
    """The parts of a text, with placeholders for lists of `data`, and these lists by number."""
    parts: list[bytes | bytearray] = []
    lists: dict[int, SlicedList] = {}
    begin = position = 0  # where the current part begins, and from where the next key is searched
    left = MAX_FIELDS
    while (key := text.find(KEY, position, min(end, begin + left))) >= 0:
        match = LIST_BEGIN.match(text, key + len(KEY), min(end, begin + left))
        # Without a list after it, "data" is a value; after a backslash it is the end of another string.
        if match is None or text[key - 1] == BACKSLASH:
            position = key + len(KEY)
            continue
        pieces = SlicedList(text, cut_list(text, match.end(), end))
        parts += (text[begin : match.end()], b'"\\u0000%s%d"' % (PLACEHOLDER[1:].encode(), len(lists)))
        lists[len(lists)] = pieces
        left -= match.end() - begin
        begin = position = pieces.slices[-1].end
    if end - begin > left:
        why = f"the JSON of a request without the elements of data must have at most {MAX_FIELDS} bytes; got more"
        raise RequestFailure(FailureKind.TOO_LARGE, why)
    parts.append(text[begin:end])
    return parts, lists


def cut_list(text: bytes | bytearray, begin: int, end: int) -> list[Slice]:
    """The slices of the list that begins at `begin`.  Raises RequestFailure for a list without an end."""
    slices: list[Slice] = []
    depth, size = 0, FIRST_SLICE
    while True:
        yield_interpreter()
        cut = find_cut(bytes(text[begin : min(begin + size, end)]), depth)
        if cut is None:
            if begin + size >= end:
                raise malformed("a list has no end")
            size *= 2
            continue
        slices.append(Slice(begin, begin + cut[0], depth, cut[1]))
        if cut[1] == 0:
            return slices
        begin, depth = begin + cut[0] + 1, cut[1]
        size = min(2 * size, MAX_SLICE)


def find_cut(text: bytes, depth: int) -> tuple[int, int] | None:
    """The index at which a part of a list may be cut, and the number of lists that are open there.

    A part is cut at the end of the list, where 0 lists are open, or else at the last comma; None if it has neither.
    depth: the number of lists that are open at the begin of the part.
    """
    if BACKSLASH in text:  # replaced by text of equal length without quotes that do not end a string
        text = text.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    data = np.frombuffer(text, np.uint8)
    if QUOTE in text:
        data = np.where(np.bitwise_xor.accumulate(data == QUOTE), np.uint8(0), data)  # without strings
    brackets = np.flatnonzero((data == OPEN) | (data == CLOSE))
    depths = depth + np.cumsum(np.where(data[brackets] == OPEN, 1, -1))
    if brackets.size and depths.max() > MAX_RANK + 1:
        raise malformed(f"data must be nested at most {MAX_RANK} deep")
    ends = np.flatnonzero(depths == 0)
    if ends.size:
        return int(brackets[ends[0]]) + 1, 0
    commas = np.flatnonzero(data == COMMA)
    if not commas.size:
        return None
    before = int(np.searchsorted(brackets, commas[-1]))
    return int(commas[-1]), int(depths[before - 1]) if before else depth


def parse_sliced(
    name: str, datatype: str, shape: tuple[int, ...], data: SlicedList, allowance: Allowance
) -> Array:
    """The tensor of an input; the same as `parse_data` returns for the whole list.

    allowance: counts the bytes of the tensor and of its strings.
    """
    count = math.prod(shape)
    if count > data.max_elements:
        why = f"must have {count} elements for shape {list(shape)}; got at most {data.max_elements}"
        raise invalid(name, why)
    dtype = ELEMENT_TYPES[datatype].numpy if datatype != "BYTES" else np.dtype(object)
    allowance.add(count * dtype.itemsize)
    result = np.empty(count, dtype)
    rows: OpenRows | None = None
    offset = 0
    for piece, value in data.values():
        if rows is None:
            is_nested = bool(value) and type(value[0]) is list
            rows = OpenRows(name, shape if is_nested else ())
        elements = rows.flatten(piece, value)
        part = elements_array(name, datatype, elements, offset)
        if datatype == "BYTES":
            allowance.add(sum(map(sys.getsizeof, elements)))
        if (end := offset + len(elements)) > count:
            check_count(name, shape, end)
        result[offset:end] = part
        offset = end
    check_count(name, shape, offset)
    return result.reshape(shape)


class OpenRows:
    """Compares the lengths of nested lists, which arrive in slices, with a shape."""

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        """shape: the shape of the nested lists; () for a flat list of any length."""
        self._name, self._shape = name, shape
        self._lengths = [0] * len(shape)  # for each axis, the length so far of the list that is open

    def flatten(self, piece: Slice, value: list[object]) -> list[object]:
        """The elements of the next slice.  Raises RequestFailure for lists of other lengths."""
        level: list[object] = [value] if self._shape else value
        for axis, dim in enumerate(self._shape):
            if not set(map(type, level)) <= {list}:
                raise self._mismatch(axis)
            rows: list[list[object]] = level  # type: ignore[assignment]
            lengths = list(map(len, rows))
            # The first row continues the open one.  If its own first row continues, too, that one was counted before.
            if axis < piece.depth:
                lengths[0] += self._lengths[axis] - (axis + 1 < piece.depth)
            if axis < piece.open_depth:
                self._lengths[axis] = lengths.pop()
            if lengths.count(dim) < len(lengths):
                raise self._mismatch(axis)
            level = list(chain.from_iterable(rows))
        return level

    def _mismatch(self, axis: int) -> RequestFailure:
        why = f"must be flat, or nested as the shape {list(self._shape)}; axis {axis} differs"
        return invalid(self._name, why)


def malformed(why: str) -> RequestFailure:
    return RequestFailure(FailureKind.INVALID, f"the request must be JSON: {why}")
