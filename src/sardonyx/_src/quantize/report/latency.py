"""Latencies of models before and after quantization, measured on this machine side by side."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from functools import partial

from sardonyx._src.ir import Model
from sardonyx._src.measure.timing import interleave_calls
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session.session import Session

ROUNDS = 7  # of bursts of calls


def latencies(
    models: Sequence[Model],
    feeds: Mapping[str, RuntimeValue] | Sequence[Mapping[str, RuntimeValue]],
    rounds: int = ROUNDS,
) -> list[float]:
    """The median seconds of a run of each model, with the default number of threads; NaN without rounds.

    feeds: of all models, or of each one.
    """
    if not rounds:
        return [math.nan for _ in models]
    sessions = [Session(model, shapes="off", seed=0) for model in models]
    each = [feeds] * len(models) if isinstance(feeds, Mapping) else feeds
    calls = {
        str(number): partial(session.run, given)
        for number, (session, given) in enumerate(zip(sessions, each, strict=True))
    }
    samples = interleave_calls(calls, rounds, lambda: None)
    return [statistics.median(samples[name]) for name in calls]
