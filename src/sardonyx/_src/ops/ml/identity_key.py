"""Cache keys by object identity, for results built from a node's attributes (hashing large lists is slow)."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T", bound=tuple[object, ...])


class IdentityKey(Generic[T]):
    """Attributes compared by identity, arrays by their memory: those of one node are the same in all of its calls.

    As key of a cache it keeps them alive, so that nothing else gets the identity or the memory of one of them.
    """

    def __init__(self, attributes: T) -> None:
        self.attributes = attributes
        self.key = tuple(map(identity, attributes))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self.key == other.key


def identity(attribute: object) -> object:
    """What distinguishes an attribute from others that live at the same time."""
    if isinstance(attribute, np.ndarray):
        return attribute.ctypes.data, attribute.shape, attribute.strides, attribute.dtype.str
    return id(attribute)
