"""Session options that change a model before it is opened: fixed dimension variables, replaced initializers."""

from __future__ import annotations

from collections.abc import Mapping

from sardonyx._src.compat.onnxruntime.exceptions import InvalidArgument
from sardonyx._src.compat.onnxruntime.options import SessionOptions
from sardonyx._src.compat.onnxruntime.ort_value import OrtValue
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Model, Tensor
from sardonyx._src.ir.types import symbols_of
from sardonyx._src.rewrite.optimize import optimize
from sardonyx._src.tools.set_dims import set_dims


def apply_options(source: ModelSource, options: SessionOptions) -> ModelSource:
    """The source itself, or a changed model; also writes `optimized_model_filepath`."""
    if not (options.dim_overrides or options.initializers or options.optimized_model_filepath):
        return source
    model = load(source)
    if options.initializers:
        replace_initializers(model, options.initializers)
    if options.dim_overrides:
        names = dim_names_of(model)
        model = set_dims(model, dims={name: n for name, n in options.dim_overrides.items() if name in names})
    if options.optimized_model_filepath:
        save(optimize(model), options.optimized_model_filepath)
    return model


def replace_initializers(model: Model, replacements: Mapping[str, object]) -> None:
    """Replaces the tensors of initializers of the main graph; raises InvalidArgument for a name of no initializer."""
    values = model.graph.initializers
    for name, replacement in replacements.items():
        if name not in values:
            raise InvalidArgument.of(f"the model has no initializer {name!r}")
        if not isinstance(replacement, OrtValue):
            raise InvalidArgument.of(f"initializer {name!r} must be an OrtValue; got {replacement!r}")
        values[name].initializer = Tensor.of(replacement.numpy())


def dim_names_of(model: Model) -> set[str]:
    """The dimension variables of the inputs; onnxruntime ignores overrides of others."""
    return {name for value in model.graph.inputs for name in symbols_of(value.type)}
