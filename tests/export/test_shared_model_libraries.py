"""Shared models with fixed sizes as libraries: the bits of a session of the model with these sizes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from conformance.test_shared_models import FOLDERS, MODELS, reference
from export.library_suite import compare
from sardonyx._src.compile.linker.features import saved_program_machine
from sardonyx._src.export.functions import compile_library

# What is no tensor of numbers.
REFUSED = {
    "skl_text_column_transformer": r"got 'text' \(string",
    "squeezenet_winml_imagescaler": r"'ZipMap' \(ZipMap\)",
}
pytestmark = [
    pytest.mark.skipif(not FOLDERS, reason="the shared models are not available"),
    pytest.mark.skipif(saved_program_machine() is None, reason="libraries are not loaded here"),
]


@pytest.mark.parametrize("name", FOLDERS)
def test_a_model_has_the_bits_of_the_session(name: str, tmp_path: Path) -> None:
    arrays = {key: np.asarray(x) for key, x in reference(MODELS / name)[0].items()}
    model = sx.load(MODELS / name / "model.onnx")
    fixed = sx.tools.set_dims(model, inputs={key: x.shape for key, x in arrays.items()})
    if name in REFUSED:
        with pytest.raises(sx.InputError, match=REFUSED[name]):
            compile_library(fixed, tmp_path, emit="shared")
    else:
        compare(fixed, compile_library(fixed, tmp_path, emit="shared"), arrays, name)
