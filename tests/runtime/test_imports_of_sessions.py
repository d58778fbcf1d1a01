"""What a process imports for its first session: the modules that its model needs, and no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.linker import features

NUMBERS = ", ".join(str(i % 7) for i in range(108))
MLP = """g (float[N,9] x) => (float[N,9] y)
    <float[9,12] a = {NUMBERS}, float[12] b = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, float[12,9] c = {NUMBERS}>
    { p = Gemm(x, a, b) q = Relu(p) y = Gemm(q, c) }""".replace("NUMBERS", NUMBERS)
CONVOLUTION = """g (float[1,3,8,8] x) => (float[1,4,4,4] y) <float[4,3,3,3] w = {NUMBERS}>
    { a = Conv<pads = [1, 1, 1, 1]>(x, w) b = Relu(a)
      y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(b) }""".replace("NUMBERS", NUMBERS)
MLP_HEADER = '<ir_version: 10, opset_import: ["" : 22]>'
PROGRAM = """
import sys
import numpy as np
import sardonyx as sx
session = sx.Session(sys.argv[1], engine="native")
shape = [d if isinstance(d, int) else 1 for d in session.inputs[0].shape]
print(float(session.run({"x": np.ones(shape, np.float32)})["y"].sum()))
print(*(m.removeprefix("sardonyx._src.") for m in sys.modules))
"""
# For models without Gradient nodes, decision trees, operators with bodies, half precision and quantization, and without
# nodes at which patterns of passes end, whose texts are parsed.
OTHER_MODELS = (
    "grad.gradient_nodes",
    "grad.reverse",
    "grad.operators",
    "ops.ml.tree_ensemble",
    "ops.random",
    "ops.function_bodies",
    "proto.text",
    "ml_dtypes",
    "runtime.fallbacks.native_subgraphs",
    "runtime.fast_path.bound_calls",
    "runtime.specialization.compilation",
    "rewrite.proof.prove",
    "compile.partition.patterns.conv_weight_gradient",
    "compile.partition.patterns.max_pool_gradient",
    "compile.partition.patterns.norm_gradient",
    "compile.partition.patterns.quantized_convolution",
    "compile.partition.patterns.softmax_gradient",
    "compile.lower.operators.cast",
    "compile.lower.operators.own_kernel",
    "compile.kernels.conv.computed_weights",
    "compile.kernels.depthwise.depthwise",
)
# For kernels whose code is not in a library or a cache.
TEXT_OF_KERNELS = (
    "llvmlite",
    "compile.codegen.operations",
    "compile.codegen.math.table",
    "compile.codegen.math.double_functions",
    "compile.codegen.minifloats",
    "compile.executor.sized_entry",
    "compile.executor.tape",
)
# For kernels without code, and for size functions without an interpreter, which a library has.
WORKERS = ("compile.llvm.compile_workers",)
# For programs that are not cached: the compiler, the decoder of models, the interface of operators, and their messages.
COMPILER = (
    "logging",
    "io.loading.load",
    "io.serde",
    "numpy.typing",
    "ops.api",
    "ops.registry",
    "proto",
    "schema",
    "compile.pipeline",
    "compile.codegen.atomics",
    "compile.codegen.kernel_builder",
    "compile.llvm.jit",
    "compile.llvm.kernel_library",
    "compile.program.encoding.encoding",
    "compile.program.memory.memory_plan",
    "compile.kernels",
    "compile.partition",
    "compile.layouts",
    "compile.lower",
    "compile.llvm.compile_workers",
    "compile.linker.link",
    "convert",
    "rewrite",
    "infer.walk",
    "interp.program",
    "interp.interpreter",
    "io.saving.staging",
    "runtime.saved_programs.writing",
    "runtime.programs.async_compilation",
    "subprocess",
)
pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(features.saved_program_machine() is None, reason="programs are not saved here"),
]


def imports_of_session(path: Path, cache: Path) -> tuple[str, list[str]]:
    """The sum of the result of a session in a process of its own, and the modules that it has imported."""
    environment = {**os.environ, "SARDONYX_CACHE": str(cache)}
    command = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    total, modules = done.stdout.splitlines()
    return total, modules.split()


def among(modules: list[str], unwanted: tuple[str, ...]) -> list[str]:
    return [m for m in modules if any(m == name or m.startswith(f"{name}.") for name in unwanted)]


@pytest.mark.parametrize(
    ("text", "compiled_only"), [(MLP, ()), (CONVOLUTION, WORKERS)], ids=["mlp", "convolution"]
)
def test_a_session_imports_what_its_model_needs(
    text: str, compiled_only: tuple[str, ...], tmp_path: Path
) -> None:
    """compiled_only: what no session of the model imports but the one that compiles its kernels."""
    path, cache = tmp_path / "m.onnx", tmp_path / "cache"
    sx.save(parse_model(text), path)
    first, _ = imports_of_session(path, cache)

    shutil.rmtree(cache / "programs")  # the kernels stay
    compiled, modules = imports_of_session(path, cache)
    assert among(modules, (*OTHER_MODELS, *TEXT_OF_KERNELS, *compiled_only)) == []
    assert "compile.pipeline" in modules

    cached, modules = imports_of_session(path, cache)
    assert among(modules, (*OTHER_MODELS, *TEXT_OF_KERNELS, *COMPILER)) == []
    assert first == compiled == cached


def test_a_cached_program_with_fallback_operations_imports_their_kernels(tmp_path: Path) -> None:
    """The lists above are not empty by a mistake: what is missing there is imported here."""
    path, cache = tmp_path / "m.onnx", tmp_path / "cache"
    text = "g (float[2] x) => (float[2] y) { s = Cast<to = 8>(x) r = Cast<to = 1>(s) y = Neg(r) }"
    sx.save(parse_model(text), path)
    imports_of_session(path, cache)
    total, modules = imports_of_session(path, cache)
    assert total == "-2.0"
    assert {"interp.program", "runtime.fallbacks.native_subgraphs"} <= {*modules}


def test_text_without_rare_element_types_is_parsed_without_their_package() -> None:
    """Patterns of passes are such text, so that most first sessions parse some."""
    text = f"{MLP_HEADER} {MLP}"
    code = f"import sys, sardonyx as sx; sx.from_text({text!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert "sardonyx._src.proto.text.elements" in modules
    assert among(modules, ("ml_dtypes",)) == []
