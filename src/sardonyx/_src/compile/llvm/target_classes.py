"""Classes of processors, for which code is generated.

Code for a class runs on every processor that has its features, so that kernels, programs and caches move between
machines, and kernels can be compiled before the machine is known.  LLVM's schedules for a class and for one of its
processors rarely differ, since kernels are written vectorized and unrolled; Zen 4 is a class because int8 convolutions
gain 4 % there.  The names from `x86-64` to `x86-64-v4` and
their features are those of the x86-64 psABI, section 3.1.1.  The classes of AArch64 and RISC-V are for Linux.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sardonyx._src.compile.codegen import Target
from sardonyx._src.dataclass import dataclass

AMD = "AuthenticAMD"  # as Linux names the vendor
BASELINE = ("cmov", "sse2")
V2 = (*BASELINE, "cx16", "sahf", "popcnt", "sse3", "ssse3", "sse4.1", "sse4.2")
V3 = (*V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
V4 = (*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
V4_VNNI = (*V4, "avx512vnni")
V4_BF16 = (*V4_VNNI, "avx512bf16")
V4_AMX = (*V4_BF16, "amx-tile", "amx-int8", "amx-bf16")
NEON = ("neon",)
NEON_DOTPROD = (*NEON, "lse", "rdm", "fullfp16", "dotprod")
NEON_I8MM = (*NEON_DOTPROD, "i8mm")
RV64GC = ("m", "a", "f", "d", "c")
RV64GC_V = (*RV64GC, "v")  # vectors of at least 128 bits
X86_64, AARCH64, RISCV64 = "x86_64", "aarch64", "riscv64"  # as triples begin


@dataclass(frozen=True, slots=True)
class TargetClass:
    """A class of processors.

    name: as `SARDONYX_TARGET` has it.  cpu: LLVM's name of the class or of a class that it extends.
    features: LLVM's names of all features that code may use.  lanes: 32-bit floats in a vector register.
    vendor: the only vendor whose processors belong to it, or "".  machine: the first part of the triple.
    base: the class whose code a library has for a kernel with the same text, or "": the further instructions of this class
        are those of intrinsics.
    """

    name: str
    cpu: str
    features: tuple[str, ...]
    lanes: int
    vendor: str = ""
    machine: str = X86_64
    base: str = ""

    @property
    def triple(self) -> str:
        """LLVM's name of the machine under Linux."""
        return f"{self.machine}-unknown-linux-gnu"


CLASSES = (  # the first that a processor belongs to is its own
    TargetClass("x86-64-v4-amx", "x86-64-v4", V4_AMX, 16, base="x86-64-v4-bf16"),
    # AMD's first processors with bfloat16 are of Zen 4.
    TargetClass("x86-64-v4-zen4", "znver4", V4_BF16, 16, AMD, base="x86-64-v4"),
    TargetClass("x86-64-v4-bf16", "x86-64-v4", V4_BF16, 16, base="x86-64-v4-vnni"),
    TargetClass("x86-64-v4-vnni", "x86-64-v4", V4_VNNI, 16, base="x86-64-v4"),
    TargetClass("x86-64-v4", "x86-64-v4", V4, 16),
    TargetClass("x86-64-v3-vnni", "x86-64-v3", (*V3, "avxvnni"), 8, base="x86-64-v3"),
    TargetClass("x86-64-v3", "x86-64-v3", V3, 8),
    TargetClass("x86-64-v2", "x86-64-v2", V2, 4),
    TargetClass("x86-64", "x86-64", BASELINE, 4),
    TargetClass("aarch64-i8mm", "generic", NEON_I8MM, 4, machine=AARCH64, base="aarch64-dotprod"),
    TargetClass("aarch64-dotprod", "generic", NEON_DOTPROD, 4, machine=AARCH64, base="aarch64"),
    TargetClass("aarch64", "generic", NEON, 4, machine=AARCH64),
    TargetClass("riscv64-v", "generic-rv64", RV64GC_V, 4, machine=RISCV64),
    TargetClass("riscv64", "generic-rv64", RV64GC, 4, machine=RISCV64),  # LLVM splits vectors into numbers
)
CLASSES_BY_NAME = {target_class.name: target_class for target_class in CLASSES}
PROBES_PATH = Path(__file__).with_name("classes.probes")  # what a class is tested with (`self_test.py`)
# What a wheel's kernels are tested with.
KERNEL_PROBES_PATH = Path(__file__).with_name("libraries") / "probes.kernels"


def classes_of(features: Collection[str], vendor: str, machine: str = X86_64) -> list[TargetClass]:
    """The classes of a vendor's processor with these features, by LLVM's names, the best first."""
    return [
        target_class
        for target_class in CLASSES
        if target_class.machine == machine
        and set(features).issuperset(target_class.features)
        and target_class.vendor in ("", vendor)
    ]


def target_of(target_class: TargetClass, triple: str, compiler: str, vendor: str = "") -> Target:
    """The target of a class, under a system and with a version of LLVM."""
    return Target(
        triple=triple,
        cpu=target_class.cpu,
        features=",".join(f"+{name}" for name in target_class.features),
        lanes=target_class.lanes,
        has_fma="fma" in target_class.features or target_class.machine != X86_64,
        registers=32 if target_class.lanes == 16 or target_class.machine != X86_64 else 16,
        compiler=compiler,
        vendor=relevant_vendor(target_class, vendor),
        class_name=target_class.name,
    )


def relevant_vendor(target_class: TargetClass, vendor: str) -> str:
    """The vendor of a class, or that of a processor if programs for the class depend on it; else ""."""
    depends = "avx512bf16" in target_class.features  # which products of bfloat16 are faster
    return target_class.vendor or (vendor if depends else "")
