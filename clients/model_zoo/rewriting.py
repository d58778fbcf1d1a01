"""What is done to an exported file before it runs: rewriters of others, and sx.optimize, sx.convert and sx.gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime
import onnxslim

import sardonyx as sx
from model_zoo.exports import Export, NotExported, export, quiet, stored, values_of, weights_of
from model_zoo.registry import Network
from sardonyx.errors import ConversionError, DifferentiationError

LOSS = "zoo_loss"
OTHER_SET = {16: 22, 18: 24, 20: 16, 24: 18}  # the operator set that sx.convert translates a set to


def plain(_: Network, how: Export, path: Path) -> Path:
    return path


def slim(_: Network, how: Export, path: Path) -> Path:
    def write(partial: Path) -> None:
        with quiet():
            onnx.save(onnxslim.slim(str(path)), str(partial))

    return stored(path.with_name(f"{how}-onnxslim.onnx"), write)


def optimized_by_onnxruntime(_: Network, how: Export, path: Path) -> Path:
    """Its extended optimizations: fused operators of com.microsoft, but no layouts of one machine."""

    def write(partial: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(partial)
        options.log_severity_level = 4
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    return stored(path.with_name(f"{how}-onnxruntime.onnx"), write)


def optimized(_: Network, how: Export, path: Path) -> Path:
    return rewritten(path, how, "optimize", lambda: sx.optimize(path))


def converted(_: Network, how: Export, path: Path) -> Path:
    """In another operator set; raises NotExported where that set cannot express a node."""
    try:
        return rewritten(path, how, "convert", lambda: sx.convert(path, OTHER_SET[how.opset]))
    except ConversionError as error:
        raise NotExported(str(error)) from error


def differentiated(network: Network, how: Export, path: Path) -> Path:
    """With the gradients of `Values`, by inputs and by weights that the file still has."""
    values = values_of(network, 0)
    model = onnx.load(path)
    weights = weights_in(model, network)
    names = [name for name in values.gradients if name in values.feeds or name in weights]
    if not names:
        raise NotExported("nothing to differentiate")
    append_loss(model.graph, values.differentiable)
    try:
        return rewritten(path, how, "gradient", lambda: sx.gradient(model, LOSS, names))
    except DifferentiationError as error:
        raise NotExported(str(error)) from error


def rewritten(path: Path, how: Export, name: str, rewrite: Callable[[], sx.Model]) -> Path:
    """The file of our own rewriter, made in each run."""
    target = path.with_name(f"{how}-{name}.onnx")
    sx.save(rewrite(), target)
    return target


def weights_in(model: onnx.ModelProto, network: Network) -> set[str]:
    """Names of weights of the module that the file has under that name, with the same elements, and not transposed as well."""
    arrays = {x.name: onnx.numpy_helper.to_array(x) for x in model.graph.initializer}
    weights = {name: w for name, w in weights_of(network).items() if np.array_equal(arrays.get(name, ()), w)}
    others = [array for name, array in arrays.items() if name not in weights]
    return {name for name, w in weights.items() if not any(np.array_equal(w.T, other) for other in others)}


def append_loss(graph: onnx.GraphProto, numbers: Sequence[int]) -> None:
    """Adds the output LOSS: the sum of y * Abs(y) of the elements y of the outputs of these numbers."""
    for i in numbers:
        output = graph.output[i].name
        graph.node.append(onnx.helper.make_node("Abs", [output], [f"zoo_magnitude_{i}"]))
        graph.node.append(onnx.helper.make_node("Mul", [output, f"zoo_magnitude_{i}"], [f"zoo_square_{i}"]))
        graph.node.append(
            onnx.helper.make_node("ReduceSum", [f"zoo_square_{i}"], [f"zoo_sum_{i}"], keepdims=0)
        )
    graph.node.append(onnx.helper.make_node("Sum", [f"zoo_sum_{i}" for i in numbers], [LOSS]))
    graph.output.append(onnx.helper.make_tensor_value_info(LOSS, onnx.TensorProto.FLOAT, []))


REWRITERS: dict[str, Callable[[Network, Export, Path], Path]] = {
    "": plain,
    "onnxslim": slim,
    "onnxruntime": optimized_by_onnxruntime,
    "optimize": optimized,
    "convert": converted,
    "gradient": differentiated,
}


def rewrite(network: Network, how: Export, rewriter: str) -> Path:
    """The file of a variant; raises NotExported."""
    return REWRITERS[rewriter](network, how, export(network, how))
