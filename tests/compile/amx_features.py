"""Targets without AMX, for tests that compare it with what processors without it run."""

from __future__ import annotations


def without_amx(features: str) -> str:
    """A feature string of LLVM in which the AMX features are disabled."""
    names = features.split(",")
    return ",".join(f"-{name[1:]}" if name.startswith("+amx") else name for name in names)
