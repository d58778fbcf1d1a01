"""Numbers as text: with SI prefixes, and with nouns in singular or plural."""

from __future__ import annotations


def quantity(count: float, unit: str = "") -> str:
    """A number with an SI prefix: `25.6 M`, `102.4 MB`."""
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= factor:
            return f"{count / factor:.1f} {prefix}{unit}"
    return f"{count:g} {unit}".strip()


def pluralize(count: int, noun: str) -> str:
    """A count with its noun: `1 node`, `2 nodes`."""
    return f"{count} {noun}{'s' * (count != 1)}"
