"""The local server of a page: it answers only this machine, under an address that contains a secret."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from urllib.parse import parse_qs, urlsplit

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError, SardonyxError
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Model, Tensor
from sardonyx._src.proto import messages as m
from sardonyx._src.tools.extract import extract
from sardonyx._src.tools.graph_models import graph_model
from sardonyx._src.view.html import assemble_page
from sardonyx._src.view.page_data import PageData
from sardonyx._src.view.reading.documents import ReadDocument
from sardonyx._src.view.reading.inference import graph_with_number
from sardonyx._src.view.reading.pictures import picture_of
from sardonyx._src.view.reading.statistics import statistics_of
from sardonyx._src.view.reading.tensors import elements_of, npy_bytes, preview

LOOPBACK = "127.0.0.1"
HOST_NAMES = (LOOPBACK, "localhost")
PICTURE_SIDE = 256  # pixels of a side of a picture that a page requests
TOKEN_BYTES = 24
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # the rest of the policy is in the page itself
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
Query = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of a response; file_name: the name under which a browser stores it, "" for content that it shows."""

    content: bytes
    media_type: str
    file_name: str = ""


@dataclass(frozen=True, slots=True)
class ServedDocument:
    """A document of a page; load: loads its model, from which parts are extracted."""

    document: ReadDocument
    load: Callable[[], Model]


class PageServer(ThreadingHTTPServer):
    """A server of one page on a free port of the loopback interface; `address` is where a browser finds it."""

    daemon_threads = True

    def __init__(self, data: PageData, documents: Sequence[ServedDocument]) -> None:
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.documents = documents
        served: PageData = {**data, "server": True}
        self.page = assemble_page(served, server=True).encode()
        super().__init__((LOOPBACK, 0), PageHandler)

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}/{self.token}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints an error, unless the browser ended the request, as it does when a page is closed."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # passed on as it came

    def is_own_host(self, host: str | None) -> bool:
        """Whether a Host header names this server.

        Another name is that of a foreign page, bound to this address by DNS rebinding.
        """
        return host in [f"{name}:{self.server_port}" for name in HOST_NAMES]

    def answer(self, path: str, query: Query) -> Answer | None:
        """The answer to a request; None for an unknown path.  path: the part of the address after the token.

        Raises SardonyxError for invalid arguments.
        """
        answers: dict[str, Callable[[], Answer]] = {
            "": lambda: Answer(self.page, "text/html; charset=utf-8"),
            "api/tensor": partial(describe_tensor, self.documents, query),
            "api/tensor.npy": partial(download_tensor, self.documents, query),
            "api/extract": partial(download_part, self.documents, query),
        }
        return answers[path]() if path in answers else None


class PageHandler(BaseHTTPRequestHandler):
    """Answers GET requests that have the token of the server in their address."""

    server: PageServer
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds that an idle connection stays open

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        prefix, _, path = parts.path.removeprefix("/").partition("/")
        is_foreign = self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin")
        if not self.server.is_own_host(self.headers.get("Host")) or (is_foreign and path):
            self.refuse(HTTPStatus.FORBIDDEN, "requests of other hosts are refused")
        elif not secrets.compare_digest(prefix.encode(), self.server.token.encode()):
            self.refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        else:
            self.respond(path, parse_qs(parts.query))

    def respond(self, path: str, query: Query) -> None:
        try:
            answer = self.server.answer(path, query)
        except (SardonyxError, OSError) as error:
            self.refuse(HTTPStatus.BAD_REQUEST, str(error))
            return
        if answer is None:
            self.refuse(HTTPStatus.NOT_FOUND, "there is no such page")
        else:
            self.send(HTTPStatus.OK, answer)

    def refuse(self, status: HTTPStatus, why: str) -> None:
        self.send(status, Answer(json.dumps({"error": why}).encode(), "application/json"))

    def send(self, status: HTTPStatus, answer: Answer) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.media_type)
        self.send_header("Content-Length", str(len(answer.content)))
        if answer.file_name:
            self.send_header("Content-Disposition", f'attachment; filename="{answer.file_name}"')
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing, since requests contain the token."""


def describe_tensor(documents: Sequence[ServedDocument], query: Query) -> Answer:
    """Statistics, picture and first elements of the tensor `tensor` of the document `document`."""
    tensor = tensor_of(documents, query)
    array = elements_of(tensor)
    facts = {
        "statistics": None if array is None else statistics_of(array),
        "picture": None if array is None else picture_of(array, PICTURE_SIDE),
        "preview": "" if array is None else preview(array),
    }
    return Answer(json.dumps(facts, allow_nan=False).encode(), "application/json")


def download_tensor(documents: Sequence[ServedDocument], query: Query) -> Answer:
    """The tensor `tensor` of the document `document` as a `.npy` file."""
    tensor = tensor_of(documents, query)
    return Answer(
        npy_bytes(tensor.numpy(), tensor.dtype),
        "application/octet-stream",
        f"{plain_name(tensor.name or 'tensor')}.npy",
    )


def download_part(documents: Sequence[ServedDocument], query: Query) -> Answer:
    """The part of the graph `graph` between the values `inputs` and `outputs`, each given once or more, as a model."""
    served = served_document(documents, query)
    number = index_of(query, "graph", len(served.document.data["graphs"]))
    model = served.load()
    if number:
        model = graph_model(model, graph_with_number(served.document, model, number))
    part = extract(model, inputs=query.get("inputs"), outputs=query.get("outputs"))
    content = BytesIO()
    save(part, content, external=False)
    return Answer(content.getvalue(), "application/octet-stream", "part.onnx")


def served_document(documents: Sequence[ServedDocument], query: Query) -> ServedDocument:
    return documents[index_of(query, "document", len(documents))]


def tensor_of(documents: Sequence[ServedDocument], query: Query) -> Tensor:
    """The dense tensor that a query names, or the stored elements of the sparse tensor."""
    reader = served_document(documents, query).document.tensors
    record = reader.records[index_of(query, "tensor", len(reader.records))]
    tensor = reader.read(record.values if isinstance(record, m.SparseTensorProto) else record)
    if tensor is None:
        raise InputError(
            "tensor must be a valid one; got one whose data do not match its type", name="tensor"
        )
    return tensor


def index_of(query: Query, name: str, count: int) -> int:
    """The number that a query states, by default 0; raises InputError for one that is out of range."""
    text = query.get(name, ["0"])[-1]
    if not (text.isdecimal() and len(text) < 10 and int(text) < count):
        raise InputError(f"{name} must be a number below {count}; got {text!r}", name=name)
    return int(text)


def plain_name(text: str) -> str:
    """A name without characters that a header or a file system could misinterpret."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in text)[:100]
