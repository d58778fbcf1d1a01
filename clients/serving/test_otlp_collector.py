"""`sardonyx serve --traces`: what a collector of OpenTelemetry receives, decoded by the published messages."""

from __future__ import annotations

import gzip
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

import sardonyx as sx

MODEL = """<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }"""
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
BODY = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1], "data": [2]}]}


@contextmanager
def collector() -> Iterator[tuple[int, list[ExportTraceServiceRequest]]]:
    """A server on a free port, and the requests that it has received."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["content-length"]))
            assert self.path == "/v1/traces"
            assert self.headers["content-type"] == "application/x-protobuf"
            if self.headers.get("content-encoding") == "gzip":
                data = gzip.decompress(data)
            received.append(ExportTraceServiceRequest.FromString(data))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], received
    server.shutdown()
    server.server_close()


def attributes(pairs: list[KeyValue]) -> dict[str, object]:
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in pairs}


def infer(port: int, model: str, headers: dict[str, str]) -> int:
    """The status of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", f"/v2/models/{model}/infer", json.dumps(BODY), headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_spans_of_requests(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    sx.save(sx.from_text(MODEL), tmp_path / "models/neg.onnx")
    with collector() as (collector_port, received):
        url = f"http://127.0.0.1:{collector_port}/v1/traces"
        command = [sys.executable, "-m", "sardonyx", "serve", str(tmp_path / "models"), "--port", "0"]
        with subprocess.Popen(
            [*command, "--log", "json", "--traces", url], stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            port = 0
            for line in process.stderr:
                text = json.loads(line)["message"]
                port = int(text.rpartition(":")[2]) if text.startswith("listening") else port
                if text == "ready":
                    break
            assert infer(port, "neg", {"traceparent": f"00-{TRACE}-{PARENT}-01"}) == 200
            assert infer(port, "none", {}) == 404
            process.terminate()
            assert process.wait(30) == 0, "the last spans are sent before the end"
    (resource,) = {
        attributes(list(s.resource.attributes))["service.name"] for r in received for s in r.resource_spans
    }
    assert resource == "sardonyx"
    spans = [span for r in received for s in r.resource_spans for c in s.scope_spans for span in c.spans]
    first, second = sorted(spans, key=lambda span: span.start_time_unix_nano)
    assert (first.trace_id.hex(), first.parent_span_id.hex()) == (TRACE, PARENT)
    assert first.name == "POST /v2/models/neg/infer"
    assert first.kind == Span.SPAN_KIND_SERVER
    assert attributes(list(first.attributes)) == {
        "http.request.method": "POST",
        "url.path": "/v2/models/neg/infer",
        "http.response.status_code": 200,
    }
    assert 0 < first.end_time_unix_nano - first.start_time_unix_nano < 10**10
    assert (second.parent_span_id, attributes(list(second.attributes))["http.response.status_code"]) == (
        b"",
        404,
    )
    assert second.trace_id.hex() != TRACE
