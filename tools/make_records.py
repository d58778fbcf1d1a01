"""Write the records and decoders of `sardonyx._src.proto` from `src/sardonyx/_src/proto/onnx.proto`.

Records are plain classes with a table of fields; the decoders are written out field by field, because a
table-driven loop in Python costs three times as much on a graph of many small nodes.  Encoders need none: what
is set in a record is in its `__dict__`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from proto_syntax import EnumDecl, FieldDecl, MessageDecl, parse

ROOT = Path(__file__).resolve().parent.parent
PROTO = ROOT / "src/sardonyx/_src/proto/onnx.proto"
BANNER = "# Written by tools/make_records.py from onnx.proto: change that text, then `make regen`.\n"


# --- records ---------------------------------------------------------------------------------


def records(messages: list[MessageDecl], enums: list[EnumDecl]) -> str:
    nesting = nesting_messages(messages)
    parts = [
        '"""The messages of ONNX IR 14 as records: one class a message, one attribute a field."""\n',
        BANNER,
        "from __future__ import annotations\n",
        "import enum\n",
        "from sardonyx._src.proto.record import Field, Numbers, Record, Repeated, seal\n",
    ]
    for e in enums:
        lines = [f"    {name} = {number}" for name, number in e.values.items()]
        parts.append(f"\nclass {e.name}(enum.IntEnum):\n" + "\n".join(lines) + "\n")
    for m in messages:
        lines = [f"    {f.name}: {f.declaration}" for f in m.fields]
        parts.append(f"\nclass {m.name}(Record):\n" + "\n".join(lines) + "\n")
    for m in messages:
        rows = "\n".join(f"    {row(f)}," for f in m.by_number())
        nests = ", nests=True" if m.name in nesting else ""
        parts.append(f"\nseal({m.name}, (\n{rows}\n){nests})")
    names = ", ".join(m.name for m in messages)
    parts.append(f"\nMESSAGES: tuple[type[Record], ...] = ({names})\n")
    return "\n".join(parts)


def row(f: FieldDecl) -> str:
    enum = f", {f.enum}" if f.enum else ""
    return f'Field("{f.name}", {f.number}, "{f.kind}", {f.repeated}, {f.packed}, "{f.oneof}", {f.message or None}{enum})'


def nesting_messages(messages: list[MessageDecl]) -> set[str]:
    """Messages that can hold themselves and are where depth is counted: one of every cycle."""
    return {"GraphProto", "TypeProto", "SequenceProto", "MapProto", "OptionalProto"} & {
        m.name for m in messages
    }


# --- decoders --------------------------------------------------------------------------------

DECODERS_HEAD = f'''\
"""Decoders of the binary form, one function a message, written out field by field.

b: bytes or a memory map; p, e: where the message starts and ends in it; c: what outlives one message.
Inside, t is a tag, n a length, v a number, q the end of a value; direct: whether a message can be decoded
without anything being done around it.
"""

{BANNER}
from __future__ import annotations

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Numbers, Record, extended, joined, merged
from sardonyx._src.proto.wire import Buffer, Context, Decoder, WireError, chunk, f32, f64, long_tag, packed_f32
from sardonyx._src.proto.wire import packed_f64, packed_varints, payload, skip, to_int32, too_long, varint

new = object.__new__
'''
LENGTH = """\
            n = b[p]
            p += 1
            if n > 127:
                n, p = varint(b, p - 1)
            q = p + n
            if q > e:
                raise too_long(start, p, q, e)
"""
NUMBER = """\
            v = b[p]
            p += 1
            if v > 127:
                v, p = varint(b, p - 1)
