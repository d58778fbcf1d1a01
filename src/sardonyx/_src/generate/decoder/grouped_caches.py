"""Caches of GroupQueryAttention of com.microsoft: of all tokens, or of a window, from which the operator evicts the oldest ones."""

from __future__ import annotations

from sardonyx._src.ir import Value

GROUPED = (
    "com.microsoft",
    "GroupQueryAttention",
)  # counts tokens by its other inputs, whatever the size of the past
TOKEN_AXIS = 2  # of its caches [batch, heads, tokens, size]


def is_grouped(present: Value) -> bool:
    """Whether GroupQueryAttention computes a value."""
    node = present.producer
    return node is not None and (node.domain, node.op_type) == GROUPED


def window_of(present: Value) -> int | None:
    """The tokens of the window of which the operator returns a cache; None for any other value."""
    if not is_grouped(present) or not integer_attribute(present, "sliding_window_cache"):
        return None
    return integer_attribute(present, "local_window_size")


def integer_attribute(value: Value, name: str) -> int | None:
    """An attribute of the node that computes a value; None if it is absent."""
    attribute = value.producer.attributes.get(name) if value.producer is not None else None
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else None
