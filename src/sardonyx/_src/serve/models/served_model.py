"""A served model: one version of one model, open and warm, with its metadata and its executor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import RunResult
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.serve.models.executor import Executor
from sardonyx._src.serve.models.garbage import end_exemption
from sardonyx._src.serve.models.metadata import (
    TensorMetadata,
    input_metadata,
    input_mismatch,
    output_metadata,
)
from sardonyx._src.serve.models.model_config import ModelConfig
from sardonyx._src.serve.models.statistics import ModelStatistics
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure, failure_of
from sardonyx._src.serve.protocol.output_tensors import tensor_of
from sardonyx._src.serve.protocol.requests import InferenceRequest, InferenceResponse
from sardonyx._src.suggestions import suggest

if TYPE_CHECKING:
    from sardonyx._src.serve.models.language.embedding import TextEmbedding
    from sardonyx._src.serve.models.language.generation import TextGeneration


class ServedModel:
    """One version of a model, which runs requests until it is retired and its last request has ended.

    A request keeps the ServedModel with which it began, so that a replacement affects only later requests.
    All methods are called on the event loop.
    opened_at: when it was opened, in seconds since 1970.
    language: answers requests for texts or vectors; None for a model that is no language model.
    """

    language: TextGeneration | TextEmbedding | None = None

    def __init__(
        self,
        name: str,
        version: str,
        session: Session,
        config: ModelConfig,
        statistics: ModelStatistics | None = None,
    ) -> None:
        """statistics: the statistics of the version so far, if this model replaces another one.

        Raises InputError for a model with inputs or outputs that the protocol cannot express, and for a configuration that does
        not fit the model.
        """
        self.name, self.version, self.config, self.session = name, version, config, session
        self.inputs: tuple[TensorMetadata, ...] = input_metadata(session.inputs)
        self.outputs: tuple[TensorMetadata, ...] = output_metadata(session.outputs)
        self.statistics = statistics or ModelStatistics()
        self.executor = Executor(session, config, self.statistics)
        self._output_names = tuple(output.name for output in self.outputs)
        self.opened_at = int(time.time())
        self._leases, self._is_retired = 0, False

    def try_infer(self, request: InferenceRequest) -> InferenceResponse | None:
        """The response to a request that is known to be quick; None for others, which `infer` runs.

        Raises RequestFailure.
        """
        begin = time.monotonic()
        try:
            names = self._requested_outputs(request)
            results = self.executor.try_execute(request)
            if results is None:
                return None
            response = self._response(request, names, results)
        except SardonyxError as error:
            raise self._failure(request, error, begin) from error
        self.statistics.record_request("ok", time.monotonic() - begin)
        return response

    async def infer(self, request: InferenceRequest) -> InferenceResponse:
        """The response to a request.  Cancelling the task that awaits it ends the run.

        Raises RequestFailure.
        """
        begin = time.monotonic()
        try:
            names = self._requested_outputs(request)
            response = self._response(request, names, await self.executor.execute(request))
        except SardonyxError as error:
            raise self._failure(request, error, begin) from error
        except asyncio.CancelledError:
            self.statistics.record_request(FailureKind.CANCELLED.value, time.monotonic() - begin)
            raise
        self.statistics.record_request("ok", time.monotonic() - begin)
        return response

    @contextmanager
    def lease(self) -> Iterator[None]:
        """Keeps the model open while a request uses it."""
        self._leases += 1
        try:
            yield
        finally:
            self._leases -= 1
            self._close_if_unused()

    def retire(self) -> None:
        """Closes the model once its last request has ended; new requests must not begin."""
        self._is_retired = True
        self._close_if_unused()

    def _close_if_unused(self) -> None:
        if self._is_retired and self._leases == 0:
            self.executor.close()
            self.session.close()
            end_exemption()

    def _requested_outputs(self, request: InferenceRequest) -> tuple[str, ...]:
        if request.outputs is None:
            return self._output_names
        for name in request.outputs:
            if name not in self._output_names:
                why = f"the model {self.name!r} has no output {name!r}{suggest(name, self._output_names, 'outputs')}"
                raise RequestFailure(FailureKind.INVALID, why)
        return request.outputs

    def _failure(self, request: InferenceRequest, error: SardonyxError, begin: float) -> RequestFailure:
        """The failure for an error of a run; it is counted as the outcome of a request that arrived at `begin`.

        A wrong input is described in the terms of the protocol (datatypes, shapes).
        """
        states = self.executor.state_inputs
        inputs = [value for value in self.inputs if value.name in request.inputs or value.name not in states]
        why = input_mismatch(inputs, request.inputs) if isinstance(error, InputError) else ""
        failure = RequestFailure(FailureKind.INVALID, why) if why else failure_of(error)
        self.statistics.record_request(failure.kind.value, time.monotonic() - begin)
        return failure

    def _response(
        self, request: InferenceRequest, names: tuple[str, ...], results: Mapping[str, RunResult]
    ) -> InferenceResponse:
        outputs: dict[str, Array] = {name: tensor_of(name, results[name]) for name in names}
        return InferenceResponse(self.name, self.version, outputs, request.id)
