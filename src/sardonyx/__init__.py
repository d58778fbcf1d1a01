"""Sardonyx: a complete, independent implementation of ONNX in Python.

Loading a model is ready at once; the other public names are loaded at their first use, so that `import sardonyx`
costs little more than NumPy.  `__init__.pyi` says the same to type checkers.
"""

import importlib
import sys
import types

from sardonyx.io.load import load

__version__ = "0.1.0"

_HOMES = {
    "Builder": "sardonyx.ir.build",
    "ConversionError": "sardonyx.errors",
    "DataType": "sardonyx.dtypes",
    "DecodeError": "sardonyx.errors",
    "EvaluationError": "sardonyx.errors",
    "ExternalDataError": "sardonyx.errors",
    "InferenceError": "sardonyx.errors",
    "InputError": "sardonyx.errors",
    "InvalidModel": "sardonyx.errors",
    "JsonError": "sardonyx.errors",
    "LimitError": "sardonyx.errors",
    "Diagnostic": "sardonyx.check.api",
    "Limits": "sardonyx.proto.wire",
    "Model": "sardonyx.ir.graph",
    "OperatorSet": "sardonyx.ir.operator_set",
    "OptimizationError": "sardonyx.errors",
    "OptimizationReport": "sardonyx.rewrite.report",
    "OutputError": "sardonyx.errors",
    "Report": "sardonyx.check.api",
    "Policy": "sardonyx.io.external",
    "RunLimits": "sardonyx.ops.api",
    "SardonyxError": "sardonyx.errors",
    "Session": "sardonyx.runtime.session",
    "SparseTensor": "sardonyx.ir.tensors",
    "Tensor": "sardonyx.ir.tensors",
    "TextError": "sardonyx.errors",
    "UnsupportedOperator": "sardonyx.errors",
    "UnsupportedProcessor": "sardonyx.errors",
    "check": "sardonyx.check.checking",
    "convert": "sardonyx.convert.converter",
    "from_json": "sardonyx.io.text",
    "from_text": "sardonyx.io.text",
    "infer": "sardonyx.infer.walk",
    "load_operator_set": "sardonyx.io.operator_sets",
    "optimize": "sardonyx.rewrite.optimize",
    "save": "sardonyx.io.save",
    "save_operator_set": "sardonyx.io.publish",
    "to_json": "sardonyx.io.text",
    "to_text": "sardonyx.io.text",
}
__all__ = ["__version__", "load", *_HOMES]


class _Facade(types.ModuleType):
    """The package, in which a verb such as `infer` stays the function although a room has its name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, types.ModuleType)):  # the import system binds every room
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Facade


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'sardonyx' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
