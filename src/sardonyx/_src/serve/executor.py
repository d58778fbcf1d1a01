"""The executor of a served model: decides when and in which thread its session runs.

Transports call `try_execute` first, which returns at once, and await `execute` where it declines.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Collection, Mapping

from sardonyx._src.errors import LimitError
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunResult
from sardonyx._src.runtime.session import Session
from sardonyx._src.serve.model_config import ModelConfig
from sardonyx._src.serve.requests import InferenceRequest
from sardonyx._src.serve.scheduler.scheduler import Scheduler
from sardonyx._src.serve.sequences import SequenceStore, sequence_id
from sardonyx._src.serve.statistics import ModelStatistics

QUICK_SECONDS = 0.0005  # a run of this duration may block the event loop: a thread would cost a fifth of it
SLOW_SECONDS = 0.002
# Slow runs in a row after which their size is no longer quick.  A single one is most often a thread that lost its processor.
MAX_SLOW_RUNS = 3
# A run on the event loop ends after this time and goes to a worker: in models with loops, or with shapes that are computed, its
# duration may depend on the elements of its inputs.  A process that has to wait for a processor may take as long.
MAX_LOOP_SECONDS = 0.1
PAUSE_SECONDS = (
    5.0  # for which no run is quick then, so that such requests cannot hold up those of other clients
)
LOG = logging.getLogger("sardonyx.serve")


class Executor:
    """Runs the requests of one model: quick ones on the event loop, others in the threads of its scheduler.

    Durations are known from earlier runs: a request is quick if its inputs have no more bytes than those of a run that was.  While
    requests wait, all go through the queue.  Quick ones do not wait for runs of workers: each would make the next one wait, until the
    load ends.
    """

    def __init__(
        self, session: Session, config: ModelConfig, statistics: ModelStatistics | None = None
    ) -> None:
        """Raises InputError for a configuration that does not fit the model."""
        self.session, self.config = session, config
        self.statistics = statistics or ModelStatistics()
        self.scheduler = Scheduler(
            self._run_feeds, config.scheduling, batched_inputs(session, config), self.statistics
        )
        self.sequences: SequenceStore | None = None
        if config.sequences is not None:
            self.sequences = SequenceStore(config.sequences, session.inputs, session.outputs)
        self._quick_bytes = 0  # the largest inputs of a run that was quick
        self._slow_runs = 0  # since the last quick run
        self._pause_end = 0.0

    @property
    def state_inputs(self) -> Collection[str]:
        """The inputs that sequences feed."""
        return self.config.sequences.states if self.config.sequences is not None else ()

    @property
    def has_quick_runs(self) -> bool:
        """Whether some requests are known to be quick, and none waits."""
        return self._quick_bytes > 0 and self.scheduler.queue_length == 0

    def try_execute(self, request: InferenceRequest) -> Mapping[str, RunResult] | None:
        """The outputs of a request that is known to be quick; None for others, which `execute` runs.

        Raises what `Session.run` raises.
        """
        if not self.has_quick_runs or self._input_bytes(request.inputs) > self._quick_bytes:
            return None
        if self.sequences is not None and sequence_id(request) is not None:
            return None
        return self._run_briefly(request)

    def pause_quick_runs(self) -> None:
        """Has all runs be made in workers for some time."""
        self._pause_end = time.monotonic() + PAUSE_SECONDS

    async def execute(self, request: InferenceRequest) -> Mapping[str, RunResult]:
        """The outputs by name; cancelling the task that awaits them takes the request out of the queue, or ends its run.

        Raises what `Session.run` raises, LimitError with the limit "timeout" for a request past its deadline, and RequestFailure
        for a full queue.
        """
        if self.sequences is not None:
            return await self.sequences.run(request, self.scheduler.submit)
        return await self.scheduler.submit(request)

    def warm_up(self, feeds: Mapping[str, RunResult]) -> None:
        """Runs the session until its run for the sizes of these feeds is prepared; called before the model is ready."""
        request = InferenceRequest("", dict(feeds))
        for _ in range(3):  # the fast path begins with the third
            self._run(request, None)

    def close(self) -> None:
        """Refuses later requests, and ends the threads when the queue is empty."""
        self.scheduler.close()
        if self.sequences is not None:
            self.sequences.close()

    def _run_briefly(self, request: InferenceRequest) -> Mapping[str, RunResult] | None:
        """The outputs of a run on the event loop; None if it takes too long there, and then no run is quick for some time."""
        now = time.monotonic()
        if now < self._pause_end:
            return None
        remaining = math.inf if request.deadline is None else request.deadline - now
        try:
            return self._run_feeds(request.inputs, min(remaining, MAX_LOOP_SECONDS), None)
        except LimitError as error:
            if error.limit != "timeout" or remaining <= MAX_LOOP_SECONDS:
                raise
        self.pause_quick_runs()
        return None

    def _run(
        self, request: InferenceRequest, cancellation: CancellationToken | None
    ) -> Mapping[str, RunResult]:
        timeout = None if request.deadline is None else request.deadline - time.monotonic()
        return self._run_feeds(request.inputs, timeout, cancellation)

    def _run_feeds(
        self, inputs: Mapping[str, Array], timeout: float | None, cancellation: CancellationToken | None
    ) -> Mapping[str, RunResult]:
        begin = time.monotonic()
        if timeout is not None and timeout <= 0:
            raise LimitError("the deadline of the request has passed", limit="timeout")
        feeds = inputs if type(inputs) is dict else dict(inputs)
        results = self.session.run(feeds, timeout=timeout, cancellation=cancellation)
        self._record(self._input_bytes(inputs), time.monotonic() - begin)
        return results

    def _record(self, nbytes: int, seconds: float) -> None:
        """Learns from the duration of a run with inputs of `nbytes`."""
        if seconds <= QUICK_SECONDS:
            self._quick_bytes = max(self._quick_bytes, nbytes)
            self._slow_runs = 0
        elif nbytes <= self._quick_bytes and seconds > SLOW_SECONDS:
            self._slow_runs += 1
            if self._slow_runs >= MAX_SLOW_RUNS:
                self._quick_bytes, self._slow_runs = nbytes - 1, 0

    def _input_bytes(self, inputs: Mapping[str, Array]) -> int:
        return 1 + sum(array.nbytes for array in inputs.values())


def batched_inputs(session: Session, config: ModelConfig) -> frozenset[str] | None:
    """The inputs that are joined to batches; None for a model whose requests run one by one."""
    scheduling = config.scheduling
    if scheduling.batching is False or scheduling.max_batch == 1:
        return None
    names = frozenset(value.name for value in session.inputs if not value.has_default)
    if scheduling.batching is None:
        from sardonyx._src.serve.batching.row_independence import prove_row_independence  # imports operators

        proof = prove_row_independence(session.model)
        if not proof.holds:
            LOG.info("requests are not joined to batches: %s", proof.why)
            return None
    return names or None
