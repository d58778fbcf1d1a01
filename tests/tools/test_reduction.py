"""Failing cases of random graphs are reduced to what the fault needs, and written as a script."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import sardonyx as sx
from compile.unkind_agreement import Runs
from fuzz.reduction import reduce_runs
from fuzz.reduction_script import script_of
from fuzz.verdicts import DIFFERENCE, Verdict, fault

TEXT = """<ir_version: 10, opset_import: ["": 21]>
g (float[N, 4] x, int64[2] shape) => (float[a, b] y, float[c, d] z) {
    r = Relu(x)
    v = Reshape(r, shape)
    y = Neg(v)
    c = Concat<axis = 0>(r, x, x)
    z = Abs(c)
}"""


def runs_of(text: str) -> Runs:
    feeds = [{"x": np.full((n, 4), -2, np.float32), "shape": np.array([4, n])} for n in (3, 5)]
    return Runs(sx.from_text(text), feeds, valid=2)


def judge_concat(runs: Runs) -> Verdict:
    """A fault of every valid model with a Concat of two values or more."""
    try:
        for feeds in runs.feeds:
            sx.Session(runs.model, engine="reference").run(feeds)
    except sx.SardonyxError:
        return Verdict("invalid")
    is_faulty = any(n.op_type == "Concat" and len(n.inputs) > 1 for n in runs.model.graph.nodes)
    return fault(DIFFERENCE, "elements: Concat", "") if is_faulty else Verdict("agrees")


def test_a_case_shrinks_to_the_node_that_fails() -> None:
    smaller = reduce_runs(runs_of(TEXT), judge_concat)
    (node,) = smaller.model.graph.nodes
    assert (node.op_type, len(node.inputs)) == ("Concat", 2)
    assert [a.shape for feeds in smaller.feeds for a in feeds.values()] == []
    assert {v.initializer.shape for v in smaller.model.graph.initializers.values()} == {(1, 1)}  # type: ignore[union-attr]


def test_the_script_exits_with_0_where_engines_agree(tmp_path: Path) -> None:
    script = tmp_path / "case.py"
    script.write_text(script_of(runs_of(TEXT), "no fault"), encoding="utf-8")
    process = subprocess.run([sys.executable, script], env=dict(os.environ), capture_output=True, check=False)
    assert process.returncode == 0, process.stderr.decode()
