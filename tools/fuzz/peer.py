"""The same mutants in onnxruntime: how it ends, and whether its results are those of the reference engine."""

from __future__ import annotations

import numpy as np

import sardonyx as sx
from fuzz.engines import is_close, is_random, run_model, summarize
from fuzz.feeding import feeds_for
from fuzz.mutant_cases import MutateModel
from fuzz.verdicts import DIFFERENCE, Verdict, fault
from fuzz.workers import Judge
from sardonyx._src.errors import SardonyxError


def peer_judge(mutate: MutateModel) -> Judge:
    """Judges case i in onnxruntime: mutant i, if both packages load it."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    onnxruntime.set_default_logger_severity(4)

    def judge(number: int) -> Verdict:
        mutant = mutate(number)
        try:
            model = sx.load(mutant.model)
        except SardonyxError:
            return Verdict("refused by load")
        feeds = feeds_for(model, mutant.subject.feeds, mutant.seed)
        if feeds is None or not all(isinstance(value, np.ndarray) for value in feeds.values()):
            return Verdict("no feeds")
        try:
            session = onnxruntime.InferenceSession(mutant.model, options, providers=["CPUExecutionProvider"])
        except Exception:  # noqa: BLE001  # its errors have no common class
            return Verdict("onnxruntime does not load it")
        expected = run_model(model, feeds, "reference")
        try:
            actual = session.run(None, feeds)
        except Exception:  # noqa: BLE001
            return Verdict("both fail" if isinstance(expected, Exception) else "only onnxruntime fails")
        if isinstance(expected, Exception):
            return Verdict("only the reference engine refuses")
        if is_random(model):
            return Verdict("equal results")
        for a, b in zip(
            actual, expected, strict=False
        ):  # an output that is listed twice counts once in a session
            if not is_close(a, b):
                operators = " ".join(sorted({node.op_type for node in model.graph.nodes})[:3])
                return fault(DIFFERENCE, operators, f"reference: {summarize(b)}; onnxruntime: {summarize(a)}")
        return Verdict("equal results")

    return judge
