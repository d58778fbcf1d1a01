"""The target of this machine as LLVM describes it, cached on disk because asking LLVM requires loading it."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.errors import MissingPackage

CPUINFO = Path("/proc/cpuinfo")
IDENTITY_FIELDS = frozenset(  # fields of /proc/cpuinfo that distinguish processors, on x86-64 and AArch64
    "vendor_id,cpu family,model,model name,stepping,flags,features,cpu implementer,cpu architecture,cpu variant,"
    "cpu part,cpu revision".split(",")
)
SIMD_LANES = (("+avx512f", 16), ("+avx2", 8), ("+avx", 8))  # 32-bit floats in a register
TARGET_ENTRY = "host target"
PathStamp = tuple[str, int, int, int]  # path, size, times of modification and change


def load_cached_target() -> Target | None:
    """The target that an earlier process cached for this processor and the installed LLVM."""
    key, folder = host_key(), default_cache()
    content = None if key is None or folder is None else folder.get(key, TARGET_ENTRY)
    return None if content is None else Target(**json.loads(content))


def store_target(target: Target) -> None:
    key, folder = host_key(), default_cache()
    if key is not None and folder is not None:
        folder.put(key, TARGET_ENTRY, json.dumps(asdict(target)).encode())


def target_from_info(info: dict[str, str]) -> Target:
    """The target that LLVM's description of a processor (`compiler.query_host_info`) means."""
    features = info["features"].split(",")
    lanes = next((lanes for name, lanes in SIMD_LANES if name in features), 4)
    is_arm = info["triple"].startswith(("aarch64", "arm64"))
    return Target(
        triple=info["triple"],
        cpu=info["cpu"],
        features=info["features"],
        lanes=lanes,
        has_fma={"+fma", "+f16c"} <= set(features) or is_arm,
        registers=32 if lanes == 16 or is_arm else 16,
        compiler=info["compiler"],
    )


@cache
def host_key() -> str | None:
    """The cache key of the processor and the compiler, found without loading LLVM; None if one of them cannot be identified."""
    compiler = compiler_stamp()
    if compiler is None or not CPUINFO.is_file():
        return None
    return repr((platform.machine(), cpu_identity(), compiler))


def cpu_identity() -> list[str]:
    """The lines of /proc/cpuinfo that identify the processor and never change while the machine runs."""
    lines = CPUINFO.read_text("utf-8", "replace").splitlines()
    return sorted({line for line in lines if line.partition(":")[0].strip().lower() in IDENTITY_FIELDS})


def compiler_stamp() -> PathStamp | None:
    """The file stamp of the installed llvmlite, found without loading it; None if it is not installed."""
    spec = find_spec("llvmlite")
    return None if spec is None or spec.origin is None else path_stamp(spec.origin, os.stat(spec.origin))


def require_llvmlite() -> None:
    """Raises MissingPackage unless llvmlite is installed."""
    if compiler_stamp() is None:
        raise missing_llvmlite()


def missing_llvmlite() -> MissingPackage:
    why = "the native engine requires llvmlite, which is not installed"
    return MissingPackage(f'{why}: run `pip install llvmlite`, or use engine="reference"', package="llvmlite")


def path_stamp(path: str, stat: os.stat_result) -> PathStamp:
    return path, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
