"""Scopes from the names of nodes: `/encoder/layer.0/attention/MatMul` is in `encoder`, `layer.0` and `attention`."""

from __future__ import annotations

from collections.abc import Sequence

SEPARATORS = ("/", "::")
MIN_SHARE = 0.3  # the share of the names in a graph that must contain a separator for it to be used


def paths_from_names(names: Sequence[str]) -> list[tuple[str, ...]]:
    """The scopes of each node, outermost first; the last part of a name is the node's own and no scope."""
    separator = separator_of(names)
    if separator is None:
        return [()] * len(names)
    return [tuple(part for part in name.split(separator)[:-1] if part) for name in names]


def separator_of(names: Sequence[str]) -> str | None:
    """The separator that divides enough names; None if there is none."""
    for separator in SEPARATORS:
        divided = sum(separator in name.strip(separator) for name in names)
        if divided and divided >= MIN_SHARE * len(names):
            return separator
    return None
