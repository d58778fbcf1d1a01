"""Plugins of installed packages, which entry points name, and `--plugin`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PLUGIN = """
import numpy as np
import sardonyx as sx
from sardonyx.plugins import operator, pattern, rule

@operator("org.example", inputs={"x": "tensor(float)"}, outputs={"y": "tensor(float)"}, infer="same")
def Twice(x):
    return x * 2

@pattern("y = Add(x, x)", "y = org.example.Twice(x)")
def fuse_twice(match):
    return {}

@rule("EXA001", "no-abs", cure="use another operator")
def check_abs(model):
    for node in model.graph.nodes:
        if node.op_type == "Abs":
            yield node, "Abs is not allowed here"
"""
MODEL = """<ir_version: 10, opset_import: ["": 21, "org.example": 1]>
g (float[2] x) => (float[2] y) { a = Abs(x) y = org.example.Twice(a) }"""
SUMS = """<ir_version: 10, opset_import: ["": 21]>
g (float[2] x) => (float[2] y) { a = Abs(x) y = Add(a, a) }"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment in which a package with a plugin is installed."""
    (tmp_path / "example_plugin.py").write_text(PLUGIN)
    about = tmp_path / "example_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: example-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[sardonyx.plugins]\norg.example = example_plugin\n")
    (tmp_path / "m.onnxtxt").write_text(MODEL)
    (tmp_path / "sums.onnxtxt").write_text(SUMS)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    return {**os.environ, "PYTHONPATH": path}


def run(environment: dict[str, str], *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *words]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def test_an_operator_of_an_unknown_domain_imports_its_plugin(
    environment: dict[str, str], tmp_path: Path
) -> None:
    code = """
import sys, numpy as np, sardonyx as sx
model = sx.load("m.onnxtxt")
assert "example_plugin" not in sys.modules
print(sx.Session(model).run({"x": np.array([-1, 2], np.float32)})["y"])
"""
    done = run(environment, "-c", code, folder=tmp_path)
    assert done.stdout.strip() == "[2. 4.]", done.stderr


def test_load_installed_imports_every_plugin(environment: dict[str, str], tmp_path: Path) -> None:
    code = """
import sardonyx as sx
from sardonyx.plugins import load_installed
print("example_plugin" in load_installed())
print([node.op_type for node in sx.optimize(sx.load("sums.onnxtxt")).graph.nodes])
print([d.rule for d in sx.check("sums.onnxtxt").diagnostics])
"""
    done = run(environment, "-c", code, folder=tmp_path)
    assert done.stdout.splitlines() == ["True", "['Abs', 'Twice']", "['EXA001']"], done.stderr


def test_the_command_line_imports_installed_plugins(environment: dict[str, str], tmp_path: Path) -> None:
    check = run(environment, "-m", "sardonyx", "check", "m.onnxtxt", "--select", "EXA001", folder=tmp_path)
    assert "EXA001 no-abs: Abs is not allowed here" in check.stdout + check.stderr
    words = ("optimize", "sums.onnxtxt", "-o", "out.onnxtxt")
    done = run(environment, "-m", "sardonyx", *words, folder=tmp_path)
    assert done.returncode == 0 and "org.example.Twice" in (tmp_path / "out.onnxtxt").read_text(), done.stderr


@pytest.mark.parametrize("verb", ["check", "optimize"])
def test_plugin_names_a_module_with_rules_and_passes(
    verb: str, environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "example_plugin-1.0.dist-info/entry_points.txt").unlink()
    words = {"check": ["--select", "no-abs"], "optimize": ["--passes", "fuse-twice"]}[verb]
    command = ("-m", "sardonyx", verb, "sums.onnxtxt", *words)
    without = run(environment, *command, folder=tmp_path)
    assert without.returncode == 2, without.stdout
    done = run(environment, *command, "--plugin", "example_plugin", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("EXA001" if verb == "check" else "fuse-twice") in done.stdout + done.stderr


def test_a_plugin_that_cannot_be_imported_is_named(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "example_plugin.py").write_text("import nothing_of_that_name")
    done = run(environment, "-m", "sardonyx", "check", "m.onnxtxt", folder=tmp_path)
    assert done.returncode == 2
    assert (
        "the plugin example_plugin of example-plugin cannot be imported: ModuleNotFoundError" in done.stderr
    )
