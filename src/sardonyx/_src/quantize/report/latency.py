"""Latencies of models before and after quantization, measured on this machine side by side."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from sardonyx._src.ir import Model
from sardonyx._src.measure.timing import interleave_calls
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.quantize.calibration import feeds_in_types
from sardonyx._src.quantize.sessions import open_session, tensor_bytes

ROUNDS = 7  # of bursts of calls
MAX_BYTES_TOGETHER = 1 << 28  # of the tensors of models that are in memory at once


def latencies(
    models: Sequence[Model],
    feeds: Mapping[str, RuntimeValue] | Sequence[Mapping[str, RuntimeValue]],
    rounds: int = ROUNDS,
) -> list[float]:
    """The median seconds of a run of each model, with the default number of threads; NaN without rounds.

    feeds: of all models, or of each one.
    Models are measured side by side, in turns; those of many weights one after the other, so that one is in memory.
    """
    if not rounds:
        return [math.nan for _ in models]
    each = [feeds] * len(models) if isinstance(feeds, Mapping) else feeds
    parts = list(zip(models, each, strict=True))
    if sum(map(tensor_bytes, models)) <= MAX_BYTES_TOGETHER:
        return measure_together(parts, rounds)
    return [seconds for part in parts for seconds in measure_together([part], rounds)]


def measure_together(parts: Sequence[tuple[Model, Mapping[str, RuntimeValue]]], rounds: int) -> list[float]:
    """The median seconds of a run of each model with its feeds."""
    with ExitStack() as stack:
        calls = {
            str(number): partial(stack.enter_context(open_session(model)).run, feeds_in_types(model, feeds))
            for number, (model, feeds) in enumerate(parts)
        }
        samples = interleave_calls(calls, rounds, lambda: None)
    return [statistics.median(samples[name]) for name in calls]
