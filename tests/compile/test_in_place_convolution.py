"""Convolutions write bytes over an image that their epilogue adds, if nothing reads the image later."""

from __future__ import annotations

import numpy as np

from compile.test_lower_integer_products import literal, random_bytes
from compile.test_requantization import Quantization, convolve, run_native
from models import parse_model
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.memory.memory_plan import plan_memory
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.ir import Array
from sardonyx._src.runtime.runs.native_program import compile_for_host

Q = Quantization("q", 2.0**-3, 117, "u1")
IMAGE = random_bytes((2, 8, 9, 9), "u1", 5)


def overwritten_operands(program: Program) -> int:
    """The number of images in the arena that a convolution reads and overwrites."""
    offsets = plan_memory(program).offsets
    steps = [a for a in program.actions if isinstance(a, Step) and a.kernel.key.startswith("convolution")]
    return sum(
        offsets.get(read.buffer, -1) == offsets.get(write.buffer, -2)
        for step in steps
        for read in step.reads
        for write in step.writes
    )


WEIGHTS = {
    name: random_bytes((80, 8 if name == "r" else 80, 1, 1), "i1", seed)
    for seed, name in enumerate("rtcwy", 1)
}
SCALES = np.full(80, 2.0**-9, np.float32)


def layer(x: str, y: str) -> str:
    """A quantized convolution, whose numbers are exact in float32."""
    return f"""{literal(f"{y}w", WEIGHTS[y])} {literal(f"{y}s", SCALES)}
      {y}x = DequantizeLinear({x}, qs, qz)
      {y}v = DequantizeLinear <axis = 0> ({y}w, {y}s)
      {y}p = Conv({y}x, {y}v)
      {y} = QuantizeLinear({y}p, qs, qz)"""


def convolve_quantized(x: Array, name: str) -> Array:
    return Q.quantize(convolve(Q.dequantize(x), WEIGHTS[name], SCALES.astype(np.float64)))


def add_quantized(a: Array, b: Array) -> Array:
    return Q.quantize(Q.dequantize(a) + Q.dequantize(b))


def graph(*nodes: str) -> str:
    return f"g (uint8[2,8,9,9] x) => (uint8[2,80,9,9] y) {{ {Q.literals()} {' '.join(nodes)} }}"


def addition(a: str, b: str, y: str) -> str:
    return f"""{y}a = DequantizeLinear({a}, qs, qz)  {y}b = DequantizeLinear({b}, qs, qz)
      {y}t = Add({y}a, {y}b)  {y} = QuantizeLinear({y}t, qs, qz)"""


def assert_computes(text: str, expected: Array, overwritten: int) -> None:
    assert overwritten_operands(compile_for_host(parse_model(text, opset=28)).program) == overwritten
    np.testing.assert_array_equal(run_native(text, {"x": IMAGE})[0], expected)


def test_a_residual_that_is_not_read_later_is_overwritten() -> None:
    text = graph(layer("x", "r"), layer("r", "t"), layer("t", "c"), addition("r", "c", "u"), layer("u", "y"))
    r = convolve_quantized(IMAGE, "r")
    c = convolve_quantized(convolve_quantized(r, "t"), "c")
    assert_computes(text, convolve_quantized(add_quantized(r, c), "y"), 1)


def test_a_residual_is_overwritten_by_its_last_reader_alone() -> None:
    nodes = layer("x", "r"), layer("r", "t"), layer("t", "c"), addition("r", "c", "u"), layer("u", "w")
    r = convolve_quantized(IMAGE, "r")
    u = add_quantized(r, convolve_quantized(convolve_quantized(r, "t"), "c"))
    assert_computes(graph(*nodes, addition("w", "r", "y")), add_quantized(convolve_quantized(u, "w"), r), 1)


def test_the_image_that_is_convolved_is_never_overwritten() -> None:
    text = graph(layer("x", "r"), layer("r", "c"), addition("r", "c", "u"), layer("u", "y"))
    r = convolve_quantized(IMAGE, "r")
    u = add_quantized(r, convolve_quantized(r, "c"))
    assert_computes(text, convolve_quantized(u, "y"), 0)
