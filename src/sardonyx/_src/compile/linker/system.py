"""C library functions that linked code may call."""

from __future__ import annotations

# LLVM inserts calls to these: to copy memory, and to round on processors without the instructions.
LIBC_FUNCTIONS = (
    "memcpy", "memmove", "memset", "floorf", "ceilf", "roundevenf", "truncf", "floor", "ceil", "roundeven", "trunc",
)  # fmt: skip
