"""Cache keys by object identity, for results built from a node's attributes (hashing large lists is slow)."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T", bound=tuple[object, ...])


class IdentityKey(Generic[T]):
    """Attributes compared by identity: those of one node are the same objects in all of its calls.

    As key of a cache it keeps them alive, so that no other object gets the identity of one of them.
    """

    def __init__(self, attributes: T) -> None:
        self.attributes = attributes
        self.key = tuple(map(id, attributes))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and self.key == other.key
