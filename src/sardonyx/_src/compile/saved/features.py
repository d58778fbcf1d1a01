"""What code asks of a processor, in the words of Linux, and what this one has."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from sardonyx._src.compile.llvm.target import Target

CPUINFO = Path("/proc/cpuinfo")
X86 = {
    "cmov": "cmov",
    "cx16": "cx16",
    "sse2": "sse2",
    "sse3": "pni",
    "ssse3": "ssse3",
    "sse4.1": "sse4_1",
    "sse4.2": "sse4_2",
    "sse4a": "sse4a",
    "sahf": "lahf_lm",
    "popcnt": "popcnt",
    "lzcnt": "abm",
    "movbe": "movbe",
    "bmi": "bmi1",
    "bmi2": "bmi2",
    "adx": "adx",
    "f16c": "f16c",
    "fma": "fma",
    "fma4": "fma4",
    "xop": "xop",
    "tbm": "tbm",
    "aes": "aes",
    "vaes": "vaes",
    "pclmul": "pclmulqdq",
    "vpclmulqdq": "vpclmulqdq",
    "sha": "sha_ni",
    "gfni": "gfni",
    "prfchw": "3dnowprefetch",
    "avx": "avx",
    "avx2": "avx2",
    "avxvnni": "avx_vnni",
    "avxifma": "avx_ifma",
    "avxneconvert": "avx_ne_convert",
    "avxvnniint8": "avx_vnni_int8",
    "avxvnniint16": "avx_vnni_int16",
    "avx512f": "avx512f",
    "avx512bw": "avx512bw",
    "avx512cd": "avx512cd",
    "avx512dq": "avx512dq",
    "avx512vl": "avx512vl",
    "avx512ifma": "avx512ifma",
    "avx512vbmi": "avx512vbmi",
    "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni",
    "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq",
    "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16",
    "avx512vp2intersect": "avx512_vp2intersect",
}
ARM = {
    "neon": "asimd",
    "fullfp16": "asimdhp",
    "fp16fml": "asimdfhm",
    "dotprod": "asimddp",
    "rdm": "asimdrdm",
    "complxnum": "fcma",
    "jsconv": "jscvt",
    "lse": "atomics",
    "crc": "crc32",
    "rcpc": "lrcpc",
    "flagm": "flagm",
    "bf16": "bf16",
    "i8mm": "i8mm",
    "sve": "sve",
    "sve2": "sve2",
}
MACHINES: Mapping[str, Mapping[str, str]] = {"x86_64": X86, "aarch64": ARM}


def machine() -> str | None:
    """The kind of this processor, if saved programs are for such: `x86_64` or `aarch64`, under Linux."""
    found = platform.machine()
    return found if sys.platform == "linux" and found in MACHINES else None


def needed(target: Target) -> list[str]:
    """What a processor has to have for code of this target, of all that a compiler makes use of."""
    words = MACHINES["aarch64" if target.triple.startswith("aarch64") else "x86_64"]
    return sorted({words[f[1:]] for f in target.features.split(",") if f[:1] == "+" and f[1:] in words})


def present(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """What this processor has; where its cores differ, what all of them have."""
    found: frozenset[str] | None = None
    for line in cpuinfo.read_text("utf-8", "replace").splitlines():
        name, _, words = line.partition(":")
        if name.strip().lower() in ("flags", "features"):
            has = frozenset(words.split())
            found = has if found is None else found & has
    return found or frozenset()
