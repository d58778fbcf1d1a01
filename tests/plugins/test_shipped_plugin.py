"""The plugin that is shipped: written by the public interface alone, and imported when a model needs it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sardonyx
import sardonyx_generation
from sardonyx._src.ops.installed_plugins import SHIPPED
from sardonyx._src.ops.registry import departures, find, uses_own_operators

FOLDER = Path(sardonyx_generation.__file__).parent
PUBLIC = {"sardonyx"} | {
    f"sardonyx.{path.stem}" for path in Path(sardonyx.__file__).parent.glob("*.py") if path.stem[0] != "_"
}
LOADED = "'sardonyx_generation' in sys.modules"
GREEDY = """<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]>
g (int32[B,S] ids) => (int32[B,L] y) <int32[1] longest = {6}, float[1,1,3] score = {1, 3, 2}> {
  y = com.microsoft.GreedySearch <eos_token_id = 2, pad_token_id = 0, decoder = d (int32[B,S] i, int32[B,S] p, int32[B,T] m,
      float[2,B,1,P,1] past) => (float[B,S,3] logits, float[2,B,1,P,1] present) {
    shape = Shape(i) size = Constant <value_ints = [3]> () all = Concat <axis = 0> (shape, size)
    logits = Expand(score, all) present = Identity(past) }> (ids, longest) }"""


def run(code: str, **variables: str) -> str:
    environment = {**os.environ, **variables}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_it_imports_public_modules_only(path: Path) -> None:
    imported = [
        node.module if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    ours = {str(name) for name in imported if str(name).split(".")[0] == "sardonyx"}
    assert ours <= PUBLIC, f"{path.name} imports {ours - PUBLIC}"


def test_it_is_part_of_the_distribution() -> None:
    project = (FOLDER.parents[1] / "pyproject.toml").read_text()
    packages = next(line for line in project.splitlines() if line.startswith("packages = "))
    assert all(f'"src/{module}"' in packages for module in SHIPPED.values())


def test_a_model_without_its_operators_imports_nothing_of_it() -> None:
    text = '<ir_version: 10, opset_import: ["": 21, "com.microsoft": 1]> g (float[2] x) => (float[2] y) { y = com.microsoft.Gelu(x) }'
    code = f"""
import sys, numpy as np, sardonyx as sx
import sardonyx.plugins
session = sx.Session(sx.from_text({text!r}))
session.run({{"x": np.zeros(2, np.float32)}})
print({LOADED})
"""
    assert run(code) == "False"


def test_a_session_of_a_model_with_its_operators_imports_it() -> None:
    code = f"""
import sys, numpy as np, sardonyx as sx
model = sx.from_text({GREEDY!r})
print({LOADED})
session = sx.Session(model)
print(session.run({{"ids": np.array([[1, 2]], np.int32)}})["y"].tolist(), {LOADED})
"""
    assert run(code).splitlines() == ["False", "[[1, 2, 1, 1, 1, 1]] True"]


def test_its_operators_are_no_reason_not_to_cache_a_program() -> None:
    assert find("com.microsoft", "GreedySearch") is not None
    assert not uses_own_operators([("com.microsoft", "GreedySearch")])


def test_a_changed_operator_of_it_is_a_departure() -> None:
    op = find("com.microsoft", "Sampling")
    assert op is not None and "changed by a test" not in departures()
    before, op.about = op.about, "changed by a test"
    assert "changed by a test" in departures()
    op.about = before
