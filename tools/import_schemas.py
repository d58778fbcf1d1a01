"""Write `src/sardonyx/_src/schema/data` from the operator schemas of the onnx wheel: facts, no documentation.

`--check` writes nothing, lists the files that differ from what would be written, and exits with 1 if any does.
`withdrawn.json` is written by hand, because no wheel holds those operators, and is left alone.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import defs, helper

ROOT = Path(__file__).resolve().parent.parent
DATA = Path("src/sardonyx/_src/schema/data")
NO_LIMIT = 2**31 - 1  # the wheel's encoding of an unlimited variadic parameter

Json = int | float | str | bool | None | list["Json"] | dict[str, "Json"]


def files() -> dict[Path, str]:
    """Path relative to the project's root -> content, for every file that this tool writes."""
    history: defaultdict[Path, list[defs.OpSchema]] = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        history[DATA / (schema.domain or "ai.onnx") / f"{schema.name}.json"].append(schema)
    written = {path: operator_text(history[path]) for path in sorted(history)}
    written[DATA / "releases.json"] = releases_text()
    return written


def operator_text(schemas: list[defs.OpSchema]) -> str:
    ordered = sorted(schemas, key=lambda schema: int(schema.since_version))
    return "[\n" + ",\n".join(version_text(schema) for schema in ordered) + "\n]\n"


def version_text(schema: defs.OpSchema) -> str:
    """A version's record, with one line for each parameter, attribute and type constraint."""
    head = {"since_version": schema.since_version, "status": schema.support_level.name.lower()}
    if schema.deprecated:
        head["deprecated"] = True
    parts = [dumps(head)[1:-1]]
    for key, records in (
        ("inputs", [parameter(p) for p in schema.inputs]),
        ("outputs", [parameter(p) for p in schema.outputs]),
        ("attributes", [attribute(schema.attributes[name]) for name in sorted(schema.attributes)]),
    ):
        if records:
            parts.append(block(key, "[]", [dumps(record) for record in records]))
    if schema.type_constraints:
        parts.append(block("type_constraints", "{}", list(constraints(schema))))
    parts.append(f'"input_counts": {counts(schema.min_input, schema.max_input)}')
    parts.append(f'"output_counts": {counts(schema.min_output, schema.max_output)}')
    if schema.all_function_opset_versions:
        parts.append(f'"bodies": {dumps(list(schema.all_function_opset_versions))}')
    return "  {\n" + ",\n".join(f"    {part}" for part in parts) + "\n  }"


def parameter(formal: defs.OpSchema.FormalParameter) -> dict[str, Json]:
    record: dict[str, Json] = {"name": formal.name, "type": formal.type_str}
    if formal.option.name != "Single":
        record["option"] = formal.option.name.lower()
    if not formal.is_homogeneous:
        record["homogeneous"] = False
    if formal.min_arity != 1:
        record["min_arity"] = formal.min_arity
    if formal.differentiation_category.name != "Unknown":
        record["differentiable"] = formal.differentiation_category.name == "Differentiable"
    return record


def attribute(given: defs.OpSchema.Attribute) -> dict[str, Json]:
    record: dict[str, Json] = {"name": given.name, "type": given.type.name}
    if given.required:
        record["required"] = True
    if given.default_value.type:
        record["default"] = default(given.default_value)
    return record


def default(proto: onnx.AttributeProto) -> Json:
    value = helper.get_attribute_value(proto)
    if proto.type in (onnx.AttributeProto.FLOATS, onnx.AttributeProto.INTS, onnx.AttributeProto.STRINGS):
        return [scalar(element) for element in value]
    return scalar(value)


def scalar(value: int | float | bytes) -> Json:
    assert isinstance(value, int | float | bytes), f"no representation for a default of {type(value)}"
    if isinstance(value, float):
        return float(str(np.float32(value)))  # the shortest decimal that is this float32
    return value.decode() if isinstance(value, bytes) else value


def constraints(schema: defs.OpSchema) -> Iterator[str]:
    for constraint in schema.type_constraints:
        yield f"{dumps(constraint.type_param_str)}: {dumps(list(constraint.allowed_type_strs))}"


def counts(least: int, most: int) -> str:
    return dumps([least, None if most == NO_LIMIT else most])


def releases_text() -> str:
    ranges = defs.C.schema_version_map()
    domains = [f"{dumps(domain or 'ai.onnx')}: {dumps(list(ranges[domain]))}" for domain in sorted(ranges)]
    releases = []
    for name, ir_version, *opsets in helper.VERSION_TABLE:
        of_domain = dict(zip(("ai.onnx", "ai.onnx.ml", "ai.onnx.training"), opsets, strict=False))
        releases.append(dumps({"release": name, "ir_version": ir_version, "opsets": of_domain}))
    blocks = (block("domains", "{}", domains, indent=2), block("releases", "[]", releases, indent=2))
    return "{\n" + ",\n".join(f"  {text}" for text in blocks) + "\n}\n"


def block(key: str, brackets: str, lines: Iterable[str], indent: int = 4) -> str:
    """A member of an object whose value holds one line an element; `indent` is that of the member itself."""
    inner, outer = " " * (indent + 2), " " * indent
    body = ",\n".join(inner + line for line in lines)
    return f"{dumps(key)}: {brackets[0]}\n{body}\n{outer}{brackets[1]}"


def dumps(value: object) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def strays(expected: Iterable[Path]) -> list[Path]:
    """Stale files in the folders of domains, which this tool would not write."""
    present = {path.relative_to(ROOT) for path in (ROOT / DATA).glob("*/*")}
    return sorted(present.difference(expected))


def main(check: bool) -> int:
    expected = files()
    stale = [path for path, text in expected.items() if not same(ROOT / path, text)]
    for path in stale:
        print(f"{'out of date' if check else 'written'}: {path}")
        if not check:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(expected[path], encoding="utf-8")
    for path in strays(expected):
        print(f"{'not ours' if check else 'removed'}: {path}")
        stale.append(path)
        if not check:
            (ROOT / path).unlink()
    return 1 if check and stale else 0


def same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