"""
SIGNED = {
    "int64": "                if v > 0x7FFFFFFFFFFFFFFF:\n                    v -= 0x10000000000000000\n",
    "int32": "                v = to_int32(v)\n",
    "enum": "                v = to_int32(v)\n",
    "uint64": "",
}
FIXED = {"float": ("f32", 4), "double": ("f64", 8)}


def decoders(messages: list[MessageDecl]) -> str:
    nesting = nesting_messages(messages)
    parts = [DECODERS_HEAD]
    parts += [decoder(message, message.name in nesting) for message in messages]
    rows = "\n".join(f"    m.{message.name}: {function(message.name)}," for message in messages)
    parts.append(f"\nDECODERS: dict[type[Record], Decoder[Record]] = {{\n{rows}\n}}\n")
    return "\n".join(parts)


def function(message: str) -> str:
    return "decode_" + re.sub(r"(?<=[a-z])(?=[A-Z])", "_", message).lower()


def decoder(message: MessageDecl, nests: bool) -> str:
    name = message.name
    lines = [f"\ndef {function(name)}(b: Buffer, p: int, e: int, c: Context) -> m.{name}:\n"]
    lines.append(f"    r = new(m.{name})\n")
    if nests:
        lines.append("    c.enter(p)\n")
    if any(f.message for f in message.fields):
        lines.append("    direct = c.uncounted and type(b) is bytes\n")
    lines += [
        f"    {oneof}_set = ''\n" for oneof in dict.fromkeys(f.oneof for f in message.fields if f.oneof)
    ]
    lines += [f"    {f.name}_: {f.python('m.')} | None = None\n" for f in message.fields if f.repeated]
    lines.append("    start = p\n    while p < e:\n        start = p\n        t = b[p]\n        p += 1\n")
    lines.append("        if t > 127:\n            t, p = long_tag(b, p - 1)\n")
    word = "if"
    for f in message.by_number():
        for tag, body in branches(f):
            lines.append(f"        {word} t == {tag}:\n{body}")
            word = "elif"
    lines.append(
        "        else:\n            p = skip(b, p, e, t, start)\n            r.keep(payload(b, start, p, c))\n"
    )
    lines.append(
        '    if p != e:\n        raise WireError("a field runs past the end of its message", start)\n'
    )
    if nests:
        lines.append("    c.leave()\n")
    lines.append("    return r\n")
    return "".join(lines)


def branches(f: FieldDecl) -> Iterator[tuple[int, str]]:
    """Pairs of tag and indented code that reads the field; a packable field has two."""
    if f.message:
        yield f.number << 3 | 2, LENGTH + message_body(f) + chosen(f) + "            p = q\n"
    elif f.type in ("string", "bytes"):
        read = "b[p:q].decode('utf-8', 'surrogateescape')" if f.type == "string" else "payload(b, p, q, c)"
        yield f.number << 3 | 2, LENGTH + store(f, read) + chosen(f) + "            p = q\n"
    elif f.type in FIXED:
        read, width = FIXED[f.type]
        fixed = f"            if p + {width} > e:\n                raise too_long(start, p, p + {width}, e)\n"
        body = fixed + store(f, f"{read}(b, p)[0]") + chosen(f) + f"            p += {width}\n"
        yield f.number << 3 | (5 if width == 4 else 1), body
        if f.repeated:
            yield f.number << 3 | 2, LENGTH + packed(f, f"packed_{read}(b, p, q, c)") + "            p = q\n"
    else:
        yield f.number << 3, NUMBER + SIGNED[f.type] + store(f, "v") + chosen(f)
        if f.repeated:
            yield (
                f.number << 3 | 2,
                LENGTH + packed(f, f'packed_varints(b, p, q, "{f.type}")') + "            p = q\n",
            )


def message_body(f: FieldDecl) -> str:
    decode = function(f.message)
    call = f"{decode}(b, p, q, c) if direct else chunk({decode}, b, p, q, c)"
    if f.repeated:
        return store(f, call)
    return (
        f"            {f.name}_x = {call}\n"
        f"            r.{f.name} = {f.name}_x if r.{f.name} is None else merged(r.{f.name}, {f.name}_x)\n"
    )


def chosen(f: FieldDecl) -> str:
    """Clears the other members of the field's oneof."""
    if not f.oneof:
        return ""
    return (
        f"            if {f.oneof}_set != {f.name!r}:\n"
        f"                if {f.oneof}_set:\n                    r.clear({f.oneof}_set)\n"
        f"                {f.oneof}_set = {f.name!r}\n"
    )


def store(f: FieldDecl, value: str) -> str:
    if not f.repeated:
        return f"            r.{f.name} = {value}\n"
    if f.packed:
        return f"            r.{f.name} = {f.name}_ = joined({f.name}_, [{value}])\n"
    return (
        f"            if {f.name}_ is None:\n"
        f"                r.{f.name} = {f.name}_ = [{value}]\n"
        f"            else:\n"
        f"                {f.name}_.append({value})\n"
    )


def packed(f: FieldDecl, value: str) -> str:
    join = "joined" if f.packed else "extended"
    return f"            r.{f.name} = {f.name}_ = {join}({f.name}_, {value})\n"


def files() -> dict[Path, str]:
    """Path from the project's root -> content, of every file that this tool writes."""
    messages, enums = parse(PROTO.read_text())
    folder = Path("src/sardonyx/_src/proto")
    return {folder / "messages.py": records(messages, enums), folder / "decoders.py": decoders(messages)}
