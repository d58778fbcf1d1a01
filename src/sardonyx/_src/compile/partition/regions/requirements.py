"""Requirements of matchers: a node that violates one becomes a fallback, unless another matcher recognizes it."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


class FallbackRequired(Exception):
    """Raised in a matcher that does not recognize a node, with the effect of returning None."""


def require(condition: bool) -> None:
    """Raises FallbackRequired unless the condition holds."""
    if not condition:
        raise FallbackRequired


def require_value(value: T | None) -> T:
    """The value; raises FallbackRequired for None."""
    if value is None:
        raise FallbackRequired
    return value
