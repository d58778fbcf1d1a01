"""`sx.quantize`: a model in fewer bits, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sardonyx._src.arguments import require_choice, require_flag, require_integer, texts_of, type_name
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.calibration import CalibrationSource, calibration_data
from sardonyx._src.quantize.calibration_columns import ColumnMap
from sardonyx._src.quantize.preparation import prepare
from sardonyx._src.quantize.report.latency import ROUNDS, latencies
from sardonyx._src.quantize.report.quality import output_errors
from sardonyx._src.quantize.report.report import Quantization, QuantizationReport
from sardonyx._src.quantize.report.shares import with_shares
from sardonyx._src.quantize.schemes.scheme import LayerPatterns, SchemeSettings
from sardonyx._src.quantize.schemes.table import SCHEMES
from sardonyx._src.quantize.sessions import tensor_bytes


def quantize(
    model: ModelSource,
    scheme: str = "int4",
    *,
    data: CalibrationSource | None = None,
    columns: ColumnMap | None = None,
    algorithm: str | None = None,
    block: int | None = None,
    symmetric: bool | None = None,
    ranges: str | None = None,
    activations: str | None = None,
    equalize: str | None = None,
    bias_correction: bool | None = None,
    format: str | None = None,
    pairs: str | None = None,
    accuracy: float | None = None,
    metric: str | Callable[[Sequence[Mapping[str, RuntimeValue]]], float] | None = None,
    resume: str | None = None,
    outliers: float | None = None,
    size: float | None = None,
    signal_to_noise: float | None = None,
    latency: float | None = None,
    keep_types: bool | None = None,
    bound: float | None = None,
    nodes: Iterable[str] = (),
    exclude: Iterable[str] = (),
    force: bool = False,
    rounds: int = ROUNDS,
    shares: bool = True,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Quantization:
    """A copy of the model in fewer bits, as standard ONNX, and a report.

    scheme: "int4" or "int8-weights": the weights of MatMul, Gemm, Gather, Conv and recurrences as integers of 4 or 8 bits, which
        DequantizeLinear of ai.onnx 21 reads; activations stay as they are.  "mixed": 4 bits, 8 bits or none, layer by layer.
        "int8": weights and activations of Conv, Gemm and MatMul in 8 bits, with ranges of the calibration data;
        "int8-dynamic": with ranges that each run measures.  "float16", "bfloat16": weights and arithmetic in half
        precision, where all numbers fit; "float32": the reverse.  "float8": weights in float8e4m3fn, with a scale for each channel.
    data: feeds like those of later runs, a path, a table in memory, or an iterable of such; those of more rows than the model
        takes are cut.  A path is a `.npz` file, a table (Parquet, CSV, JSON lines, Arrow IPC), or a folder of such files, of
        `.npy` files by input, or of pictures.  Errors are measured with them, and ranges; "awq", "gptq" and "adaround" reduce
        the errors.  Random without.
    columns: for an input, the column of files and tables that feeds it, or a list of columns that become one [rows, columns]
        matrix; others are not used.  By default each column feeds the input of its name.
    format: "qdq" (the default); "com.microsoft": MatMulNBits and GatherBlockQuantized; of "int8": "qoperator" for QLinearConv
        and QLinearMatMul.

    Of weights alone:
    algorithm: "nearest" rounds; "clipped" (the default) searches the range of each block; "hqq" finds scales for which few
        weights have large errors; "awq" scales terms before by what multiplies them; "gptq" makes up for errors of one term
        in later terms; "adaround" rounds up or down.
    block: terms of a sum that share a scale, a power of two from 16 to 1,024 (32); 0 for all terms.
    symmetric: without zero points (the default).
    outliers: of "int4" and "int8-weights": the share of terms of MatMul that keep floats, in a second small product; not where
        that is slower.
    size, signal_to_noise, latency: the bound of "mixed": a share of the original's bytes; the least ratio of each output and its
        error, in decibels; or a share of the original's time of a run on this machine, predicted from times of layers alone.

    Of "int8":
    ranges: of activations: "min-max" (the default), "percentile", "entropy" or "mse".
    activations: "uint8" (the default) or "int8"; of "float8": "float8" rounds activations, too.
    equalize: "smooth" (SmoothQuant) or "cross-layer": the model is made easier to quantize, and computes the same.
    bias_correction: whether the mean error of rounded weights, and of the last results, is subtracted from biases (with data).
    pairs: "fused" (the default), or "all": results of layers are quantized, too, as onnxruntime needs it for Conv.
    accuracy: the greatest loss; layers return to floats until it holds.
    metric: the loss: "mse" (the default; the relative squared error of the worst output), "top-1" (the share of rows whose
        largest element is at another place), or what a function of the outputs of all runs loses, whose result is to be high.
    resume: the path of a file with losses that were measured, with which an interrupted search goes on.

    bound: also of "int8-dynamic": the least signal-to-noise ratio of a layer's result in decibels if its operand alone is rounded
        (25); operands of layers below stay floats, and their weights are stored in 8 bits.

    Of "float16" and "bfloat16":
    keep_types: whether inputs and outputs of the model keep their types (the default); also of "float32".
    bound: the least signal-to-noise ratio of an output in decibels (40 and 25); nodes with the largest errors stay in float32
        until it holds.

    nodes, exclude: patterns of the names of nodes and weights, as `*attn*`: which are quantized, and which are not.
    force: also quantize layers and models that this slows down on this machine.
    rounds: bursts of calls in which the model is timed before and after; 0 for none.
    shares: whether the share of each layer in the final error is measured, by runs in which it alone is quantized.
    seed, dims: of random data: lengths of dimension variables by name.
    progress: called with the number of steps that are done, and of all.

    Raises InputError for wrong arguments and data, and for options that the scheme does not have; ConversionError for a model
    that cannot be converted to the scheme's operator set, and what sessions raise.
    """
    require_choice("scheme", scheme, tuple(SCHEMES))
    require_flag("force", force)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function or None; got {type_name(progress)}")
    require_integer("rounds", rounds, 0)
    require_flag("shares", shares)
    patterns = LayerPatterns(texts_of("nodes", nodes), texts_of("exclude", exclude))
    settings = SchemeSettings(
        scheme,
        patterns,
        force,
        progress or ignore,
        algorithm=algorithm,
        block=block,
        symmetric=symmetric,
        ranges=ranges,
        activations=activations,
        equalize=equalize,
        bias_correction=bias_correction,
        format=format,
        pairs=pairs,
        accuracy=accuracy,
        metric=metric,
        resume=resume,
        outliers=outliers,
        size=size,
        signal_to_noise=signal_to_noise,
        latency=latency,
        keep_types=keep_types,
        bound=bound,
    )
    require_options(settings)
    original = resolve_model(model)
    prepared = prepare(original, SCHEMES[scheme].operator_set)
    runs = calibration_data(prepared, data, seed, dims, columns)
    result = SCHEMES[scheme].load()(prepared, runs, settings)
    before, after = latencies((prepared, result.model), runs.runs[0], rounds if result.layers else 0)
    layers = result.layers
    if shares and not changes_values(settings):
        layers = with_shares(prepared, result.model, layers, runs)
    report = QuantizationReport(
        result.title,
        layers,
        result.kept,
        output_errors(prepared, result.model, runs) if result.layers else [],
        len(runs.runs),
        runs.is_random,
        (tensor_bytes(original), tensor_bytes(result.model)),
        (before, after),
    )
    return Quantization(result.model, report)


def changes_values(settings: SchemeSettings) -> bool:
    """Whether values between layers become others before they are quantized: scaled, so that both models compute the same."""
    return settings.equalize is not None or settings.algorithm == "awq"


def require_options(settings: SchemeSettings) -> None:
    """Raises InputError for options that a scheme does not have."""
    known = SCHEMES[settings.scheme].options
    options = dict.fromkeys(option for entry in SCHEMES.values() for option in entry.options)
    for name in options:
        value = getattr(settings, name)
        if value is not None and name not in known:
            owners = ", ".join(key for key, entry in SCHEMES.items() if name in entry.options)
            what = f"{name} must be None for the scheme {settings.scheme!r}; got {value!r}: it is an option of {owners}"
            raise InputError(what, name=name)


def ignore(done: int, total: int) -> None:
    """No progress is shown."""
