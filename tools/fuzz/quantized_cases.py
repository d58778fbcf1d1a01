"""Random graphs through the schemes of `quantize`: valid, as other engines compute them, and with the errors that are reported."""

from __future__ import annotations

from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime as ort

import sardonyx as sx
from compile.random_layers import sample
from fuzz.engines import compile_in_process
from fuzz.verdicts import DIFFERENCE, Verdict, describe, fault, place_of, untyped
from fuzz.workers import Judge
from sardonyx._src.errors import SardonyxError
from sardonyx._src.ir import Array
from sardonyx._src.quantize.report.quality import ErrorSums, is_float
from sardonyx._src.quantize.schemes.table import SCHEMES

NODES = 14
OPSET_ELSEWHERE = 21  # an operator set that onnxruntime has kernels of
NEAR = 0.5  # dB between a ratio that is reported and one that is measured
ROUNDING = 1e-4  # of the largest element: engines add in other orders
STEPS = {
    "float16": 2**-10,
    "bfloat16": 2**-7,
}  # between 1 and the next number: engines round other intermediate results
LEAST_RATIO = 10.0  # dB of each output, of the scheme that has such a bound
Outputs = Mapping[str, Array]
FORK = get_context("fork")


def quantized_judge() -> Judge:
    """Judges case i: graph i // n with scheme i % n of the n schemes."""
    schemes = list(SCHEMES)

    def judge(number: int) -> Verdict:
        seed, scheme = divmod(number, len(schemes))
        try:
            with compile_in_process():
                return judge_scheme(seed, schemes[scheme])
        except AssertionError as error:
            return fault(DIFFERENCE, f"{schemes[scheme]}: assertion in {place_of(error)}", describe(error))
        except SardonyxError as error:
            signature = f"{schemes[scheme]}: {type(error).__name__} of a valid graph"
            return fault(DIFFERENCE, signature, describe(error))
        except Exception as error:  # noqa: BLE001
            return untyped(error, schemes[scheme])

    return judge


def judge_scheme(seed: int, scheme: str) -> Verdict:
    graph = sample(seed, NODES)
    feeds, model = graph.feeds[0], graph.model
    try:
        model = sx.convert(model, OPSET_ELSEWHERE)
    except sx.ConversionError:
        return Verdict("no conversion")
    exact = sx.Session(model).run(feeds)
    if not all(np.isfinite(value).all() for value in exact.values() if is_float(value)):
        return Verdict("infinities")
    try:
        bound = LEAST_RATIO if scheme == "mixed" else None
        result = sx.quantize(model, scheme, data=[feeds], force=True, rounds=0, signal_to_noise=bound)
    except sx.InputError as error:
        if "must be finite numbers" not in str(error):
            raise
        return Verdict("infinities")
    if not result.report.layers:
        return Verdict(f"{scheme}: no layer")
    ours = sx.Session(result.model).run(feeds)
    assert_errors_are_reported(result, ours, exact)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "quantized.onnx"
        sx.save(result.model, path)
        added = error_codes(path) - error_codes(model)
        assert not added, f"an invalid model: {' '.join(sorted(added))}"
        return Verdict(
            f"{scheme}: valid, as reported, {compare_elsewhere(model, path, feeds, (exact, ours), STEPS.get(scheme, ROUNDING))}"
        )


def error_codes(model: sx.Model | Path) -> set[str]:
    """The rules that a model breaks: generated graphs declare no shapes of outputs."""
    return {diagnostic.rule for diagnostic in sx.check(model).of("error")}


def compare_elsewhere(
    model: sx.Model, path: Path, feeds: Outputs, results: tuple[Outputs, Outputs], rounding: float
) -> str:
    """What onnxruntime makes of a quantized model, if it computes the same as we do of the original."""
    original = path.with_name("original.onnx")
    sx.save(model, original)
    expected = run_apart(original, feeds)
    if expected is None or not is_alike(expected, results[0]):
        return "original not alike in onnxruntime"
    theirs = run_apart(path, feeds)
    if theirs is None:
        return "not run by onnxruntime"
    for name, value in results[1].items():
        if is_float(value) and value.shape == results[0][name].shape:
            assert_close(theirs[name], value, results[0][name], rounding)
    return "alike in onnxruntime"


def assert_errors_are_reported(result: sx.Quantization, ours: Outputs, exact: Outputs) -> None:
    """The report's ratio of each output is that of another run."""
    reported = {output.name: output.signal_to_noise for output in result.report.outputs}
    for name, value in ours.items():
        if not is_float(value):
            continue
        sums = ErrorSums()
        sums.add(exact[name], value)
        ratio, expected = sums.error(name).signal_to_noise, reported[name]
        is_same = ratio == expected or (np.isnan(ratio) and np.isnan(expected))
        assert is_same or abs(ratio - expected) < NEAR, f"{name}: {ratio} dB, reported {expected}"


def run_apart(path: Path, feeds: Outputs) -> Outputs | None:
    """The outputs of onnxruntime in a process of its own; None if it fails or crashes."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=send_outputs, args=(sender, path, feeds))
    process.start()
    sender.close()
    try:
        outputs: Outputs | None = receiver.recv()
    except EOFError:  # it crashed
        outputs = None
    process.join()
    return outputs


def send_outputs(sender: Connection, path: Path, feeds: Outputs) -> None:
    try:
        sender.send(run_elsewhere(path, feeds))
    except Exception:  # noqa: BLE001  # its errors have no common class
        sender.send(None)


def run_elsewhere(path: Path, feeds: Outputs) -> Outputs:
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # rows stay float32
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, dict(feeds)), strict=True))


def is_alike(theirs: Outputs, ours: Outputs) -> bool:
    return all(
        theirs[name].shape == value.shape and np.allclose(theirs[name], value, ROUNDING, ROUNDING)
        for name, value in ours.items()
        if is_float(value)
    )


def assert_close(actual: Array, expected: Array, exact: Array, rounding: float) -> None:
    """Engines differ by at most what quantization changes: sums in another order become the next integer of few elements."""
    difference = np.abs(actual.astype(np.float64) - expected).max(initial=0)
    error = np.abs(expected.astype(np.float64) - exact).max(initial=0)
    bound = 2 * error + rounding * np.abs(exact.astype(np.float64)).max(initial=1e-3)
    assert difference <= bound, f"onnxruntime differs by {difference}, at most {bound}"
