"""Classes without fused multiply-add have bits of their own, so that their results are compared by value."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from conformance.runner import EXPECTED_FAILURES, runner_classes
from conformance.test_shared_models import FOLDERS, MODELS, reference
from conformance.test_target_classes import SEED, restricted_numpy
from sardonyx._src.compile.linker.features import saved_program_machine

ROOT = Path(__file__).parents[2]
CLASSES = ("x86-64", "x86-64-v2")
CASES, MODELS_OF_CLASS = 60, 4  # a sample of the official suite, and of the shared models
# Takes the logarithm of 1 + 2**20 times the magnitudes of a spectrum, some of which are rounding errors.
AMPLIFYING = "silero_vad_v3"
SPECTRUM, SIGNAL, BASIS, HOP = "162", "158", "feature_extractor.forward_basis_buffer", 64
EPSILON = 2.0**-24  # the relative error of a rounding

pytestmark = pytest.mark.skipif(saved_program_machine() != "x86_64", reason="these are classes of x86-64")


def environment(class_name: str) -> dict[str, str]:
    """The environment of a process that computes as on a processor of the class, in NumPy too."""
    return {**os.environ, **restricted_numpy(class_name), "SARDONYX_TARGET": class_name}


def assert_tests_pass(class_name: str, tests: list[str]) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    process = subprocess.run(
        command, env=environment(class_name), capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert process.returncode == 0, process.stdout[-4000:]
    assert " passed" in process.stdout


@pytest.mark.parametrize("class_name", CLASSES)
def test_official_cases_have_their_values(class_name: str) -> None:
    names = [
        f"{kind}::{name}"
        for kind, case in runner_classes("native", __name__).items()
        for name in vars(case)
        if name.startswith("test_") and name.removesuffix("_cpu") not in EXPECTED_FAILURES
    ]
    chosen = np.random.default_rng(SEED).choice(names, CASES, replace=False)
    assert_tests_pass(class_name, [f"tests/conformance/test_official_native.py::{name}" for name in chosen])


@pytest.mark.skipif(not FOLDERS, reason="the shared models are not available")
@pytest.mark.parametrize("class_name", CLASSES)
def test_shared_models_answer_as_another_runtime_does(class_name: str) -> None:
    names = [name for name in FOLDERS if name != AMPLIFYING]
    names = list(np.random.default_rng(SEED).permutation(names)[:MODELS_OF_CLASS])
    test = "tests/conformance/test_shared_models.py::test_a_model_answers_as_another_runtime_does"
    assert_tests_pass(class_name, [f"{test}[{name}]" for name in names])


SPECTRUM_PROGRAM = f"""
import sys, numpy as np, sardonyx as sx
arrays = np.load(sys.argv[1])
outputs = sx.Session(sys.argv[2], engine="native").run({{key: arrays[key] for key in arrays.files}})
np.savez(sys.argv[3], spectrum=outputs["{SPECTRUM}"], signal=outputs["{SIGNAL}"])
"""


@pytest.mark.skipif(AMPLIFYING not in FOLDERS, reason="the shared models are not available")
@pytest.mark.parametrize("class_name", CLASSES)
def test_a_spectrum_is_as_accurate_as_its_roundings_allow(class_name: str, tmp_path: Path) -> None:
    """The errors that the model amplifies are those of float32: of each product and of each sum, at most half an ulp."""
    inputs, _ = reference(MODELS / AMPLIFYING)
    model = sx.load(MODELS / AMPLIFYING / "model.onnx")
    sx.save(sx.tools.extract(model, inputs=[*inputs], outputs=[SIGNAL, SPECTRUM]), tmp_path / "model.onnx")
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in inputs.items()}
    np.savez(tmp_path / "inputs.npz", **arrays)
    files = [str(tmp_path / name) for name in ("inputs.npz", "model.onnx", "results.npz")]
    subprocess.run([sys.executable, "-c", SPECTRUM_PROGRAM, *files], env=environment(class_name), check=True)
    results = np.load(tmp_path / "results.npz")
    basis = model.graph.initializers[BASIS].initializer
    assert isinstance(basis, sx.ir.Tensor)
    terms = basis.numpy()[:, 0, :].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(results["signal"][0, 0], terms.shape[1])[::HOP]
    exact, magnitudes = terms @ windows.T.astype(np.float64), np.abs(terms) @ np.abs(windows.T)
    errors = np.abs(results["spectrum"][0] - exact)
    assert (errors <= 2 * np.sqrt(terms.shape[1]) * EPSILON * magnitudes).all()
