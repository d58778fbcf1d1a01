"""What calls of gRPC may cost: compressed messages, those without the token, slow ones, streams, responses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import grpc
import grpc.aio
import pytest

from sardonyx._src.serve.grpc import message_reader
from sardonyx._src.serve.grpc.messages import ModelInferResponse
from sardonyx._src.serve.grpc.server import SERVICE
from sardonyx._src.serve.grpc.wire_encoder import encode
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from serve.repositories import write_scale
from serve.test_grpc_server import Client, request, serve, y_of

MESSAGE = encode(request())


async def refusal(call: Awaitable[object]) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def nothing() -> AsyncIterator[bytes]:
    """The messages of a client that sends none."""
    await asyncio.Event().wait()
    yield b""


def received(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the messages that the library passes on from now on."""
    sizes: list[int] = []
    read = message_reader.MessageReader.read

    async def counting(self: message_reader.MessageReader, context: grpc.aio.ServicerContext) -> bytes:
        sizes.append(-1)
        message = await read(self, context)
        sizes[-1] = len(message)
        return message

    monkeypatch.setattr(message_reader.MessageReader, "read", counting)
    return sizes


def test_messages_without_the_token_are_not_received(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_scale(tmp_path / "a.onnx", 3)
    sizes = received(monkeypatch)

    async def scenario(client: Client) -> None:
        call = client.channel.unary_unary(f"/{SERVICE}/ModelInfer")
        error = await refusal(call(bytes(1 << 20)))
        assert (error.code(), sizes) == (grpc.StatusCode.UNAUTHENTICATED, [])
        await call(MESSAGE, metadata=client.metadata)
        assert sizes == [len(MESSAGE)]

    serve(tmp_path, scenario, token="secret", client_token="secret")


def test_tokens_that_are_repeated_are_refused(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        call = client.channel.unary_unary(f"/{SERVICE}/ModelInfer")
        pair = (*client.metadata, ("authorization", "Bearer wrong"))
        for metadata in (pair, pair[::-1]):
            assert (
                await refusal(call(MESSAGE, metadata=metadata))
            ).code() is grpc.StatusCode.INVALID_ARGUMENT

    serve(tmp_path, scenario, token="secret", client_token="secret")


def test_compressed_messages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_scale(tmp_path / "a.onnx", 3)
    sizes = received(monkeypatch)

    async def scenario(client: Client) -> None:
        call = client.channel.unary_unary(f"/{SERVICE}/ModelInfer")
        for compression in (grpc.Compression.Gzip, grpc.Compression.Deflate):
            error = await refusal(call(bytes(1 << 20), compression=compression))
            assert (error.code(), "ompression" in str(error.details())) == (
                grpc.StatusCode.UNIMPLEMENTED,
                True,
            )
        assert max(sizes, default=0) <= 0

    serve(tmp_path, scenario)


def test_messages_that_do_not_arrive(tmp_path: Path) -> None:
    """One turn: the next call has it when the first has had its time, and the first ends then."""
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        stuck = client.channel.stream_unary(f"/{SERVICE}/ModelInfer")(nothing())
        await asyncio.sleep(0.1)
        assert y_of(await client.call("ModelInfer", request(), ModelInferResponse)) == [4.5, 6.0]
        assert (await refusal(stuck)).code() is grpc.StatusCode.DEADLINE_EXCEEDED

    serve(tmp_path, scenario, limits=ServiceLimits(body=1 << 20, held=1 << 20))

    async def alone(client: Client) -> None:
        stuck = client.channel.stream_unary(f"/{SERVICE}/ModelInfer")(nothing())
        assert (await refusal(stuck)).code() is grpc.StatusCode.DEADLINE_EXCEEDED

    serve(tmp_path, alone, limits=ServiceLimits(body_seconds=0.2))


def test_streams_are_limited(tmp_path: Path) -> None:
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        method = client.channel.stream_stream(f"/{SERVICE}/ModelStreamInfer")
        first = method()
        await first.write(MESSAGE)
        await first.read()
        error = await refusal(method().read())
        assert (error.code(), "1 streams" in str(error.details())) == (grpc.StatusCode.UNAVAILABLE, True)
        await first.done_writing()
        await first.code()
        second = method()
        await second.write(MESSAGE)
        assert await second.read() is not grpc.aio.EOF
        second.cancel()

    serve(tmp_path, scenario, limits=ServiceLimits(streams=1))


def test_responses_are_counted(tmp_path: Path) -> None:
    """The request fits into what may be held, and with its response does not."""
    write_scale(tmp_path / "a.onnx", 3)

    async def scenario(client: Client) -> None:
        error = await refusal(client.channel.unary_unary(f"/{SERVICE}/ModelInfer")(MESSAGE))
        assert error.code() is grpc.StatusCode.UNAVAILABLE

    serve(tmp_path, scenario, limits=ServiceLimits(held=len(MESSAGE) + 10, body=len(MESSAGE)))
