"""DynamicSlice: a part of a tensor between starts and ends that are inputs; Slice does this from version 10 on.

Spec: ai.onnx DynamicSlice-1, an experiment of the first releases that later ones dropped.  There are no steps;
without `axes` the first ones are cut.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.tensor.slice import evaluate, infer, value

op = Operator("DynamicSlice")
op.eval(1)(evaluate)
op.infer(1)(infer)
op.value(1)(value)
