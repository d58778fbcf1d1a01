"""Processor features that code requires and that this processor has, by their names in /proc/cpuinfo."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.linker.amx_permission import AMX_PREFIX, request_amx

CPUINFO = Path("/proc/cpuinfo")
X86_FLAGS = {  # LLVM's name of a feature -> Linux's
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
    "amx-tile": "amx_tile",
    "amx-int8": "amx_int8",
    "amx-bf16": "amx_bf16",
}
AARCH64_FLAGS = {
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
RISCV64_FLAGS = {name: name for name in ("m", "a", "f", "d", "c", "v")}
FLAGS_BY_MACHINE: Mapping[str, Mapping[str, str]] = {
    "x86_64": X86_FLAGS,
    "aarch64": AARCH64_FLAGS,
    "riscv64": RISCV64_FLAGS,
}


def saved_program_machine() -> str | None:
    """The machine name if programs can be loaded here: one of `FLAGS_BY_MACHINE`, under Linux; None elsewhere."""
    name = platform.machine()
    return name if sys.platform == "linux" and name in FLAGS_BY_MACHINE else None


def machine_of(target: Target) -> str | None:
    """The machine name for which programs are saved; None for a target that has no saved programs."""
    name = target.triple.partition("-")[0]
    return name if "linux" in target.triple and name in FLAGS_BY_MACHINE else None


def required_features(target: Target) -> list[str]:
    """The features that code for a target may use."""
    flags = FLAGS_BY_MACHINE[machine_of(target) or "x86_64"]
    return sorted({flags[f[1:]] for f in target.features.split(",") if f[:1] == "+" and f[1:] in flags})


@cache
def read_cpuinfo(path: Path) -> str:
    """The text of a file such as /proc/cpuinfo, which takes long on a machine of many cores; "" if it cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:  # missing, or refused by a sandbox
        return ""


def host_features(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """The features that this process may use; if cores of the processor differ, the features that all of them have."""
    common: frozenset[str] | None = None
    for line in read_cpuinfo(cpuinfo).splitlines():
        name, _, flags = line.partition(":")
        if name.strip().lower() in ("flags", "features", "isa"):
            of_core = riscv_extensions(flags) if name.startswith("isa") else frozenset(flags.split())
            common = of_core if common is None else common & of_core
    features = common or frozenset()
    tiles = frozenset(name for name in features if name.startswith(AMX_PREFIX))
    return features if tiles and request_amx() else features - tiles


def riscv_extensions(isa: str) -> frozenset[str]:
    """The extensions of an instruction set as Linux writes it: `rv64imafdc_zicsr`, with letters first, then names."""
    letters, *names = isa.strip().removeprefix("rv64").split("_")
    return frozenset((*letters, *names))
