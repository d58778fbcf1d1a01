"""Protobuf's JSON mapping of records, as `google.protobuf.json_format` reads and writes it."""

from sardonyx._src.proto.json.reader import from_json
from sardonyx._src.proto.json.writer import to_json

__all__ = ["from_json", "to_json"]
