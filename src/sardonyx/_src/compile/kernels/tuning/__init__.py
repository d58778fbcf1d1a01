"""Tuning: a file for each family of kernels, a table for each class of target, and measured peaks."""

from sardonyx._src.compile.kernels.tuning.attention import AttentionTuning
from sardonyx._src.compile.kernels.tuning.block_quantized import BlockQuantizedTuning
from sardonyx._src.compile.kernels.tuning.channels_last import ChannelsLastTuning
from sardonyx._src.compile.kernels.tuning.conv import ConvTuning
from sardonyx._src.compile.kernels.tuning.data_movement import DataMovementTuning
from sardonyx._src.compile.kernels.tuning.elementwise import ElementwiseTuning
from sardonyx._src.compile.kernels.tuning.gemm import GemmTuning
from sardonyx._src.compile.kernels.tuning.pointwise_depthwise import PointwiseDepthwiseTuning
from sardonyx._src.compile.kernels.tuning.recurrence import RecurrenceTuning
from sardonyx._src.compile.kernels.tuning.reductions import ReductionTuning
from sardonyx._src.compile.kernels.tuning.resize import ResizeTuning
from sardonyx._src.compile.kernels.tuning.tables import TUNINGS, TargetClass, Tuning, target_class, tuning_for
from sardonyx._src.compile.kernels.tuning.trees import TreeTuning
from sardonyx._src.compile.kernels.tuning.weight_gradient import WeightGradientTuning
from sardonyx._src.compile.kernels.tuning.winograd import WinogradTuning

__all__ = [
    "TUNINGS",
    "AttentionTuning",
    "BlockQuantizedTuning",
    "ChannelsLastTuning",
    "ConvTuning",
    "DataMovementTuning",
    "ElementwiseTuning",
    "GemmTuning",
    "PointwiseDepthwiseTuning",
    "RecurrenceTuning",
    "ReductionTuning",
    "ResizeTuning",
    "TargetClass",
    "TreeTuning",
    "Tuning",
    "WeightGradientTuning",
    "WinogradTuning",
    "target_class",
    "tuning_for",
]
