"""The count of names of onnxruntime that packages use."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import onnxruntime_uses

SOURCE = """
import importlib
import onnxruntime as ort
from onnxruntime import SessionOptions as Options
from onnxruntime.capi import onnxruntime_pybind11_state as C
from onnxruntime.quantization.quantize import quantize_dynamic

class Model:
    def __init__(self):
        self._model_path = "m.onnx"
        self.session = ort.InferenceSession(self._model_path, Options())
        self.level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        print(self.session._model_path, self.other.name, C.InvalidArgument, ort.OrtValue.ortvalue_from_numpy)
        self.session.run_with_iobinding(self.session.io_binding())
"""


def count(source: str) -> set[str]:
    methods = onnxruntime_uses.method_names()
    names = onnxruntime_uses.used_names(ast.parse(source), methods)
    return {onnxruntime_uses.normalized(name) for name in names} - {""}


def test_imports_attributes_and_methods_are_counted() -> None:
    assert count(SOURCE) == {
        "GraphOptimizationLevel",
        "InferenceSession",
        "InferenceSession._model_path",
        "InferenceSession.io_binding",
        "InferenceSession.run_with_iobinding",
        "OrtValue",
        "OrtValue.ortvalue_from_numpy",
        "SessionOptions",
        "capi._pybind_state.InvalidArgument",
        "quantization",
    }


def test_a_private_attribute_of_the_package_itself_is_not_counted() -> None:
    assert count("import onnxruntime\nclass A:\n    def f(self): return self._model_path") == set()


def test_a_module_that_is_imported_by_its_name_is_counted() -> None:
    source = "ort = importlib.import_module('onnxruntime')\nself.ort.InferenceSession('m.onnx')"
    assert count(source) == {"InferenceSession"}
    assert count(source.replace("onnxruntime", "other")) == set()


def test_only_sources_of_the_newest_commit_are_read(tmp_path: Path) -> None:
    for path, name in {
        "rapidocr/main.py": "InferenceSession",
        "tests/a.py": "OrtValue",
        "docs/b.py": "OrtValue",
        "pkg/test_c.py": "OrtValue",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text(f"from onnxruntime import {name}\n")
    (tmp_path / "rapidocr" / "old.py").write_text("import onnxruntime\nprint 1\n")  # Python 2
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "all"]):
        subprocess.run([*git, *command], check=True)
    methods = onnxruntime_uses.method_names()
    assert onnxruntime_uses.repository_names(tmp_path / ".git", methods) == {"InferenceSession"}


def test_the_stored_counts_are_of_a_hundred_packages() -> None:
    stored = json.loads(onnxruntime_uses.RESULT.read_text())
    assert len(set(stored["repositories"])) == len(stored["repositories"]) >= 100
    assert max(stored["uses"].values()) <= len(stored["repositories"])
