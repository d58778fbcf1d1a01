"""The routes of the interface, which find the model, read the request and send the response."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from typing import Protocol, TypeVar, TypeVarTuple

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from sardonyx._src.errors import SardonyxError
from sardonyx._src.serve.models.language.embedding import TextEmbedding
from sardonyx._src.serve.models.language.generation import TextGeneration
from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.models.served_model import ServedModel
from sardonyx._src.serve.openai.chat import ChatCompletion
from sardonyx._src.serve.openai.chat_request import read_chat
from sardonyx._src.serve.openai.completions import Completion, read_completion
from sardonyx._src.serve.openai.embeddings import embedding_response, read_embedding
from sardonyx._src.serve.openai.events import send_events
from sardonyx._src.serve.openai.failures import (
    MODEL_NOT_FOUND,
    UNSUPPORTED,
    ParameterFailure,
    describe_error,
)
from sardonyx._src.serve.openai.fields import Fields
from sardonyx._src.serve.protocol.codec_threads import CodecThreads
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure, failure_of
from sardonyx._src.serve.protocol.held_bytes import HeldBytes
from sardonyx._src.serve.protocol.json_text import format_json, parse_object
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.rest.application import route
from sardonyx._src.serve.rest.bodies import BodyReader
from sardonyx._src.serve.rest.departures import run_for_client
from sardonyx._src.serve.rest.inference import RESPONSE
from sardonyx._src.serve.rest.responses import JSON_HEADERS, HttpResponse, send_json, send_response

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
NUMBER_BYTES = 24  # of a number of a vector in JSON, at most


class TextAnswer(Protocol):
    """What a request for texts is answered by."""

    def events(self) -> AsyncGenerator[object, None]:
        """The events of a stream."""

    async def response(self) -> dict[str, object]:
        """The whole response."""


class OpenAiInterface:
    """The interface, as a part of the application."""

    prefix = "/v1/"

    def routes(
        self, repository: ModelRepository, limits: ServiceLimits, held: HeldBytes, threads: CodecThreads
    ) -> Sequence[Route]:
        texts = TextEndpoints(repository, limits, held, threads)
        models = ModelEndpoints(repository)
        return [
            route("/v1/chat/completions", texts.chat, "POST"),
            route("/v1/completions", texts.completions, "POST"),
            route("/v1/embeddings", texts.embeddings, "POST"),
            route("/v1/models", models.index),
            route("/v1/models/{model}", models.model),
        ]

    def error(self, text: str, status: int, failure: RequestFailure | None) -> object:
        return describe_error(text, status, failure)


class TextEndpoints:
    """Endpoints of language models.  Every method is an ASGI application, except those with an underscore."""

    def __init__(
        self, repository: ModelRepository, limits: ServiceLimits, held: HeldBytes, threads: CodecThreads
    ) -> None:
        self._repository, self._limits, self._held, self._threads = repository, limits, held, threads
        self._bodies = BodyReader(limits.body, held)

    async def chat(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST /v1/chat/completions"""
        body, fields = await self._read(scope, receive)
        try:
            model, generation = self._find_texts(fields, "chat completions")
            with model.lease():
                request = await self._parse(
                    read_chat, fields, generation.generator, generation.options.max_tokens
                )
                answer = ChatCompletion(model.name, generation, request)
                await self._send(answer, scope, receive, send, is_stream=request.is_stream)
        finally:
            self._bodies.release(body)

    async def completions(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST /v1/completions"""
        body, fields = await self._read(scope, receive)
        try:
            model, generation = self._find_texts(fields, "completions")
            with model.lease():
                request = await self._parse(read_completion, fields, generation.generator)
                answer = Completion(model.name, generation, request)
                await self._send(answer, scope, receive, send, is_stream=request.is_stream)
        finally:
            self._bodies.release(body)

    async def embeddings(self, scope: Scope, receive: Receive, send: Send) -> None:
        """POST /v1/embeddings"""
        body, fields = await self._read(scope, receive)
        try:
            model, embedding = self._find(fields, TextEmbedding, "embeddings")
            with model.lease(), self._held.allowance(self._limits.response, RESPONSE) as allowance:
                request = await self._parse(read_embedding, fields, embedding.embedder)
                vectors = await run_for_client(embedding.embed(request.texts), receive)
                allowance.add(vectors.size * NUMBER_BYTES)
                value = embedding_response(model.name, request, vectors)
                text = await self._threads.run(format_json, value)
                await send_response(send, HttpResponse(200, JSON_HEADERS, (text,)))
        finally:
            self._bodies.release(body)

    async def _read(self, scope: Scope, receive: Receive) -> tuple[bytes | bytearray, Fields]:
        """The body, whose bytes the caller must release, and its fields."""
        body = await self._bodies.read(scope["headers"], receive, self._limits.json)
        try:
            return body, Fields(await self._threads.run(parse_object, body))
        except BaseException:
            self._bodies.release(body)
            raise

    async def _parse(self, read: Callable[[*Ts], T], *args: *Ts) -> T:
        """The request that a function reads, in a thread, since long prompts have many tokens."""
        try:
            return await self._threads.run(read, *args)
        except SardonyxError as error:
            raise failure_of(error) from error.__cause__ if isinstance(error, RequestFailure) else error

    async def _send(
        self, answer: TextAnswer, scope: Scope, receive: Receive, send: Send, *, is_stream: bool
    ) -> None:
        """Sends the answer, unless the client leaves, which ends the generation."""
        if is_stream:
            work = send_events(send, answer.events(), f"{scope['method']} {scope['path']}")
            await run_for_client(work, receive)
        else:
            await send_json(send, await run_for_client(answer.response(), receive))

    def _find_texts(self, fields: Fields, what: str) -> tuple[ServedModel, TextGeneration]:
        """The model that a request for texts names.  Raises RequestFailure, also for one that reads no text."""
        model, generation = self._find(fields, TextGeneration, what)
        encoder = generation.generator.encoder
        if encoder is not None and not encoder.reads_text:
            names = ", ".join(encoder.inputs)
            why = f"the model {model.name!r} must read text; its encoder reads {names}: run it by `sx.Generator`, with inputs"
            raise ParameterFailure("model", why, code=UNSUPPORTED)
        return model, generation

    def _find(self, fields: Fields, kind: type[T], what: str) -> tuple[ServedModel, T]:
        """The model that a request names, and what answers requests of this kind."""
        name = fields.text("model")
        if name is None:
            raise ParameterFailure("model", "model must be the name of a model; got none")
        model = find_model(self._repository, name)
        if not isinstance(model.language, kind):
            known = [m.name for m in language_models(self._repository) if isinstance(m.language, kind)]
            why = f"the model {name!r} has no {what}; models that have are {', '.join(known) or 'none'}"
            raise ParameterFailure("model", why, code=UNSUPPORTED)
        return model, model.language


class ModelEndpoints:
    """The language models of the service.  Every method is an ASGI application."""

    def __init__(self, repository: ModelRepository) -> None:
        self._repository = repository

    async def index(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /v1/models"""
        models = [describe_model(model) for model in language_models(self._repository)]
        await send_json(send, {"object": "list", "data": models})

    async def model(self, scope: Scope, receive: Receive, send: Send) -> None:
        """GET /v1/models/{model}"""
        model = find_model(self._repository, scope["path_params"]["model"])
        if model.language is None:
            why = f"the model {model.name!r} is no language model: its metadata are /v2/models/{model.name}"
            raise ParameterFailure("model", why, code=MODEL_NOT_FOUND, kind=FailureKind.NOT_FOUND)
        await send_json(send, describe_model(model))


def find_model(repository: ModelRepository, name: str) -> ServedModel:
    """The newest version of a model.  Raises RequestFailure."""
    try:
        return repository.find(name)
    except RequestFailure as failure:
        if failure.kind is not FailureKind.NOT_FOUND:
            raise
        raise ParameterFailure("model", failure.why, code=MODEL_NOT_FOUND, kind=failure.kind) from None


def language_models(repository: ModelRepository) -> Iterator[ServedModel]:
    """The language models that are ready, each once."""
    names = dict.fromkeys(name for name, _, entry in repository.states() if entry.served is not None)
    for name in names:
        model = repository.find(name)
        if model.language is not None:
            yield model


def describe_model(model: ServedModel) -> dict[str, object]:
    return {"id": model.name, "object": "model", "created": model.opened_at, "owned_by": "sardonyx"}
