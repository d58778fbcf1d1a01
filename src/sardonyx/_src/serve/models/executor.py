"""The executor of a served model: decides when and in which thread its session runs.

A request is *quick* if its run is known to be so short that it may block the event loop.  Transports call `try_execute` first,
which runs quick requests at once and returns None for others.  For these, transports await `execute`.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Collection, Mapping
from typing import TypeAlias

from sardonyx._src.errors import LimitError
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunResult
from sardonyx._src.runtime.session.predictable_runs import has_predictable_runs
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.serve.models.model_config import ModelConfig
from sardonyx._src.serve.models.scheduler.scheduler import Scheduler
from sardonyx._src.serve.models.sequences import SequenceStore, sequence_id
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.requests import InferenceRequest

# A run up to this duration is quick: handing it to a thread would add a fifth of that time.
QUICK_SECONDS = 0.0005
SLOW_SECONDS = 0.002  # a run of quick sizes that needs more than this is slow
# Sizes are no longer quick after this number of slow runs in a row.  A single slow run usually means that the thread lost its
# processor.
MAX_SLOW_RUNS = 3
# A run on the event loop is ended after this time and repeated by a worker.  It may be longer than runs before it if a guard
# fails, so that the reference engine repeats it.  A process that waits for a processor may need as long without having worked.
MAX_LOOP_SECONDS = 0.005
# After a run that has worked for half of that, no run is quick for this time, so that requests of this kind cannot hold up other clients.
PAUSE_SECONDS = 5.0
MAX_QUICK_SIZES = 1024  # quick sizes of a model; if there are more, all are forgotten and learned again
LOG = logging.getLogger("sardonyx.serve")
InputSizes: TypeAlias = "tuple[tuple[str | int, ...], ...]"


class Executor:
    """Runs the requests of one model: quick ones on the event loop, others in the threads of its scheduler.

    Durations are known from earlier runs.  A request is quick if its inputs have the sizes of an earlier quick run, provided
    that the work of a run depends only on these sizes.  While requests wait in the queue, new ones are added to it.  Quick
    requests do not wait for runs that workers execute: if they did, each would make the next one wait, until the load ends.
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
        self._may_be_quick = has_predictable_runs(session)
        self._quick: dict[
            InputSizes, int
        ] = {}  # quick sizes, with the number of slow runs since the last quick one
        self._pause_end = 0.0

    @property
    def state_inputs(self) -> Collection[str]:
        """The inputs that sequences feed."""
        return self.config.sequences.states if self.config.sequences is not None else ()

    @property
    def has_quick_runs(self) -> bool:
        """Whether some requests are known to be quick, and none waits."""
        return bool(self._quick) and self.scheduler.queue_length == 0

    def try_execute(self, request: InferenceRequest) -> Mapping[str, RunResult] | None:
        """The outputs of a request that is known to be quick; None for others, which `execute` runs.

        Raises what `Session.run` raises.
        """
        if not self.has_quick_runs or input_sizes(request.inputs) not in self._quick:
            return None
        if self.sequences is not None and sequence_id(request) is not None:
            return None
        return self._run_briefly(request)

    def pause_quick_runs(self) -> None:
        """Sends all runs to workers for PAUSE_SECONDS."""
        self._pause_end = time.monotonic() + PAUSE_SECONDS

    async def execute(self, request: InferenceRequest) -> Mapping[str, RunResult]:
        """The outputs by name.  Cancelling the task that awaits them removes the request from the queue, or ends its run.

        Raises what `Session.run` raises, LimitError with the limit "timeout" for a request past its deadline, and RequestFailure
        for a full queue.
        """
        if self.sequences is not None:
            return await self.sequences.run(request, self.scheduler.submit)
        return await self.scheduler.submit(request)

    def warm_up(self, feeds: Mapping[str, RunResult]) -> None:
        """Runs the session with these feeds until the fast path for their sizes exists; called before the model is ready."""
        request = InferenceRequest("", dict(feeds))
        for _ in range(3):  # the third run is the first on the fast path
            self._run(request, None)

    def close(self) -> None:
        """Refuses new requests, and ends the threads when the queue is empty."""
        self.scheduler.close()
        if self.sequences is not None:
            self.sequences.close()

    def _run_briefly(self, request: InferenceRequest) -> Mapping[str, RunResult] | None:
        """The outputs of a run on the event loop; None if it lasts too long, and then no run is quick for PAUSE_SECONDS."""
        now, work = time.monotonic(), time.thread_time()
        if now < self._pause_end:
            return None
        remaining = math.inf if request.deadline is None else request.deadline - now
        try:
            return self._run_feeds(request.inputs, min(remaining, MAX_LOOP_SECONDS), None)
        except LimitError as error:
            if error.limit != "timeout" or remaining <= MAX_LOOP_SECONDS:
                raise
        if time.thread_time() - work > MAX_LOOP_SECONDS / 2:
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
        if self._may_be_quick:
            self._record(input_sizes(inputs), time.monotonic() - begin)
        return results

    def _record(self, sizes: InputSizes, seconds: float) -> None:
        """Records the duration of a run with inputs of these sizes; called in several threads."""
        if seconds <= QUICK_SECONDS:
            if len(self._quick) >= MAX_QUICK_SIZES:
                self._quick.clear()
            self._quick[sizes] = 0
        elif seconds > SLOW_SECONDS and (slow_runs := self._quick.get(sizes)) is not None:
            if slow_runs + 1 < MAX_SLOW_RUNS:
                self._quick[sizes] = slow_runs + 1
            else:
                self._quick.pop(sizes, None)


def input_sizes(inputs: Mapping[str, Array]) -> InputSizes:
    """The name and shape of each input, and for strings the magnitude of their length."""
    return tuple([(name, *array.shape, *text_magnitude(array)) for name, array in inputs.items()])


def text_magnitude(array: Array) -> tuple[str, ...]:
    """For an array of strings, the number of bits of its number of characters; nothing for others."""
    if array.dtype != object:
        return ()
    return (str(sum(map(len, array.reshape(-1).tolist())).bit_length()),)


def batched_inputs(session: Session, config: ModelConfig) -> frozenset[str] | None:
    """The inputs of which several requests are joined to a batch; None for a model whose requests run one by one."""
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
