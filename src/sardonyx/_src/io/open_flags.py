"""Flags for opening files."""

from __future__ import annotations

import os

BINARY_FLAG = getattr(os, "O_BINARY", 0)
NOFOLLOW_FLAG = getattr(os, "O_NOFOLLOW", 0)
# O_NONBLOCK: opening a FIFO that replaced the file must not block.
READ_FLAGS = os.O_RDONLY | BINARY_FLAG | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
