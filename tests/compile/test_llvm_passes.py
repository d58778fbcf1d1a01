"""The passes that kernels run through: what they must achieve, and that they keep the bits of results."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

from sardonyx._src.compile.codegen.blocks import I64, BlockBuilder
from sardonyx._src.compile.codegen.builder import LLVMValue
from sardonyx._src.compile.llvm import compiler
from sardonyx._src.compile.llvm.jit import Library, compile_module, host_target
from sardonyx._src.compile.llvm.llvm_lock import LLVM_LOCK

HELPER = """define internal i64 @doubled(i64 %x) alwaysinline {
 %y = add i64 %x, %x
 ret i64 %y
}
"""
# Each of these differs from its exact value, and from itself with another order or with contraction.
ROUNDED_SUMS = """define void @sums(ptr noalias %x, ptr noalias %y) {
 %a = load <4 x float>, ptr %x, align 4
 %at = getelementptr float, ptr %x, i64 4
 %b = load <4 x float>, ptr %at, align 4
 %sum = fadd <4 x float> %a, %b
 %difference = fsub <4 x float> %sum, %b
 store <4 x float> %difference, ptr %y, align 4
 %product = fmul <4 x float> %a, %a
 %rounded_twice = fadd <4 x float> %product, %b
 %to = getelementptr float, ptr %y, i64 4
 store <4 x float> %rounded_twice, ptr %to, align 4
 %zero = fadd <4 x float> %a, splat (float 0.0)
 %last = getelementptr float, ptr %y, i64 8
 store <4 x float> %zero, ptr %last, align 4
 ret void
}"""


def loop_text() -> str:
    """A module that stores the doubled sums of i below n, with its loop and variables as kernels have them."""
    b = BlockBuilder(has_fma=False)
    total = b.new_slot("total", I64)
    b.store(total, b.constant(0, I64))
    with b.loop(b.constant(0, I64), LLVMValue(b, I64, "%n")) as i:
        b.store(total, b.load(total) + b.emit(I64, f"call i64 @doubled({i})"))
        b.lines.append(f" store {b.load(total)}, ptr %y, align 8")
    body = "\n".join(("entry:", *b.allocas, *b.lines, " ret void"))
    return f"{HELPER}define void @loop(ptr %y, i64 %n) {{\n{body}\n}}"


def optimized(text: str, *, is_long: bool) -> str:
    """A module after the passes."""
    target = host_target()
    with LLVM_LOCK:
        machine = compiler.create_target_machine(target.triple, target.cpu, target.features)
        module = compiler.binding().parse_assembly(text)
        compiler.run_passes(module, machine, is_long=is_long)
        return str(module)


def compiled(text: str, pipeline: str) -> bytes:
    """Object code without passes (`quick`), or with those of a short or of a long module."""
    comment = "\n; " + "." * compiler.LONG_MODULE if pipeline == "long" else ""
    return compile_module(text + comment, host_target(), quick=pipeline == "quick")


@pytest.mark.parametrize("is_long", [False, True])
def test_variables_leave_the_stack_and_functions_are_inlined(is_long: bool) -> None:
    text = optimized(loop_text(), is_long=is_long)
    assert "alloca" in loop_text() and "alloca" not in text
    assert "@doubled" in loop_text() and "@doubled" not in text


@pytest.mark.parametrize("is_long", [False, True])
def test_the_condition_of_a_loop_is_at_its_end(is_long: bool) -> None:
    latch = re.compile(r"^(\w+):(?:(?!^\w+:)[\s\S])*?br i1 [^\n]*label %\1\b", re.MULTILINE)
    assert latch.search(optimized(loop_text(), is_long=is_long)) and not latch.search(loop_text())


@pytest.mark.parametrize("pipeline", ["quick", "short", "long"])
def test_a_loop_runs_as_often_as_its_bounds_say(pipeline: str) -> None:
    library = Library(compiled(loop_text(), pipeline), ["loop"])
    loop, result = library.function("loop", ctypes.c_void_p, ctypes.c_int64), np.array([7])
    for n, expected in ((0, 7), (1, 0), (5, 20)):
        loop(result.ctypes.data, n)
        assert result[0] == expected


@pytest.mark.parametrize("pipeline", ["quick", "short", "long"])
def test_no_sum_is_reordered_or_contracted(pipeline: str) -> None:
    a = np.array([1 + 2**-12, 1e-8, -0.0, 3], np.float32)
    b = np.array([-1, 1, 0, np.inf], np.float32)
    y, x = np.zeros(12, np.float32), np.concatenate((a, b))
    library = Library(compiled(ROUNDED_SUMS, pipeline), ["sums"])
    library.function("sums", ctypes.c_void_p, ctypes.c_void_p)(x.ctypes.data, y.ctypes.data)
    with np.errstate(invalid="ignore"):
        expected = np.concatenate(((a + b) - b, a * a + b, a + np.float32(0)))
    is_number = ~np.isnan(expected)
    assert y.view(np.uint32)[is_number].tolist() == expected.view(np.uint32)[is_number].tolist()
    assert np.isnan(y[~is_number]).all() and (~is_number).sum() == 1
    assert expected[4] != np.float32(np.float64(a[0]) ** 2 + b[0]), "a contracted sum would be equal"
