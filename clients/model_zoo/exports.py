"""Exported files of networks, with inputs and the outputs and gradients that torch computes, in a folder of the build.

A folder has for each network and version of its sources: `dynamo-18.onnx` and further exports, `NAME.txt` with the reason
in the place of a file that could not be made, and `expected-0.npz` to `expected-3.npz` for the sets of sizes.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch

from model_zoo.registry import Array, Network

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("MODEL_ZOO", ROOT / "build" / "zoo"))
MAX_REASON = 160  # characters


@dataclass(frozen=True)
class Export:
    """How torch writes a network.

    exporter: "dynamo" or "script".  fixed: the number of the set of sizes that the file is made for; None for dynamic sizes.
    """

    exporter: str
    opset: int
    fixed: int | None = None

    def __str__(self) -> str:
        return f"{self.exporter}-{self.opset}" + ("" if self.fixed is None else f"-fixed{self.fixed}")


class NotExported(Exception):
    """torch, or the tool that rewrites its file, refuses the network; the text is the reason."""


def folder_of(network: Network) -> Path:
    folder = FOLDER / f"{network.name}-{network.digest()}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def export(network: Network, how: Export) -> Path:
    """The file of an export, made if it is missing; raises NotExported."""
    return stored(folder_of(network) / f"{how}.onnx", lambda path: write_export(network, how, path))


def stored(path: Path, write: Any) -> Path:
    """The file, which `write` makes if neither it nor a reason exists; raises NotExported with the reason."""
    reason = path.with_suffix(".txt")
    if reason.exists():
        raise NotExported(reason.read_text())
    if not path.exists():
        partial = path.with_name(f"{os.getpid()}-{path.name}")
        try:
            write(partial)
        except Exception as error:
            cause = first_cause(error)
            text = f"{type(cause).__name__}: {' '.join(str(cause).split())}"[:MAX_REASON]
            reason.write_text(text)
            raise NotExported(text) from error
        partial.rename(path)
    return path


def first_cause(error: BaseException) -> BaseException:
    return error if error.__cause__ is None else first_cause(error.__cause__)


def write_export(network: Network, how: Export, path: Path) -> None:
    inputs, names = tensors(network.feeds(how.fixed or 0)), dim_names(network, how)
    options: dict[str, Any] = {"input_names": list(inputs), "opset_version": how.opset}
    with quiet():
        if how.exporter == "script":
            axes = {name: dims for name, dims in names.items() if dims}
            options |= {"dynamo": False, "dynamic_axes": axes or None}
            torch.onnx.export(module_of(network), tuple(inputs.values()), str(path), **options)
        else:
            options |= {"dynamo": True, "external_data": False, "verbose": False, "dynamic_shapes": names}
            torch.onnx.export(exported_program(network, how.fixed), (), str(path), **options)
    check_dims(path, names)


def check_dims(path: Path, names: Mapping[str, Mapping[int, str]]) -> None:
    """Raises ValueError for a dim that the exporter has made a number."""
    for x in onnx.load(path).graph.input:
        for axis, name in names[x.name].items():
            dim = x.type.tensor_type.shape.dim[axis]
            if dim.HasField("dim_value"):
                raise ValueError(f"{name}, axis {axis} of {x.name}, is {dim.dim_value} in the file")


def dim_names(network: Network, how: Export) -> dict[str, dict[int, str]]:
    """Names of dynamic dims by axis, for each input."""
    return {name: x.names() if how.fixed is None else {} for name, x in network.inputs.items()}


@lru_cache(maxsize=1)  # for another operator set
def exported_program(network: Network, fixed: int | None) -> Any:
    dims = [x.names() if fixed is None else {} for x in network.inputs.values()]
    shapes = tuple(dict.fromkeys(names, torch.export.Dim.AUTO) or None for names in dims)
    inputs = tuple(tensors(network.feeds(fixed or 0)).values())
    options = {"strict": False, "prefer_deferred_runtime_asserts_over_guards": True}  # as torch.onnx.export
    return torch.export.export(module_of(network), inputs, dynamic_shapes=shapes, **options)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the reports and warnings of exporters."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    sink = io.StringIO()
    with (
        warnings.catch_warnings(action="ignore"),
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
    ):
        yield


@cache
def module_of(network: Network, dtype: Any = torch.float32) -> Any:
    torch.manual_seed(0)
    module = network.make()
    generator = torch.Generator().manual_seed(1)
    for layer in module.modules():  # statistics of a trained network, not those of a new one
        if getattr(layer, "running_mean", None) is not None:
            layer.running_mean.copy_(0.2 * torch.randn(layer.running_mean.shape, generator=generator))
            layer.running_var.copy_(0.5 + torch.rand(layer.running_var.shape, generator=generator))
    with torch.no_grad():  # zeros and ones would hide wrong operands, and exporters share equal weights
        for weight in module.parameters():
            weight += 0.05 * torch.randn(weight.shape, generator=generator)
    return module.eval().to(dtype)


def tensors(feeds: Mapping[str, Array], dtype: Any = torch.float32) -> dict[str, Any]:
    """Tensors of torch; floats have the element type."""
    arrays = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in feeds.items()}
    return {name: x.to(dtype) if x.is_floating_point() else x for name, x in arrays.items()}


# --- values -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Values:
    """Of a set of sizes: inputs by name, outputs in order, and gradients by name of an input or weight; computed in float64.

    The gradients are those of the sum of y * abs(y) of all elements y of the outputs that have gradients: that of y itself is 0 where
    a Softmax or a norm is last.  roundings: for each gradient, the largest error of an element if torch computes in float32.
    """

    feeds: dict[str, Array]
    outputs: list[Array]
    gradients: dict[str, Array]
    roundings: dict[str, float]
    differentiable: tuple[int, ...]  # numbers of the outputs that have gradients


def values_of(network: Network, number: int) -> Values:
    path = folder_of(network) / f"expected-{number}.npz"
    stored(path, lambda partial: write_values(network, number, partial))
    parts: dict[str, dict[str, Array]] = {
        part: {} for part in ("feed", "output", "gradient", "rounding", "differentiable")
    }
    with np.load(path) as archive:
        for key, array in archive.items():
            part, _, name = key.partition(":")
            parts[part][name] = array
    roundings = {name: float(error) for name, error in parts["rounding"].items()}
    numbers = tuple(int(name) for name in parts["differentiable"])
    return Values(parts["feed"], list(parts["output"].values()), parts["gradient"], roundings, numbers)


def write_values(network: Network, number: int, path: Path) -> None:
    feeds = network.feeds(number)
    outputs, gradients = compute(network, feeds, torch.float64)
    _, rounded = compute(network, feeds, torch.float32)
    arrays: dict[str, Any] = {f"feed:{name}": array for name, array in feeds.items()}
    arrays |= {f"output:{i}": narrow(y) for i, y in enumerate(outputs)}
    for name, gradient in gradients.items():
        assert gradient.isfinite().all(), f"the gradient of {name} must be finite"
        error = (gradient - rounded[name]).abs()
        arrays[f"gradient:{name}"] = narrow(gradient)
        arrays[f"rounding:{name}"] = np.array(error.max().item() if error.numel() else 0.0)
    arrays |= {f"differentiable:{i}": np.array(0) for i, y in enumerate(outputs) if y.requires_grad}
    with path.open("wb") as file:
        np.savez(file, **arrays)


def compute(network: Network, feeds: Mapping[str, Array], dtype: Any) -> tuple[list[Any], dict[str, Any]]:
    """Outputs, and gradients by name."""
    module, inputs = module_of(network, dtype), tensors(feeds, dtype)
    norms = [layer for layer in module.modules() if getattr(layer, "running_mean", None) is not None]
    hooks = [layer.register_forward_hook(make_gradient_contiguous) for layer in norms]
    torch.set_default_dtype(dtype)
    try:
        for x in inputs.values():
            x.requires_grad_(x.is_floating_point())
        outputs = flatten(module(*inputs.values()))
        total = sum((y * y.abs()).sum() for y in outputs if y.requires_grad)
        sources = {k: x for k, x in {**inputs, **dict(module.named_parameters())}.items() if x.requires_grad}
        if not isinstance(total, torch.Tensor):
            return outputs, {}
        gradients = torch.autograd.grad(total, list(sources.values()), allow_unused=True)
        return outputs, {k: g for k, g in zip(sources, gradients, strict=True) if g is not None}
    finally:
        torch.set_default_dtype(torch.float32)
        for hook in hooks:
            hook.remove()


def make_gradient_contiguous(_layer: Any, _inputs: Any, output: Any) -> None:
    """torch's backward pass of a batch norm of a batch of 1 is wrong if the gradient has the channels last."""
    if output.requires_grad:
        output.register_hook(lambda gradient: gradient.contiguous())


def flatten(outputs: Any) -> list[Any]:
    """The tensors of nested tuples, lists and dicts, in order."""
    if isinstance(outputs, dict):
        outputs = list(outputs.values())
    return [x for y in outputs for x in flatten(y)] if isinstance(outputs, list | tuple) else [outputs]


def narrow(tensor: Any) -> Array:
    array: Array = tensor.detach().numpy()
    return array.astype(np.float32) if array.dtype == np.float64 else array


def weights_of(network: Network) -> dict[str, Array]:
    return {name: narrow(weight) for name, weight in module_of(network).named_parameters()}
