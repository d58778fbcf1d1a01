"""Cache keys by object identity, for results built from the attributes of a node: hashing large lists is slow."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T", bound=tuple[object, ...])


class IdentityKey(Generic[T]):
    """Attributes compared by identity, and arrays by their memory.  All calls of a node have the same attribute objects.

    As the key of a cache it keeps them alive, so that no other object gets the identity or the memory of one of them.
    """

    def __init__(self, attributes: T) -> None:
        self.attributes = attributes
        self.key = tuple(map(identity, attributes))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self.key == other.key


def identity(attribute: object) -> object:
    """A key that no other attribute has that is alive at the same time."""
    if isinstance(attribute, np.ndarray):
        return attribute.ctypes.data, attribute.shape, attribute.strides, attribute.dtype.str
    return id(attribute)
