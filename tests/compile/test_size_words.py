"""Size functions as words have the results of compiled ones."""

from __future__ import annotations

import ctypes
from functools import cache

import numpy as np
import pytest

from compile.library_kernels import interpreter_objects
from models import parse_model
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.compile.llvm.interpreted_code import fill_template, module_names
from sardonyx._src.compile.llvm.jit import Library, host_target, load
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program.encoding import size_words
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.encoding.port_dims import port_dims
from sardonyx._src.compile.program.encoding.size_functions import sized_values
from sardonyx._src.runtime.programs.compiled_addresses import size_function

pytestmark = pytest.mark.skipif(
    saved_program_machine() is None, reason="our own linker links the interpreter"
)
MODELS = {
    "elementwise": "g (float[N,8] x, float[N,1] z) => (float[N,8] y) { a = Add(x, z) y = Softmax(a) }",
    "convolution": """g (float[N,3,H,W] x) => (y) <float[8,3,3,3] w = {@}> {
        a = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, w)  y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a) }""".replace(
        "@", ",".join(["1"] * 216)
    ),
    "join": "g (float[N,M] x, float[N,K] z) => (y) { a = Concat<axis = 1>(x, z)  y = Transpose(a) }",
    "counted": "g (float[N] x) => (y) { a = NonZero(x)  b = Cast<to = 1>(a)  y = Mul(b, b) }",
    "part": "g (float[N,M] x) => (y) { y = Slice<starts = [0], ends = [-1]>(x) }",
}
LENGTHS = [1, 2, 3, 7, 64, 100, 1 << 20, 1 << 40, (1 << 62) - 1, -1, 0]


@cache
def compiled(name: str) -> Executable:
    opset = 9 if name == "part" else 21
    return compile_model(parse_model(MODELS[name], opset=opset), host_target())


@pytest.mark.parametrize("name", MODELS)
def test_words_have_the_results_of_the_compiled_function(name: str) -> None:
    executable = compiled(name)
    program, encoding = executable.program, executable.encoding
    words = size_words.size_words(program, encoding)
    assert words is not None
    interpreter, template = (interpreter_objects()[module] for module in module_names("sizes"))
    interpreted = Library([interpreter, fill_template(template, words)], ["sizes"])
    native = load(size_function(program, encoding), ["sizes"])
    ports = port_dims(program)
    count = len(sized_values(encoding)) + 2 + (0 if ports is None else ports.count)
    random = np.random.default_rng(0)
    stages = sorted({0, 1, *program.stages.values(), (1 << 63) - 1})
    for _ in range(200):
        lengths = [int(random.choice(LENGTHS)) for _ in program.stages]
        arguments = np.array([*lengths, random.choice(stages)], np.int64)
        expected, actual = (call(library, arguments, count) for library in (native, interpreted))
        assert actual == expected, lengths


def call(library: Library, arguments: np.ndarray, count: int) -> tuple[int, list[int]]:
    """The number of violations, and the values."""
    values = np.full(count + 1, -7, np.int64)
    signature = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
    violations = signature(library.addresses["sizes"])(arguments.ctypes.data, values.ctypes.data)
    return violations, values.tolist()


def test_a_function_with_too_many_values_has_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    executable = compiled("convolution")
    monkeypatch.setattr(size_words, "MAX_REGISTERS", 3)
    assert size_words.size_words(executable.program, executable.encoding) is None
