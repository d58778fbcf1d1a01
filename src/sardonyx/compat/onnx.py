"""The evaluator of onnx, executed by Sardonyx: `from sardonyx.compat.onnx import ReferenceEvaluator`."""

from sardonyx._src.compat.onnx.messages import from_onnx as from_onnx
from sardonyx._src.compat.onnx.messages import to_onnx as to_onnx
from sardonyx._src.compat.onnx.reference_evaluator import ReferenceEvaluator as ReferenceEvaluator

__all__ = ["ReferenceEvaluator", "from_onnx", "to_onnx"]
