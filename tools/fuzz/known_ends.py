"""Models of which other packages are known to die, run in processes with limits by onnxruntime and by both engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

import sardonyx as sx
from fuzz.engines import run_model
from fuzz.verdicts import Verdict
from fuzz.workers import Judge, judge_cases
from sardonyx._src.ir import Array

DEPTH = 50_000  # nodes of a tree that is one branch
RUNNERS = ("onnxruntime", "native", "reference")


@dataclass(frozen=True)
class KnownEnd:
    what: str
    text: str
    feeds: Mapping[str, Array]


def chain_of_branches() -> str:
    """A tree of which each node is the false branch of the one before."""
    ids = range(DEPTH + 1)
    columns = {
        "nodes_treeids": [0] * len(ids),
        "nodes_nodeids": [*ids],
        "nodes_featureids": [0] * len(ids),
        "nodes_truenodeids": [DEPTH] * DEPTH + [0],
        "nodes_falsenodeids": [i + 1 for i in range(DEPTH)] + [0],
        "nodes_values": [0.0] * len(ids),
        "target_treeids": [0],
        "target_nodeids": [DEPTH],
        "target_ids": [0],
        "target_weights": [1.0],
    }
    modes = ", ".join(['"BRANCH_LEQ"'] * DEPTH + ['"LEAF"'])
    lists = ", ".join(f"{name} = [{', '.join(map(str, values))}]" for name, values in columns.items())
    node = f"y = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, {lists}, nodes_modes = [{modes}]>(x)"
    imports = '"": 17, "ai.onnx.ml": 3'
    return f"<ir_version: 8, opset_import: [{imports}]> g (float[1,1] x) => (float[1,1] y) {{ {node} }}"


def known_ends() -> list[KnownEnd]:
    head = '<ir_version: 8, opset_import: ["": 17]> g'
    least, minus_one = np.array([-(2**31)], np.int32), np.array([-1], np.int32)
    pair = {"a": least, "b": minus_one}
    wide = {"a": np.array([-(2**63)], np.int64), "b": np.array([-1], np.int64)}
    signal = {"x": np.ones((1, 4, 1), np.float32)}
    dft, far = head.replace("17", "20"), {**signal, "i": np.array(7)}
    image = {"x": np.ones((1, 1, 2, 2), np.float32)}
    return [
        KnownEnd("int32: least / -1", f"{head} (int32[1] a, int32[1] b) => (int32[1] y) {{ y = Div(a, b) }}", pair),
        KnownEnd("int64: least / -1", f"{head} (int64[1] a, int64[1] b) => (int64[1] y) {{ y = Div(a, b) }}", wide),
        KnownEnd("int32: least % -1", f"{head} (int32[1] a, int32[1] b) => (int32[1] y) {{ y = Mod(a, b) }}", pair),
        KnownEnd(f"a tree of {DEPTH:,} nodes in one branch", chain_of_branches(), {"x": np.ones((1, 1), np.float32)}),
        KnownEnd("DFT along axis 7 of rank 3", f"{head} (float[1,4,1] x) => (y) {{ y = DFT<axis = 7>(x) }}", signal),
        KnownEnd("DFT along axis -9 of rank 3", f"{head} (float[1,4,1] x) => (y) {{ y = DFT<axis = -9>(x) }}", signal),
        KnownEnd("DFT-20 along axis 7 of rank 3", f"{dft} (float[1,4,1] x, int64 i) => (y) {{ y = DFT(x, , i) }}", far),
        KnownEnd("LRN of size 2^62 + 1", f"{head} (float[1,1,2,2] x) => (y) {{ y = LRN<size = {2**62 + 1}>(x) }}", image),
    ]  # fmt: skip


def ends_judge(ends: list[KnownEnd]) -> Judge:
    """Judges case i: end i // 3 in runner i % 3."""

    def judge(number: int) -> Verdict:
        end, runner = ends[number // len(RUNNERS)], RUNNERS[number % len(RUNNERS)]
        run: Callable[[], object] = lambda: run_in_onnxruntime(end)  # noqa: E731
        if runner != "onnxruntime":
            run = lambda: run_model(sx.from_text(end.text), end.feeds, runner)  # noqa: E731
        try:
            result = run()
        except Exception as error:  # noqa: BLE001  # of any class
            result = error
        return Verdict(type(result).__name__ if isinstance(result, Exception) else "a result")

    return judge


def run_in_onnxruntime(end: KnownEnd) -> object:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    data = sx.to_onnx(sx.from_text(end.text)).SerializeToString()
    return onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, dict(end.feeds))


def known_end_rows() -> list[tuple[str, ...]]:
    """For each model, what it is and how each runner ends: a result, an exception, a signal or a limit."""
    ends = known_ends()
    judged = list(judge_cases(ends_judge(ends), range(len(ends) * len(RUNNERS))))
    outcomes = [case.verdict.signature if case.verdict.fault else case.verdict.outcome for case in judged]
    count = len(RUNNERS)
    return [(end.what, *outcomes[i * count : (i + 1) * count]) for i, end in enumerate(ends)]
