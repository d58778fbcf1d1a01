"""Remembering what was made of a node's attributes: large forests take longer to build than to ask."""

from __future__ import annotations

from typing import Generic, TypeVar

T = TypeVar("T", bound=tuple[object, ...])


class Same(Generic[T]):
    """Attributes that are equal when they are the same objects, which those of one node are in all of its calls.

    As key of a cache it keeps them alive, so that no other object gets the identity of one of them.
    """

    def __init__(self, attributes: T) -> None:
        self.attributes = attributes
        self.key = tuple(map(id, attributes))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.key == other.key
