"""The classes of targets that this processor can run: its own, and those with fewer features and narrower registers.

Kernels are specialized on a target's lanes, registers and features; the code of other classes is compiled for this
processor, which has all of their instructions.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import has_vnni
from sardonyx._src.compile.llvm.jit import host_target

HOST = "host"
WITHOUT_DOTS = ("avx512vnni", "avx512bf16", "avxvnni", "amx")
WITHOUT_AVX512 = (*WITHOUT_DOTS, "avx512", "avx10")
WITHOUT_AVX = (*WITHOUT_AVX512, "avx", "fma", "f16c")


@cache
def target_classes() -> dict[str, Target]:
    """The targets by the name of their class; the first is the host."""
    host = host_target()
    avx2 = narrow(host, 8, WITHOUT_AVX512)
    plain = replace(narrow(host, 4, WITHOUT_AVX), has_fma=False)
    dots = {"avx2 with dot products": with_features(avx2, "avxvnni")} if has_vnni(host) else {}
    return {
        HOST: host,
        "avx512 without dot products": without_features(host, WITHOUT_DOTS),
        "avx2": avx2,
        **dots,
        "plain": plain,
        "neon": replace(plain, registers=32, features="", has_fma=True),
        "scalar": replace(plain, lanes=1, features=""),
    }


def narrow(target: Target, lanes: int, missing: tuple[str, ...]) -> Target:
    """The target with 16 registers of at most `lanes` lanes, without features of these prefixes."""
    return replace(without_features(target, missing), lanes=min(lanes, target.lanes), registers=16)


def with_features(target: Target, *names: str) -> Target:
    """The target with features of these names, whose instructions the host has in another encoding."""
    added = ",".join(f"+{name}" for name in names)
    return replace(target, features=f"{without_features(target, names).features},{added}")


def without_features(target: Target, prefixes: tuple[str, ...]) -> Target:
    features = [
        f"-{name}" if name.startswith(prefixes) else sign + name
        for sign, name in ((feature[:1], feature[1:]) for feature in target.features.split(","))
    ]
    return replace(target, features=",".join(features))
