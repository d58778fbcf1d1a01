"""Answers that operators gave, kept in the process for every node of any model that asks the same.

An answer depends on the operator's facet, the types and attributes it is asked about and the elements it has looked
at, all of which are in its key, so that it holds for other models too.  The memory is bounded: when what it keeps has
`MOST_PARTS` parts it begins anew, and what is large by itself is not kept.  Threads may share it, since one lookup or
one change of a dict is a single step, and an answer never changes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from sardonyx._src.infer.elements import INT, Elements, may_be_small
from sardonyx._src.ir.dims import Expr
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import FieldStorage, Tensor
from sardonyx._src.ir.types import (
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
)
from sardonyx._src.ops.inference import Result

MOST_PARTS = 1 << 18  # numbers, terms and eights of characters, of all keys and answers
LARGEST = 1 << 9  # parts of one key with its answer

Key = tuple[Hashable, ...]


class Answer:
    """Types of a node's outputs, and whether one may be small enough for its elements to be known."""

    __slots__ = ("may_be_small", "types")

    def __init__(self, found: Result) -> None:
        if isinstance(found, TensorType):
            self.types: Sequence[Type | None] = (found,)
            self.may_be_small = may_be_small(found)
        else:
            self.types = found if isinstance(found, Sequence) else (found,)
            self.may_be_small = any(map(may_be_small, self.types))


class Memory:
    """Answers by key.  For a key whose answers depend on elements of inputs as well, those inputs stand there, and
    the answers under keys that hold these elements too."""

    __slots__ = ("found", "parts")

    def __init__(self) -> None:
        self.found: dict[Key | None, Answer | tuple[int, ...]] = {}
        self.parts = 0

    def put(self, key: Key, answer: Answer | tuple[int, ...]) -> None:
        """Keeps an answer, unless it is large."""
        types = answer.types if isinstance(answer, Answer) else ()
        parts = parts_of(key) + sum(map(parts_of, types))
        if parts > LARGEST:
            return
        if self.parts + parts > MOST_PARTS:
            self.clear()
        self.parts += parts
        self.found[key] = answer

    def clear(self) -> None:
        self.found.clear()
        self.parts = 0


MEMORY = Memory()


def parts_of(part: Hashable) -> int:
    """How much of the memory something takes, roughly."""
    if isinstance(part, TensorType | SparseTensorType):
        parts = 1 if part.shape is None else parts_of(part.shape)
        named = part.denotation or part.dim_denotations
        return parts + parts_of((part.denotation, *part.dim_denotations)) if named else parts
    if isinstance(part, tuple):
        if len(part) > LARGEST or INT.issuperset(map(type, part)):
            return 1 + len(part)
        return 1 + sum(map(parts_of, part))
    if isinstance(part, str | bytes):
        return 1 + len(part) // 8
    if isinstance(part, Expr):
        return part.size
    if isinstance(part, SequenceType | OptionalType):
        return parts_of(part.denotation) + parts_of(part.elem)
    if isinstance(part, MapType):
        return parts_of(part.denotation) + parts_of(part.value)
    if isinstance(part, OpaqueType):
        return parts_of((part.domain, part.name, part.denotation))
    return 1


def content(elements: Elements, value: Value | None) -> Hashable:
    """What is known of a value's elements, as something that equals that of equal ones.

    Of a short list of numbers in a tensor's typed field it is the list, so that the tensor need not be read.
    """
    stored = None if value is None else elements.stored(value)
    if isinstance(stored, Tensor) and isinstance(stored.storage, FieldStorage):
        entries = stored.storage.values
        if isinstance(entries, list) and len(entries) <= LARGEST:
            return stored.dtype, stored.shape, tuple(entries)
    known = elements.get(value)
    if known is None:
        return None
    content = tuple(known.reshape(-1).tolist()) if known.dtype == np.object_ else known.tobytes()
    return known.dtype, known.shape, content
