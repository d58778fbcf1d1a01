"""TLS and the token over gRPC."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import grpc
import grpc.aio
import pytest

from sardonyx._src.serve.grpc.messages import EmptyMessage, FlagResponse, ModelInferResponse
from sardonyx._src.serve.service.service import Service
from serve.repositories import write_scale
from serve.running import run_service
from serve.test_grpc_server import Client, request, y_of


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of 127.0.0.1, signed by its own key, and the key."""
    certificate, key = folder / "cert.pem", folder / "key.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 2"
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command.split(), *names], check=True, capture_output=True)
    return certificate, key


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes the certificate")
def test_tls_and_token_over_grpc(tmp_path: Path) -> None:
    write_scale(tmp_path / "models/a.onnx", 3)
    certificate, key = write_certificate(tmp_path)
    (tmp_path / "token").write_text("secret\n")

    async def scenario(service: Service) -> None:
        address = f"127.0.0.1:{service.ports['grpc']}"
        credentials = grpc.ssl_channel_credentials(certificate.read_bytes())
        async with grpc.aio.secure_channel(address, credentials) as channel:
            response = await Client(channel, "secret").call("ModelInfer", request(1), ModelInferResponse)
            assert y_of(response) == [3.0, 6.0]
            error = await Client(channel, "other").refusal("ModelInfer", request(1))
            assert error.code() is grpc.StatusCode.UNAUTHENTICATED
        async with grpc.aio.insecure_channel(address) as channel:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await Client(channel).call("ServerLive", EmptyMessage(), FlagResponse, timeout=5)
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE

    files = {"certificate": certificate, "key": key, "token_file": tmp_path / "token"}
    run_service(tmp_path / "models", scenario, files)
