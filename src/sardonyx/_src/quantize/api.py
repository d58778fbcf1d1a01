"""`sx.quantize`: a model with smaller weights, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from sardonyx._src.arguments import require_choice, require_flag, require_integer, texts_of, type_name
from sardonyx._src.convert.conversion import convert
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import nbytes
from sardonyx._src.errors import InputError
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.quantize.calibration import CalibrationData, CalibrationSource, calibration_data
from sardonyx._src.quantize.observation import observe_moments
from sardonyx._src.quantize.report.latency import ROUNDS, latencies
from sardonyx._src.quantize.report.quality import layer_error, output_errors
from sardonyx._src.quantize.report.report import LayerReport, Quantization, QuantizationReport
from sardonyx._src.quantize.weights.algorithm import Algorithm
from sardonyx._src.quantize.weights.clipped import quantize_clipped
from sardonyx._src.quantize.weights.gptq import quantize_gptq
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import KeptLayer, WeightLayer, find_layers
from sardonyx._src.quantize.weights.nearest import quantize_nearest
from sardonyx._src.quantize.weights.rewriting import replace_weight, weight_of
from sardonyx._src.quantize.weights.slower_layers import slower_layers
from sardonyx._src.rewrite.engine.edit import Edit

SCHEMES: Mapping[str, int] = {"int4": 4, "int8-weights": 8}  # the bits of weights
ALGORITHMS: Mapping[str, Algorithm] = {
    "nearest": quantize_nearest,
    "clipped": quantize_clipped,
    "gptq": quantize_gptq,
}
LEAST_BLOCK, MOST_BLOCK, DEFAULT_BLOCK = 16, 1024, 32
OPERATOR_SET = 21  # the first one whose DequantizeLinear has blocks and 4 bits


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """Which layers are quantized, by patterns of their names (`*` and `?`, as of files), and how.

    block: terms of a sum that share a scale; 0 for all of a column.
    """

    algorithm: str
    block: int
    grid: IntegerGrid
    nodes: Sequence[str]
    exclude: Sequence[str]

    def why_not(self, layer: WeightLayer) -> str:
        """Why a layer stays as it is; "" if it does not."""
        names = [node.name for node in layer.readers] + [layer.weight.name]
        if self.nodes and not matches(names, self.nodes):
            return "no pattern of nodes names it"
        return "it is excluded" if matches(names, self.exclude) else ""


def quantize(
    model: ModelSource,
    scheme: str = "int4",
    *,
    data: CalibrationSource | None = None,
    algorithm: str = "clipped",
    block: int = DEFAULT_BLOCK,
    symmetric: bool = True,
    nodes: Iterable[str] = (),
    exclude: Iterable[str] = (),
    force: bool = False,
    rounds: int = ROUNDS,
    seed: int = 0,
    dims: Mapping[str, int] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Quantization:
    """A copy of the model whose products read weights of few bits, by DequantizeLinear of ai.onnx 21, and a report.

    scheme: "int4" or "int8-weights": the weights of MatMul and Gemm as integers of 4 or 8 bits; activations stay as they are.
    data: feeds like those of later runs, or an iterable of feeds; those of more rows than the model takes are cut.  Errors are
        measured with them, and "gptq" reduces these.  Random without.
    algorithm: "nearest" rounds; "clipped" searches the range of each block; "gptq" makes up for errors of one term in later
        terms (Frantar et al., 2023).
    block: terms of a sum that share a scale, a power of two from 16 to 1,024; 0 for all terms.
    symmetric: without zero points.
    nodes, exclude: patterns of the names of nodes and weights, as `*attn*`: which are quantized, and which are not.
    force: also quantize layers that are slower on this machine with quantized weights.
    rounds: bursts of calls in which the model is timed before and after; 0 for none.
    seed, dims: of random data: lengths of dimension variables by name.
    progress: called with the number of layers that are done, and of all.

    Raises InputError for wrong arguments and data, ConversionError for a model that cannot be converted to ai.onnx 21, and what
    sessions raise.
    """
    choice = choice_of(scheme, algorithm, block, symmetric, nodes, exclude)
    require_flag("force", force)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be a function or None; got {type_name(progress)}")
    require_integer("rounds", rounds, 0)
    original = resolve_model(model)
    prepared = original.copy() if has_blocks(original) else convert(original, OPERATOR_SET)
    runs = calibration_data(prepared, data, seed, dims)
    result = prepared.copy()
    edit = Edit(result)
    layers, kept = choose_layers(edit, choice)
    if not force:
        slow = dict(slower_layers(prepared, layers, runs.runs[0], choice.block, choice.grid))
        layers, kept = [layer for layer in layers if layer not in slow], [*kept, *slow.values()]
    reports = quantize_layers(edit, prepared, layers, runs, choice, ignore if progress is None else progress)
    before, after = latencies((prepared, result), runs.runs[0], rounds if layers else 0)
    report = QuantizationReport(
        f"{scheme}, {choice.algorithm}, {f'blocks of {block}' if block else 'columns'}",
        reports,
        kept,
        output_errors(prepared, result, runs) if layers else [],
        len(runs.runs),
        runs.is_random,
        (tensor_bytes(original), tensor_bytes(result)),
        (before, after),
    )
    return Quantization(result, report)


def choice_of(
    scheme: str,
    algorithm: str,
    block: int,
    symmetric: bool,
    nodes: Iterable[str],
    exclude: Iterable[str],
) -> LayerChoice:
    require_choice("scheme", scheme, tuple(SCHEMES))
    require_choice("algorithm", algorithm, tuple(ALGORITHMS))
    require_integer("block", block, 0)
    require_flag("symmetric", symmetric)
    if block and (not LEAST_BLOCK <= block <= MOST_BLOCK or block & (block - 1)):
        what = f"block must be 0, or a power of two from {LEAST_BLOCK} to {MOST_BLOCK}; got {block}"
        raise InputError(what, name="block")
    grid = IntegerGrid(SCHEMES[scheme], symmetric)
    return LayerChoice(algorithm, block, grid, texts_of("nodes", nodes), texts_of("exclude", exclude))


def has_blocks(model: Model) -> bool:
    """Whether a model's operators include a DequantizeLinear with blocks."""
    return model.opset_imports.get("", OPERATOR_SET) >= OPERATOR_SET


