"""Outcomes of requests for texts and vectors, as the statistics of their model count them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.errors import SardonyxError
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.failures import FailureKind, failure_of


@contextmanager
def recorded(statistics: ModelStatistics) -> Iterator[None]:
    """Counts the outcome of the block and its time; errors of a run become RequestFailure."""
    begin = time.monotonic()
    outcome = "ok"
    try:
        yield
    except SardonyxError as error:
        failure = failure_of(error)
        outcome = failure.kind.value
        raise failure from error
    except (asyncio.CancelledError, GeneratorExit):
        outcome = FailureKind.CANCELLED.value
        raise
    except BaseException:
        outcome = FailureKind.INTERNAL.value
        raise
    finally:
        statistics.record_request(outcome, time.monotonic() - begin)
