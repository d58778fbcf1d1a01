"""The processor of this process, as LLVM names it: kept on disk, since asking LLVM means loading it."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sardonyx._src.compile.llvm.cache import disk
from sardonyx._src.compile.llvm.target import Target

CPUINFO = Path("/proc/cpuinfo")
KINDS = frozenset(  # the fields that tell processors apart, on x86-64 and AArch64
    "vendor_id,cpu family,model,model name,stepping,flags,features,cpu implementer,cpu architecture,cpu variant,"
    "cpu part,cpu revision".split(",")
)
WIDTHS = (("+avx512f", 16), ("+avx2", 8), ("+avx", 8))  # 32-bit floats in a register
ORIGIN = "the processor"
Stamp = tuple[str, int, int, int]  # a file, its size and its times


def kept() -> Target | None:
    """What an earlier process was told of this very processor, by the LLVM that is installed."""
    words, folder = surroundings(), disk()
    found = None if words is None or folder is None else folder.get(words, ORIGIN)
    return None if found is None else Target(**json.loads(found))


def keep(target: Target) -> None:
    words, folder = surroundings(), disk()
    if words is not None and folder is not None:
        folder.put(words, ORIGIN, json.dumps(asdict(target)).encode())


def target_of(facts: dict[str, str]) -> Target:
    """A processor by what LLVM says of it."""
    features = facts["features"].split(",")
    lanes = next((lanes for name, lanes in WIDTHS if name in features), 4)
    is_arm = facts["triple"].startswith(("aarch64", "arm64"))
    return Target(
        triple=facts["triple"],
        cpu=facts["cpu"],
        features=facts["features"],
        lanes=lanes,
        fused={"+fma", "+f16c"} <= set(features) or is_arm,
        registers=32 if lanes == 16 or is_arm else 16,
        compiler=facts["compiler"],
    )


@cache
def surroundings() -> str | None:
    """What tells the processor and the compiler from others without asking LLVM; None where nothing does."""
    found = compiler()
    if found is None or not CPUINFO.is_file():
        return None
    return repr((platform.machine(), processor(), found))


def processor() -> list[str]:
    """What Linux says of the cores, of what does not change from one moment to the next."""
    lines = CPUINFO.read_text("utf-8", "replace").splitlines()
    return sorted({line for line in lines if line.partition(":")[0].strip().lower() in KINDS})


def compiler() -> Stamp | None:
    """The installed LLVM, which is not loaded for this."""
    found = find_spec("llvmlite")
    return None if found is None or found.origin is None else stamp(found.origin, os.stat(found.origin))


def stamp(path: str, found: os.stat_result) -> Stamp:
    return path, found.st_size, found.st_mtime_ns, found.st_ctime_ns
