"""Requirements of matchers: what does not hold makes a node a fallback, unless another matcher recognizes it."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


class FallbackRequired(Exception):
    """A matcher does not recognize a node, as if it had returned None."""


def require(condition: bool) -> None:
    """Raises FallbackRequired unless the condition holds."""
    if not condition:
        raise FallbackRequired


def require_value(value: T | None) -> T:
    """The value; raises FallbackRequired for None."""
    if value is None:
        raise FallbackRequired
    return value
