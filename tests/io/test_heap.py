"""The heap of glibc, as services have it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import ctypes
from sardonyx._src.io.memory_release import map_large_blocks

class Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]

mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Mallinfo

def mapped_blocks(nbytes):
    before = mallinfo().hblks
    block = bytes(nbytes)
    return mallinfo().hblks - before

if {is_set}:
    map_large_blocks(4 << 20)
bytes(16 << 20)  # freed: such blocks are no longer mapped by default
print(mapped_blocks(8 << 20), mapped_blocks(2 << 20))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc is asked")
@pytest.mark.parametrize(("is_set", "expected"), [(True, "1 0"), (False, "0 0")])
def test_large_blocks_stay_mappings(is_set: bool, expected: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(is_set=is_set)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == expected
