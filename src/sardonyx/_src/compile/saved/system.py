"""Functions of the system that code in files may call."""

from __future__ import annotations

# What LLVM calls where kernels say nothing of it: to move memory, and to round on processors that cannot.
SYSTEM = (
    "memcpy", "memmove", "memset", "floorf", "ceilf", "roundevenf", "truncf", "floor", "ceil", "roundeven", "trunc",
)  # fmt: skip
