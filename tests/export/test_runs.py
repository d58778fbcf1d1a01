"""Runs of libraries: the bits of the session, whatever the arena held, and an error for memory that does not fit."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from compile.guarded import GuardedMemory
from export.library_suite import compare
from export.loaded_library import LoadedLibrary, pointers
from export.small_models import TEXTS, feeds_of, small_model
from models import parse_model
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.export import outcomes
from sardonyx._src.export.functions import compile_library

pytestmark = pytest.mark.skipif(saved_program_machine() is None, reason="libraries are not loaded here")


@pytest.mark.parametrize("name", TEXTS)
def test_a_library_has_the_bits_of_the_session(name: str, tmp_path: Path) -> None:
    model = small_model(name)
    compare(model, compile_library(model, tmp_path, emit="shared"), feeds_of(name), name)


@pytest.mark.parametrize("name", ["product", "loop", "scan"])
@pytest.mark.parametrize("at_end", [True, False])
def test_what_the_arena_held_changes_no_bit(name: str, at_end: bool, tmp_path: Path) -> None:
    library = LoadedLibrary(compile_library(small_model(name), tmp_path, emit="shared"), at_end=at_end)
    results = []
    for content in (0, 0xFF, 0x7F):
        library.arena.bytes[:] = content
        results.append({key: x.tobytes() for key, x in library.run(feeds_of(name)).items()})
    assert results[0] == results[1] == results[2]


def test_weights_in_a_file_change_no_bit(tmp_path: Path) -> None:
    model = small_model("product")
    compiled = compile_library(model, tmp_path, emit="shared", weights_file=True)
    assert compiled.weights is not None and compiled.weights.stat().st_size % 64 == 0
    compare(model, compiled, feeds_of("product"), "product")


def test_a_parameter_is_a_constant_of_the_library(tmp_path: Path) -> None:
    model = parse_model(
        "g (float[2,3] x, int64[1] axes) => (float[a] y) { y = ReduceSum <keepdims = 0> (x, axes) }"
    )
    compiled = compile_library(model, tmp_path, emit="shared", constants={"axes": [1]})
    assert [port.name for port in compiled.interface.inputs] == ["x"]
    y = LoadedLibrary(compiled).run({"x": np.array([[1, 2, 3], [4, 5, 6]], np.float32)})["y"]
    np.testing.assert_array_equal(y, np.array([6, 15], np.float32))


def test_dims_fix_the_sizes(tmp_path: Path) -> None:
    model = parse_model("g (float[N,2] x) => (float[N,2] y) { y = Neg(x) }")
    compiled = compile_library(model, tmp_path, emit="shared", dims={"N": 3})
    assert compiled.interface.inputs[0].shape == (3, 2)


def test_the_mode_of_floats_is_the_default_and_restored(tmp_path: Path) -> None:
    """A caller that flushes subnormals gets the results of one that does not, and keeps its mode."""
    model = parse_model("g (float[1] x) => (float[1] y) { y = Add(x, x) }")
    library = LoadedLibrary(compile_library(model, tmp_path, emit="shared"))
    libm = ctypes.CDLL("libm.so.6")
    tiny = {"x": np.array([1e-45], np.float32)}
    upward = 0x800 if saved_program_machine() == "x86_64" else 0x400000  # FE_UPWARD of glibc's fenv.h
    if saved_program_machine() == "riscv64":
        upward = 3
    before = libm.fegetround()
    libm.fesetround(upward)
    try:
        y = library.run(tiny)["y"]
        assert libm.fegetround() == upward
    finally:
        libm.fesetround(before)
    np.testing.assert_array_equal(y, tiny["x"] * 2)


# --- errors ----------------------------------------------------------------------------------


@pytest.fixture
def product(tmp_path: Path) -> LoadedLibrary:
    return LoadedLibrary(compile_library(small_model("product"), tmp_path, emit="shared"))


def call(library: LoadedLibrary, shift: int = 0, size: int = 0, x: int = 0, y: int = 0) -> int:
    """The outcome of a call whose memory is moved, whose arena has fewer bytes, or whose pointers are moved (-1: null)."""
    memories = [GuardedMemory(128, at_end=False) for _ in range(2)]
    arena = GuardedMemory(library.compiled.arena_bytes + 64, at_end=False)
    inputs, outputs = (
        (ctypes.c_void_p * 1)(None if move < 0 else memory.address + move)
        for memory, move in zip(memories, (x, y), strict=True)
    )
    return library.call(inputs, outputs, arena.address + shift, library.compiled.arena_bytes - size)


def test_memory_that_does_not_fit_is_refused(product: LoadedLibrary) -> None:
    assert call(product) == outcomes.OK
    assert call(product, size=1) == outcomes.ARENA_TOO_SMALL
    assert call(product, shift=8) == outcomes.MISALIGNED_ARENA
    assert call(product, x=-1) == outcomes.NULL_POINTER
    assert call(product, y=-1) == outcomes.NULL_POINTER
    assert call(product, x=2) == outcomes.MISALIGNED_POINTER
    assert call(product, y=1) == outcomes.MISALIGNED_POINTER
    assert call(product, x=4, y=4) == outcomes.OK, "elements are aligned to 4 bytes"


def test_missing_arguments_are_refused(product: LoadedLibrary) -> None:
    places = pointers([GuardedMemory(128, at_end=False)])
    size = product.compiled.arena_bytes
    assert product.call(None, places, product.arena.address, size) == outcomes.NULL_POINTER
    assert product.call(places, None, product.arena.address, size) == outcomes.NULL_POINTER
    assert product.call(places, places, 0, size) == outcomes.ARENA_TOO_SMALL


def test_an_index_out_of_range_is_an_error(tmp_path: Path) -> None:
    library = LoadedLibrary(compile_library(small_model("gather"), tmp_path, emit="shared"))
    feeds = feeds_of("gather")
    with pytest.raises(AssertionError, match="index out of range"):
        library.run(feeds | {"i": np.array([0, 4, 1])})
    np.testing.assert_array_equal(library.run(feeds)["y"], feeds["x"][[0, -1, 2]])


def test_a_loop_without_end_exceeds_the_limit(tmp_path: Path) -> None:
    model = parse_model(
        """g (float[1] x, bool c) => (float[1] y) {
        y = Loop <body = each (int64 i, bool on, float[1] s) => (bool goes, float[1] t) {
          goes = Identity(on)  t = Neg(s)
        }> (, c, x) }"""
    )
    library = LoadedLibrary(compile_library(model, tmp_path, emit="shared"))
    feeds = {"x": np.ones(1, np.float32), "c": np.array(True)}
    with pytest.raises(AssertionError, match="exceeds the limit of iterations"):
        library.run(feeds)


def test_each_outcome_has_a_text(product: LoadedLibrary) -> None:
    texts = [product.error_text(i).decode() for i in range(len(outcomes.OUTCOMES))]
    assert texts == [text for _, text in outcomes.OUTCOMES]
    assert {product.error_text(i).decode() for i in (-1, len(texts), 1 << 30)} == {outcomes.UNKNOWN_TEXT}


# --- without Sardonyx ------------------------------------------------------------------------

PROGRAM = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
memory = ctypes.create_string_buffer(int(sys.argv[2]) + 64)
arena = -(-ctypes.addressof(memory) // 64) * 64
x, y = (ctypes.c_float * 4)(-1, 2, -3, 4), (ctypes.c_float * 4)()
inputs, outputs = (ctypes.c_void_p * 1)(ctypes.addressof(x)), (ctypes.c_void_p * 1)(ctypes.addressof(y))
outcome = library.relu_run(inputs, outputs, ctypes.c_void_p(arena), ctypes.c_size_t(int(sys.argv[2])))
print(outcome, *y, "sardonyx" in sys.modules, "numpy" in sys.modules)
"""


def test_a_process_without_sardonyx_runs_a_library(tmp_path: Path) -> None:
    model = parse_model("g (float[2,2] x) => (float[2,2] y) { y = Relu(x) }")
    compiled = sx.tools.compile_library(model, tmp_path, emit="shared", prefix="relu")
    words = [sys.executable, "-I", "-S", "-c", PROGRAM, str(compiled.library), str(compiled.arena_bytes)]
    result = subprocess.run(words, capture_output=True, text=True, check=True, env={})
    assert result.stdout.split() == ["0", "0.0", "2.0", "0.0", "4.0", "False", "False"]
