"""The examples in the docstrings of rules, as documents that can be checked.

An example may begin with lines that create files next to it: `file NAME SIZE` (zero bytes), `link NAME TARGET` (a symbolic
link), `hard NAME TARGET` (a hard link).  What follows is `hex …` (the bytes of a file; `hex` alone is an empty one),
`deep N` (a model with sequences nested N deep), `json …` or `text …` (a file of that form), `KIND {…}` (another document, in text), `{…}` (a model with these fields and
no others), `<…> graph …` (a model whose header gets what it lacks), or a graph alone.
"""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.check.driver.sources import RECORD_CLASSES
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.text import from_text

HEADER = m.ModelProto(
    ir_version=10,
    domain="com.example",
    producer_name="examples",
    producer_version="1",
    opset_import=[m.OperatorSetIdProto(domain="", version=21)],
)


def write(example: str, folder: Path) -> tuple[Path, str]:
    """Writes the files of an example; returns the path of the document and its kind."""
    lines = example.splitlines()
    while lines and lines[0].split(maxsplit=1)[:1] in (["file"], ["link"], ["hard"]):
        make(*lines.pop(0).split(), folder=folder)
    text = "\n".join(lines)
    word, _, rest = text.partition(" ")
    if word == "hex":
        return write_file(folder / "m.onnx", bytes.fromhex(rest)), "model"
    if word == "deep":
        return write_file(folder / "m.onnx", encode(nested_sequences(int(rest)))), "model"
    if word in ("json", "text"):
        suffix = {"json": "json", "text": "onnxtxt"}[word]
        return write_file(folder / f"m.{suffix}", rest.encode()), "model"
    if word in RECORD_CLASSES:
        return write_file(folder / "d.bin", encode(from_text(rest, RECORD_CLASSES[word]))), word
    return write_file(folder / "m.onnx", encode(model(text))), "model"


def nested_sequences(depth: int) -> m.ModelProto:
    """A model whose input is a sequence type nested `depth` deep."""
    record = model("g (seq(float[2]) x) => (seq(float[2]) x) { }")
    assert record.graph is not None, "the text has one"
    inner = record.graph.input[0].type
    for _ in range(depth):
        inner = m.TypeProto(sequence_type=m.TypeProtoSequence(elem_type=inner))
    record.graph.input[0].type = record.graph.output[0].type = inner
    return record


def make(word: str, name: str, what: str, *, folder: Path) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if word == "file":
        path.write_bytes(b"\0" * int(what))
    elif word == "link":
        path.symlink_to(what)
    else:
        path.hardlink_to(folder / what)


def write_file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def model(text: str) -> m.ModelProto:
    if text.startswith("{"):
        return from_text(text, m.ModelProto)
    record = from_text(text if text.startswith("<") else f"<> {text}", m.ModelProto)
    for field, value in HEADER.present():
        if not record.has(field.name):
            record.set(field.name, value)
    return record
