"""Functions of the system that code in files may call."""

from __future__ import annotations

SYSTEM = ("memcpy", "memmove", "memset")  # what LLVM calls where kernels say nothing of it
