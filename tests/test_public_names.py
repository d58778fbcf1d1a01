"""The public API: the list of its names, and that the stub declares the same names as the package."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import sardonyx
import sardonyx.backend as public_backend
import sardonyx.errors as public_errors
import sardonyx.generate as public_generate
import sardonyx.ir as public_ir
import sardonyx.tools as public_tools
import sardonyx.train as public_train

NAMES = """
    Builder CancellationToken CancelledError CertificateError CompilationError CompilerWarning ConversionError DataType DecodeError Diagnostic DifferentiationError EvaluationError ExternalDataError FileChanged Generator InferenceError InputError InvalidModel
    JsonError LimitError Limits MissingPackage Model Operand OperatorSet OptimizationError OptimizationReport OutputError Policy Predictor Quantization QuantizationReport Report RunLimits SardonyxError Scorer Session SessionStats ShapeWarning SparseTensor Tensor TextError TrainingDiverged TrainingSession UnsupportedOperator UnsupportedProcessor VerificationError
    check convert from_json from_onnx from_text gradient infer load load_operator_set operator optimize quantize save save_operator_set score to_json to_onnx to_python to_text view
""".split()


def test_the_public_names_are_these() -> None:
    assert sorted(set(sardonyx.__all__) - {"__version__"}) == NAMES
    assert set(NAMES) <= set(dir(sardonyx))


def test_every_name_is_there_and_documented() -> None:
    for name in NAMES:
        assert getattr(sardonyx, name).__doc__, name


def test_the_stub_names_the_same_homes() -> None:
    stub = ast.parse(Path(sardonyx.__file__).with_suffix(".pyi").read_text())
    said = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module != "sardonyx"
        for alias in node.names
    }
    assert sorted(map(str, said)) == NAMES
    for name, home in said.items():
        assert getattr(importlib.import_module(str(home)), str(name)) is getattr(sardonyx, str(name))


def test_importing_loads_no_heavy_library() -> None:
    heavy = (
        "rich",
        "llvmlite",
        "PIL",
        "onnx",
        "google.protobuf",
        "sardonyx._src.runtime",
        "sardonyx._src.proto.text",
    )
    code = f"import sys, sardonyx; sardonyx.load; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_modules_are_attributes_of_the_package() -> None:
    names = ("backend", "compat", "errors", "generate", "ir", "plugins", "tools", "train")
    code = f"import sardonyx as sx; print(*(getattr(sx, name).__name__ for name in {names}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"sardonyx.{name}" for name in names]


def test_importing_loads_what_is_used() -> None:
    code = "import sys, sardonyx; print('numpy' in sys.modules, [m for m in sys.modules if m.startswith('sardonyx')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False ['sardonyx']"


def test_no_public_name_is_shadowed_by_a_package() -> None:
    code = "import sardonyx._src.infer.walk; from sardonyx import infer; print(infer.__qualname__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "infer"
    packages = {path.name.removesuffix(".py") for path in Path(sardonyx.__file__).parent.iterdir()}
    assert not packages & set(NAMES)


@pytest.mark.parametrize(
    "module",
    [public_ir, public_errors, public_backend, public_generate, public_tools, public_train],
    ids=lambda module: str(module.__name__),
)
def test_a_public_module_lists_what_it_exports(module: ModuleType) -> None:
    exported = {name for name in vars(module) if not name.startswith("_")}
    assert exported == set(module.__all__)
    for name in module.__all__:
        assert getattr(module, name).__doc__, name