def choose_layers(edit: Edit, choice: LayerChoice) -> tuple[list[WeightLayer], list[KeptLayer]]:
    layers, kept = [], []
    for item in find_layers(edit):
        if isinstance(item, KeptLayer):
            kept.append(item)
        elif why := choice.why_not(item):
            kept.append(KeptLayer(item.name, why))
        else:
            layers.append(item)
    return layers, kept


def quantize_layers(
    edit: Edit,
    model: Model,
    layers: Sequence[WeightLayer],
    data: CalibrationData,
    choice: LayerChoice,
    progress: Callable[[int, int], None],
) -> list[LayerReport]:
    """Quantizes one layer after the other, so that few weights are in memory."""
    reports = []
    run_algorithm = ALGORITHMS[choice.algorithm]
    for layer, moments in observe_moments(model, layers, data):
        weight = weight_of(layer)
        require_finite("model", f"the weight of {layer.name!r}", weight)
        require_finite("data", f"what the runs give the layer {layer.name!r}", moments)
        quantized = run_algorithm(weight, choice.block or layer.terms, choice.grid, moments)
        error = layer_error(weight, quantized.values(), moments)
        reports.append(LayerReport(layer.name, layer.tensor.shape, error))
        replace_weight(edit, layer, quantized, choice.grid)
        progress(len(reports), len(layers))
    return reports


def require_finite(name: str, what: str, numbers: Array) -> None:
    """Raises InputError for infinities and NaN, which have no range."""
    if not np.isfinite(numbers).all():
        raise InputError(
            f"{what} must be finite numbers; got infinities or NaN: exclude the layer", name=name
        )


def matches(names: Iterable[str], patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def tensor_bytes(model: Model) -> int:
    """The bytes of all tensors of numbers."""
    return sum(
        nbytes(tensor.dtype, tensor.size) for tensor in model_tensors(model) if tensor.dtype.bits is not None
    )


def ignore(done: int, total: int) -> None:
    """No progress is shown."""
