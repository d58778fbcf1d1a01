"""Parser for the subset of the .proto language that `onnx.proto` uses, with Python annotations for the fields.

The subset: messages and enums, which may be nested, field labels, oneofs and the `packed` option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

PYTHON = {"string": "str", "bytes": "bytes | memoryview", "float": "float", "double": "float"}
DEFAULT = {"string": '""', "bytes": 'b""', "float": "0.0", "double": "0.0", "message": "None"}


@dataclass
class FieldDecl:
    name: str
    number: int
    type: str
    repeated: bool
    packed: bool
    oneof: str

    message: str = ""  # class name of the message type, when it is one
    enum: str = ""  # class name of the enum, when it is one

    @property
    def kind(self) -> str:
        return "message" if self.message else self.type

    def python(self, module: str = "") -> str:
        """Annotation of a repeated field; long packed fields may be arrays."""
        annotation = module + self.message if self.message else PYTHON.get(self.type, "int")
        return f"Numbers[{annotation}]" if self.packed else f"list[{annotation}]"

    @property
    def declaration(self) -> str:
        """Annotation and default in the class body; the class attribute is the value of an absent field."""
        if self.repeated:
            return f"RepeatedField[{self.python()}] = RepeatedField()"
        annotation = f"{self.message} | None" if self.message else PYTHON.get(self.type, "int")
        return f"{annotation} = {DEFAULT.get(self.kind, '0')}"


@dataclass
class MessageDecl:
    name: str
    fields: list[FieldDecl] = field(default_factory=list)

    def by_number(self) -> list[FieldDecl]:
        return sorted(self.fields, key=lambda f: f.number)


@dataclass
class EnumDecl:
    name: str
    values: dict[str, int] = field(default_factory=dict)


def parse(text: str) -> tuple[list[MessageDecl], list[EnumDecl]]:
    """The messages and enums of `text`; nested names are concatenated: `TensorProtoSegment`."""
    text = re.sub(r"//[^\n]*", "", text)
    tokens = iter(re.findall(r'"[^"]*"|[\w.]+|[{}=;\[\]]', text))
    messages: list[MessageDecl] = []
    enums: list[EnumDecl] = []
    for token in tokens:
        if token == "message":
            parse_message(tokens, "", messages, enums)
        elif token == "enum":
            enums.append(parse_enum(tokens, ""))
    resolve(messages, enums)
    return messages, enums


def parse_message(
    tokens: Iterator[str], outer: str, messages: list[MessageDecl], enums: list[EnumDecl]
) -> None:
    message = MessageDecl(outer + next(tokens))
    messages.append(message)
    assert next(tokens) == "{", message.name
    oneof = ""
    for token in tokens:
        if token == "}" and oneof:
            oneof = ""
        elif token == "}":
            return
        elif token == "message":
            parse_message(tokens, message.name, messages, enums)
        elif token == "enum":
            enums.append(parse_enum(tokens, message.name))
        elif token == "oneof":
            oneof = next(tokens)
            assert next(tokens) == "{", oneof
        else:
            message.fields.append(parse_field(token, tokens, oneof))


def parse_field(token: str, tokens: Iterator[str], oneof: str) -> FieldDecl:
    label, kind = (token, next(tokens)) if token in ("optional", "repeated") else ("", token)
    name, _, number = next(tokens), next(tokens), int(next(tokens))
    rest = []
    while (token := next(tokens)) != ";":
        rest.append(token)
    return FieldDecl(name, number, kind, label == "repeated", "packed" in rest, oneof)


def parse_enum(tokens: Iterator[str], outer: str) -> EnumDecl:
    enum = EnumDecl(outer + next(tokens))
    assert next(tokens) == "{", enum.name
    while (name := next(tokens)) != "}":
        assert next(tokens) == "=", name
        enum.values[name] = int(next(tokens))
        assert next(tokens) == ";", name
    return enum


def resolve(messages: list[MessageDecl], enums: list[EnumDecl]) -> None:
    """Marks the fields whose type is a message or an enum."""
    names = {m.name for m in messages}
    enum_names = {e.name for e in enums}
    for message in messages:
        for decl in message.fields:
            name = decl.type.replace(".", "")
            if name in names:
                decl.message = name
            elif name in enum_names:
                decl.type, decl.enum = "enum", name
