"""Entries of value_info from bytes to IR: most have just a name and a tensor type, and few types are distinct."""

from __future__ import annotations

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.declarations import PlainValueInfo, ValueInfo
from sardonyx._src.io.serde.types import is_plain, type_from
from sardonyx._src.ir import Type
from sardonyx._src.proto.decoders import decode_type_proto, decode_value_info_proto
from sardonyx._src.proto.runs import MAX_TEMPLATE_BYTES, MAX_TEMPLATES, FieldBlock, read_blocks
from sardonyx._src.proto.wire import UndecodedRun, WireError, chunk


class ValueInfoRunReader:
    """Reads the entries of a run, which are consecutive encoded fields; types with equal bytes are decoded once."""

    def __init__(self, run: UndecodedRun, ir_version: int) -> None:
        self.run, self.ir_version = run, ir_version
        self.types: dict[bytes, Type] = {}  # by their encoding
        self.entries: list[ValueInfo] = []

    def read(self) -> list[ValueInfo]:
        """The entries; raises InvalidModel for entries that do not decode."""
        try:
            for block in read_blocks(self.run):
                self.read_block(block)
        except (WireError, IndexError):
            raise InvalidModel("the value_info of a graph must decode", location="graph") from None
        return self.entries

    def read_block(self, block: FieldBlock) -> None:
        ranges = zip(block.begins.tolist(), block.ends.tolist(), strict=True)
        b = block.data
        if type(b) is bytes and not block.is_long:
            self.entries += [self.read_entry(b, p, e) for p, e in ranges]
        else:
            self.entries += [chunk(decode_value_info_proto, b, p, e, self.run.context) for p, e in ranges]

    def read_entry(self, b: bytes, p: int, e: int) -> ValueInfo:
        """The entry b[p:e]; it is plain if it has a name in ASCII, and then a type, with lengths of one byte.

        Tags of its fields: 10 name, 18 type.
        """
        s = p + 2
        k = s + b[p + 1]
        if b[p] == 10 and s < k and k + 2 < e and b[k] == 18 and k + 2 + b[k + 1] == e:
            type = self.types.get(b[k + 2 : e]) or self.read_type(b, k + 2, e)
            # Also refuses lengths of more than one byte: the first byte of such a length is not ASCII.
            if type is not None and b[p:k].isascii() and b[k + 1] < 128:
                return PlainValueInfo(b[s:k].decode(), type)
        return decode_value_info_proto(b, p, e, self.run.context)

    def read_type(self, b: bytes, p: int, e: int) -> Type | None:
        """The type b[p:e] if it is plain and valid."""
        record = decode_type_proto(b, p, e, self.run.context)
        if not is_plain(record):
            return None
        try:
            type = type_from(record, "", self.ir_version)
        except InvalidModel:
            return None
        if type is not None and e - p < MAX_TEMPLATE_BYTES and len(self.types) < MAX_TEMPLATES:
            self.types[b[p:e]] = type
        return type
