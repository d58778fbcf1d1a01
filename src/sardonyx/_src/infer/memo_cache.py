"""Shape-inference memo cache: output types of operators, shared by all nodes of all models of the process.

The output types depend on the operator's infer facet, the input types, the attributes and the elements that the
facet reads.  All of these are part of the key, so that an entry is valid for other models too.  The cache is
bounded: it is cleared when its total cost would exceed `MAX_CACHE_COST`, and entries that cost more than
`MAX_ENTRY_COST` are not cached.  Threads may share it: each lookup and each update is a single dict operation,
and entries are immutable.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from sardonyx._src.infer.elements import INT, Elements, may_be_small
from sardonyx._src.ir import (
    MapType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    Tensor,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.dims import Expr
from sardonyx._src.ir.tensors import FieldStorage
from sardonyx._src.ir.types import OpaqueType
from sardonyx._src.ops.inference import DimPair, Result

MAX_CACHE_COST = 1 << 18  # total `cost_of` all keys and types: numbers, terms, and 8 characters each
MAX_ENTRY_COST = 1 << 9  # `cost_of` one key and its types

Key = tuple[Hashable, ...]


class OutputTypes:
    """Types of a node's outputs.

    may_be_small: whether an output may be small enough for its elements to be known.
    equal_dims: pairs of input sizes that the operator requires to be equal; the types hold only if they are.
    """

    __slots__ = ("equal_dims", "may_be_small", "types")

    def __init__(self, result: Result, equal_dims: Sequence[DimPair] = ()) -> None:
        self.equal_dims = tuple(equal_dims)
        if isinstance(result, TensorType):
            self.types: Sequence[Type | None] = (result,)
            self.may_be_small = may_be_small(result)
        else:
            self.types = result if isinstance(result, Sequence) else (result,)
            self.may_be_small = any(map(may_be_small, self.types))


class MemoCache:
    """Output types by key.

    If the types depend on elements of inputs as well, the entry has the indices of these inputs instead, and the types
    are stored under the key extended by the elements.
    """

    __slots__ = ("cost", "entries")

    def __init__(self) -> None:
        self.entries: dict[Key | None, OutputTypes | tuple[int, ...]] = {}
        self.cost = 0

    def put(self, key: Key, entry: OutputTypes | tuple[int, ...]) -> None:
        """Stores an entry unless it is too large."""
        content = (*entry.types, *entry.equal_dims) if isinstance(entry, OutputTypes) else ()
        cost = cost_of(key) + sum(map(cost_of, content))
        if cost > MAX_ENTRY_COST:
            return
        if self.cost + cost > MAX_CACHE_COST:
            self.clear()
        self.cost += cost
        self.entries[key] = entry

    def clear(self) -> None:
        self.entries.clear()
        self.cost = 0


MEMO_CACHE = MemoCache()


def cost_of(part: Hashable) -> int:
    """Approximate size of a part of a key, or of a type."""
    if isinstance(part, TensorType | SparseTensorType):
        cost = 1 if part.shape is None else cost_of(part.shape)
        has_denotation = part.denotation or part.dim_denotations
        return cost + cost_of((part.denotation, *part.dim_denotations)) if has_denotation else cost
    if isinstance(part, tuple):
        if len(part) > MAX_ENTRY_COST or INT.issuperset(map(type, part)):
            return 1 + len(part)
        return 1 + sum(map(cost_of, part))
    if isinstance(part, str | bytes):
        return 1 + len(part) // 8
    if isinstance(part, Expr):
        return part.size
    if isinstance(part, SequenceType | OptionalType):
        return cost_of(part.denotation) + cost_of(part.elem)
    if isinstance(part, MapType):
        return cost_of(part.denotation) + cost_of(part.value)
    if isinstance(part, OpaqueType):
        return cost_of((part.domain, part.name, part.denotation))
    return 1


def elements_key(elements: Elements, value: Value | None) -> Hashable:
    """A value's known elements in hashable form.

    A tensor with a short list of numbers in a typed field is not decoded: the list itself is used.
    """
    entry = None if value is None else elements.peek(value)
    if isinstance(entry, Tensor) and isinstance(entry.storage, FieldStorage):
        numbers = entry.storage.values
        if isinstance(numbers, list) and len(numbers) <= MAX_ENTRY_COST:
            return entry.dtype, entry.shape, tuple(numbers)
    known = elements.get(value)
    if known is None:
        return None
    content = tuple(known.reshape(-1).tolist()) if known.dtype == np.object_ else known.tobytes()
    return known.dtype, known.shape, content
