"""Bindings of libraries in Python: results of the session, in processes that import neither NumPy nor Sardonyx."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import sardonyx as sx
from export.small_models import TEXTS, feeds_of, small_model
from models import parse_model
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.export.functions import compile_library
from sardonyx._src.export.library import CompiledLibrary

pytestmark = pytest.mark.skipif(saved_program_machine() is None, reason="libraries are not loaded here")


def imported(library: CompiledLibrary) -> ModuleType:
    assert library.binding is not None
    spec = importlib.util.spec_from_file_location(f"binding_{library.binding.parent.name}", library.binding)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("name", "weights_file"), [*((name, False) for name in TEXTS), ("product", True)])
def test_a_binding_has_the_bits_of_the_session(name: str, weights_file: bool, tmp_path: Path) -> None:
    model = small_model(name)
    library = compile_library(model, tmp_path, emit="shared", weights_file=weights_file)
    results = imported(library).Model().run(feeds_of(name))
    for key, value in sx.Session(model, engine="native", threads=1).run(feeds_of(name)).items():
        expected = np.asarray(value)
        assert np.asarray(results[key]).tobytes() == expected.tobytes()
        assert results[key].shape == expected.shape


def test_inputs_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    model = parse_model("g (float[2,2] x) => (float[2,2] y) { y = Relu(x) }")
    binding = imported(compile_library(model, tmp_path, emit="shared")).Model()
    with pytest.raises(ValueError, match=r"x must have 16 bytes in order, \[2, 2\]; got 8 bytes"):
        binding.run({"x": np.zeros(2, np.float32)})
    with pytest.raises(ValueError, match="inputs must have 'x'; got 'z'"):
        binding.run({"z": np.zeros(2, np.float32)})


def test_an_error_of_the_library_is_raised(tmp_path: Path) -> None:
    binding = imported(compile_library(small_model("gather"), tmp_path, emit="shared")).Model()
    with pytest.raises(ValueError, match="index out of range"):
        binding.run(feeds_of("gather") | {"i": np.array([0, 9, 1])})


def test_the_standard_library_is_enough(tmp_path: Path) -> None:
    model = parse_model("g (float[2] x, bool b) => (float[2] y) { z = Relu(x)  y = Where(b, x, z) }")
    compile_library(model, tmp_path, emit="shared", prefix="relu")
    program = """
import sys
sys.path.insert(0, sys.argv[1])
from array import array
import relu
print(relu.Model().run({"x": array("f", [-1, 2]), "b": array("B", [0])})["y"].tolist(), "numpy" in sys.modules)
"""
    words = [sys.executable, "-I", "-S", "-c", program, str(tmp_path)]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["[0.0,", "2.0]", "False"]
