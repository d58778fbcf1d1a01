"""Functions of the C library in LLVM text, against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from compile.guarded import GuardedMemory
from sardonyx._src.compile.linker.elf import ElfObject
from sardonyx._src.compile.linker.system import LIBC_FUNCTIONS
from sardonyx._src.compile.llvm.host_target import compile_for_class, find_class
from sardonyx._src.compile.llvm.jit import Library, compile_module, compile_target, host_target
from sardonyx._src.export.c_functions import c_function

ROUNDING = {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "roundeven": np.rint}
SIZES = (0, 1, 63, 64, 65, 200)


def load(name: str) -> Library:
    return Library(compile_module(c_function(name), host_target()), [name])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["memcpy", "memmove"])
def test_copies(name: str, size: int) -> None:
    function = load(name).function(name, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    source, target = (GuardedMemory(size, at_end=at_end) for at_end in (True, False))
    source.bytes[:] = np.random.default_rng(size).integers(0, 256, size)
    function(target.address, source.address, size)
    np.testing.assert_array_equal(target.bytes, source.bytes)


@pytest.mark.parametrize("distance", [-130, -64, -1, 0, 1, 7, 64, 130])
def test_memmove_of_ranges_that_overlap(distance: int) -> None:
    function = load("memmove").function("memmove", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
    memory = np.random.default_rng(3).integers(0, 256, 600).astype(np.uint8)
    expected = memory.copy()
    expected[150 + distance : 400 + distance] = memory[150:400]
    function(memory.ctypes.data + 150 + distance, memory.ctypes.data + 150, 250)
    np.testing.assert_array_equal(memory, expected)


@pytest.mark.parametrize("size", SIZES)
def test_memset(size: int) -> None:
    function = load("memset").function("memset", ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t)
    memory = GuardedMemory(size, at_end=True)
    function(memory.address, 0x1A5, size)
    assert (memory.bytes == 0xA5).all()


@pytest.mark.parametrize("suffix", ["f", ""])
@pytest.mark.parametrize("name", ROUNDING)
def test_rounding(name: str, suffix: str) -> None:
    kind, ctype = (np.float32, ctypes.c_float) if suffix else (np.float64, ctypes.c_double)
    limit = 2.0 ** (np.finfo(kind).nmant)
    steps = np.arange(-9, 10) / 4
    near = np.concatenate(
        [[base + step for step in steps] for base in (0, limit / 2, limit, -limit / 2, -limit)]
    )
    special = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        np.finfo(kind).max,
        np.finfo(kind).smallest_subnormal,
        -0.1,
        0.49999997,
    ]
    values = np.array([*near, *special], kind)
    library = load(name + suffix)
    function = ctypes.CFUNCTYPE(ctype, ctype)(library.addresses[name + suffix])
    results = np.array([function(float(x)) for x in values], kind)
    np.testing.assert_array_equal(results, ROUNDING[name](values))
    np.testing.assert_array_equal(np.signbit(results), np.signbit(values))


@pytest.mark.parametrize("name", LIBC_FUNCTIONS)
@pytest.mark.parametrize("processor", ["x86-64", "aarch64", "riscv64"])
def test_no_function_calls_another(name: str, processor: str) -> None:
    """Neither itself nor a function that LLVM recognizes in its loop."""
    with compile_for_class(processor):
        target = compile_target()
    parsed = ElfObject(compile_module(c_function(name), target))
    assert find_class(processor).machine == target.triple.partition("-")[0]
    assert not [symbol.name for symbol in parsed.symbols if symbol.section == 0 and symbol.name]
