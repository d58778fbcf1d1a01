"""Sardonyx: a complete, independent implementation of ONNX in Python.

Public: the names of this package, `sardonyx.ir`, `sardonyx.backend`, `sardonyx.compat`, `sardonyx.errors`,
`sardonyx.generate`, `sardonyx.plugins`, `sardonyx.tools` and `sardonyx.train`.  Everything under `sardonyx._src` is internal and may change without notice.

The public names are imported at their first use: `import sardonyx` itself imports neither NumPy nor any other module
of the package, and a process imports only what it uses.  `__init__.pyi` declares the same names for type checkers.
"""

import importlib
from types import ModuleType

__version__ = "0.1.0"

_HOMES = {
    "Builder": "sardonyx._src.build.builder",
    "CancellationToken": "sardonyx._src.interp.run_control",
    "CancelledError": "sardonyx._src.errors",
    "CertificateError": "sardonyx._src.errors",
    "CompilationError": "sardonyx._src.errors",
    "CompilerWarning": "sardonyx._src.errors",
    "ConversionError": "sardonyx._src.errors",
    "DataType": "sardonyx._src.dtypes",
    "DecodeError": "sardonyx._src.errors",
    "EvaluationError": "sardonyx._src.errors",
    "ExternalDataError": "sardonyx._src.errors",
    "InferenceError": "sardonyx._src.errors",
    "FileChanged": "sardonyx._src.errors",
    "Generator": "sardonyx._src.generate.generator",
    "InputError": "sardonyx._src.errors",
    "InvalidModel": "sardonyx._src.errors",
    "JsonError": "sardonyx._src.errors",
    "LimitError": "sardonyx._src.errors",
    "DifferentiationError": "sardonyx._src.errors",
    "Diagnostic": "sardonyx._src.check.engine.api",
    "Limits": "sardonyx._src.proto.wire",
    "MissingPackage": "sardonyx._src.errors",
    "Model": "sardonyx._src.ir.model",
    "Operand": "sardonyx._src.build.operand",
    "OperatorSet": "sardonyx._src.ir.operator_set",
    "OptimizationError": "sardonyx._src.errors",
    "OptimizationReport": "sardonyx._src.rewrite.report",
    "OutputError": "sardonyx._src.errors",
    "Predictor": "sardonyx._src.score.api",
    "Quantization": "sardonyx._src.quantize.report.report",
    "QuantizationReport": "sardonyx._src.quantize.report.report",
    "Report": "sardonyx._src.check.engine.api",
    "Policy": "sardonyx._src.io.external",
    "RunLimits": "sardonyx._src.ops.run_values",
    "SardonyxError": "sardonyx._src.errors",
    "Scorer": "sardonyx._src.score.api",
    "Session": "sardonyx._src.runtime.session.session",
    "SessionStats": "sardonyx._src.runtime.programs.stats",
    "ShapeWarning": "sardonyx._src.errors",
    "SparseTensor": "sardonyx._src.ir.tensors",
    "Tensor": "sardonyx._src.ir.tensors",
    "TextError": "sardonyx._src.errors",
    "TrainingDiverged": "sardonyx._src.errors",
    "TrainingSession": "sardonyx._src.train.training_session",
    "UnsupportedOperator": "sardonyx._src.errors",
    "UnsupportedProcessor": "sardonyx._src.errors",
    "VerificationError": "sardonyx._src.errors",
    "check": "sardonyx._src.check.driver.checking",
    "convert": "sardonyx._src.convert.conversion",
    "from_json": "sardonyx._src.io.text",
    "from_onnx": "sardonyx._src.compat.onnx.messages",
    "from_text": "sardonyx._src.io.text",
    "gradient": "sardonyx._src.grad.gradient",
    "infer": "sardonyx._src.infer.walk",
    "load": "sardonyx._src.io.loading.load",
    "load_operator_set": "sardonyx._src.io.loading.operator_sets",
    "operator": "sardonyx._src.build.own_operators",
    "optimize": "sardonyx._src.rewrite.optimize",
    "quantize": "sardonyx._src.quantize.api",
    "save": "sardonyx._src.io.saving.save",
    "score": "sardonyx._src.score.api",
    "save_operator_set": "sardonyx._src.io.saving.operator_sets",
    "to_json": "sardonyx._src.io.text",
    "to_onnx": "sardonyx._src.compat.onnx.messages",
    "to_python": "sardonyx._src.build.source.program",
    "to_text": "sardonyx._src.io.text",
    "view": "sardonyx._src.view.pages",
}
_MODULES = ("backend", "compat", "errors", "generate", "ir", "plugins", "tools", "train")
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return importlib.import_module(f"sardonyx.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sardonyx' has no attribute {name!r}")
    value = globals()[name] = getattr(import_home(home), name)
    return value


def import_home(name: str) -> ModuleType:
    """The internal module of a public name; the collector does not traverse the new objects meanwhile."""
    from sardonyx._src import bytecode_finder
    from sardonyx._src.io.garbage_collection import pause_gc, promote_young_objects

    bytecode_finder.install("sardonyx._src")
    with pause_gc() as was_enabled:
        module = importlib.import_module(name)
        if was_enabled:
            promote_young_objects()
    return module


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
