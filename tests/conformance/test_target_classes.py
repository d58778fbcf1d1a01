"""Results have the same bits on all classes of processors with fused multiply-add, whatever the number of threads.

Each class computes the same cases, in a process of its own: the best one that this machine has and another one, which the
sources of the compiler draw; in the rest of the suite the best one, the least one and one between.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from conformance.class_digests import BY_NUMPY, group_names
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm.host_target import linux_features, vendor
from sardonyx._src.compile.llvm.sources import sources_digest
from sardonyx._src.compile.llvm.target_classes import classes_of
from shares import SHARE

SEED = int(sources_digest()[:8], 16)
PROGRAM = Path(__file__).with_name("class_digests.py")


@cache
def class_names() -> list[str]:
    """The classes with fused multiply-add that this machine has, the best first.

    Without AMX, whose tiles add products of bfloat16 in another order (docs/reproducibility.md).
    """
    if saved_program_machine() != "x86_64":
        return []
    classes = classes_of(linux_features(), vendor())
    return [c.name for c in classes if "fma" in c.features and "amx-tile" not in c.features]


def compared_classes(group: str) -> list[str]:
    best, *others = class_names()
    draw = zlib.crc32(group.encode(), SEED)
    if SHARE == "rotating" or len(others) == 1:
        return [best, others[draw % len(others)]]
    *between, least = others
    return [best, least, between[draw % len(between)]]


needs_classes = pytest.mark.skipif(
    len(class_names()) < 2, reason="the machine has one class with fma at most"
)


def restricted_numpy(class_name: str) -> dict[str, str]:
    """The environment in which NumPy computes as on a processor of a class."""
    if "-v4" in class_name:
        return {}
    has_avx2 = "-v3" in class_name
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
    absent = ("AVX512", "X86_V4") if has_avx2 else ("AVX", "FMA", "F16C", "X86_V3", "X86_V4")
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in extensions if name.startswith(absent)),
        "OPENBLAS_CORETYPE": "Haswell" if has_avx2 else "Nehalem",
    }


def digests_of(group: str, class_name: str) -> dict[str, list[str]]:
    """The digests of each case of a group on a class."""
    environment = {**os.environ, **restricted_numpy(class_name), "SARDONYX_TARGET": class_name}
    command = [sys.executable, "-W", "ignore", str(PROGRAM), group]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    digests: dict[str, list[str]] = json.loads(process.stdout)
    return digests


@needs_classes
@pytest.mark.parametrize("group", group_names(SEED))
def test_all_classes_compute_the_same_bits(group: str) -> None:
    best, *others = compared_classes(group)
    expected = digests_of(group, best)
    if [*expected.values()] == [[BY_NUMPY]]:
        pytest.skip("the only case has nodes that NumPy computes")
    by_numpy = sum(digests == [BY_NUMPY] for digests in expected.values())
    share = (
        2 if group.startswith("graph") else 4
    )  # drawn nodes, as sums by computed axes, often have no kernel
    assert by_numpy <= len(expected) / share, "kernels compute most cases"
    assert {name: several for name, several in expected.items() if len(several) > 1} == {}, (
        "runs or threads differ"
    )
    for other in others:
        actual = digests_of(group, other)
        differing = {
            name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name)
        }
        assert differing == set(), f"{other} and {best} differ"
