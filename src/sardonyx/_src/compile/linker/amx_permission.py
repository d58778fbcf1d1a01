"""Permission to use AMX tiles, which Linux grants to a process that asks for it."""

from __future__ import annotations

import ctypes
import platform
import sys
from functools import cache

ARCH_PRCTL = 158  # the system call's number on x86-64
REQUEST_PERMISSION = 0x1023  # ARCH_REQ_XCOMP_PERM
TILE_DATA = 18  # the state component of the tiles
AMX_PREFIX = "amx"


@cache
def request_amx() -> bool:
    """Asks the system to let all threads of this process use AMX tiles; returns whether it is granted."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.restype = ctypes.c_long
    arguments = (ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA)
    return int(syscall(*map(ctypes.c_long, arguments))) == 0
