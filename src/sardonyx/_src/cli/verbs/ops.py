"""List operators, show the versions of one, or export an operator set as a document.

sardonyx ops                          all operators with their versions; versions in ( ) have no kernel
sardonyx ops Conv                     its signature in every version
sardonyx ops --missing                operator versions without a kernel
sardonyx ops --domain com.microsoft   the operators of one domain; operators of vendors have a body or a kernel
sardonyx ops export ai.onnx 18        the operator set as text; --json as JSON
sardonyx ops export ai.onnx 18 -o ai.onnx.18.onnxopset
"""

from __future__ import annotations

import argparse
import json
import sys

from sardonyx._src.cli.output.destinations import add_output, report_written, write_file
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.summary import Json
from sardonyx._src.errors import InputError
from sardonyx._src.io.saving.operator_sets import onnx_operator_set, operator_set_to, save_operator_set
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.ops.registry import find
from sardonyx._src.proto.json import to_json
from sardonyx._src.proto.text import to_text
from sardonyx._src.schema import (
    AttributeSchema,
    OpSchema,
    Parameter,
    canonical,
    domains,
    exact,
    operators,
    vendor_domains,
    versions,
)
from sardonyx._src.schema.signature import Default
from sardonyx._src.suggestions import did_you_mean

HELP = "list operators, or export an operator set"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="*", help="an operator, as Conv or ai.onnx.ml.Scaler, or: export DOMAIN VERSION"
    )
    parser.add_argument(
        "--missing",
        action="store_true",
        help="list only operator versions without a kernel; exit with 1 if there are any",
    )
    parser.add_argument("--domain", help="list the operators of one domain only: of ONNX, or of a vendor")
    add_output(
        parser,
        suffixes=(".onnxopset", ".onnxtxt", ".txt", ""),
        help="with export: write to FILE (as text if it ends in .onnxtxt or .txt)",
    )
    add_json(parser, "the list, the signature or the operator set")


def run(args: argparse.Namespace) -> int:
    if args.name[:1] == ["export"]:
        return export(args)
    if args.out is not None:
        raise InputError("-o requires export, as in: export ai.onnx 18 -o FILE; got none", name="-o")
    if len(args.name) > 1:
        raise InputError(f"the command must name one operator; got {' '.join(args.name)}", name=args.name[1])
    if args.name:
        return show(*resolve_operator(args.name[0]), as_json=args.json)
    return listing(args.domain, missing=args.missing, as_json=args.json)


def export(args: argparse.Namespace) -> int:
    if len(args.name) != 3 or not args.name[2].isdigit():
        raise InputError(
            f"export must have a domain and a version, as in: export ai.onnx 18; got {' '.join(args.name[1:])!r}",
            name="export",
        )
    document = onnx_operator_set(args.name[1], int(args.name[2]))
    if args.json:
        sys.stdout.write(to_json(operator_set_to(document), indent=1) + "\n")
    elif args.out is None:
        sys.stdout.write(to_text(operator_set_to(document)).rstrip("\n") + "\n")
    if args.out is not None:
        write_file(args.out, lambda path: save_operator_set(document, path))
        report_written(args, args.out)
    return 0


def resolve_operator(text: str) -> tuple[str, str]:
    """Domain and name of the operator that the user named; raises InputError if there is none."""
    domain, _, name = text.rpartition(".")
    searched = known_domains() if not domain else (canonical(domain),)
    for candidate in searched:
        if candidate in known_domains() and name in operators(candidate):
            return candidate, name
    known = [name for candidate in known_domains() for name in operators(candidate)]
    raise InputError(
        f"the name must be that of an operator; got {text!r}{did_you_mean(name, known, 3)}", name=text
    )


def known_domains() -> tuple[str, ...]:
    """The domains of ONNX, and those of vendors."""
    return (*domains(), *vendor_domains())


def kernels(domain: str, name: str) -> list[int]:
    """The versions that can run: those with a kernel and, of operators of vendors, those with a body."""
    op = find(domain, name)
    return sorted({*op.kernels, *(op.bodies if domain in vendor_domains() else ())}) if op else []


def listing(domain: str | None, *, missing: bool, as_json: bool) -> int:
    searched = domains() if domain is None else (canonical(domain),)
    if domain is not None and searched[0] not in known_domains():
        known = ", ".join(name or "ai.onnx" for name in known_domains())
        raise InputError(f"--domain must be one of {known}; got {domain!r}", name="domain")
    rows = [(d, n, versions(d, n), kernels(d, n)) for d in searched for n in operators(d)]
    if missing:
        rows = [(d, n, tuple(v for v in vs if v not in ks), []) for d, n, vs, ks in rows if set(vs) - set(ks)]
    if as_json:
        entries = [
            {"domain": d or "ai.onnx", "name": n, "versions": [*v], "kernels": [*k]} for d, n, v, k in rows
        ]
        sys.stdout.write(json.dumps(entries, indent=1) + "\n")
    else:
        for d, n, vs, ks in rows:
            marks = " ".join(f"{v}" if v in ks or missing else f"({v})" for v in vs)
            sys.stdout.write(f"{d + '.' if d else ''}{n}  {marks}\n")
        total, running = sum(len(r[2]) for r in rows), sum(len(set(r[2]) & set(r[3])) for r in rows)
        without = "without a kernel" if missing else f"{running} with a kernel; ( ) has none"
        sys.stdout.write(f"{pluralize(len(rows), 'operator')}, {pluralize(total, 'version')}, {without}\n")
    return 1 if missing and rows else 0


def show(domain: str, name: str, *, as_json: bool) -> int:
    schemas = [s for v in versions(domain, name) if (s := exact(domain, name, v)) is not None]
    running = kernels(domain, name)
    if as_json:
        sys.stdout.write(
            json.dumps([schema_as_json(s, s.since_version in running) for s in schemas], indent=1) + "\n"
        )
        return 0
    texts = (signature(s, s.since_version in running) for s in schemas)
    sys.stdout.write("\n\n".join(texts) + "\n")
    return 0


def signature(schema: OpSchema, runs: bool) -> str:
    """The signature of a version, one line per parameter."""
    state = ", deprecated" if schema.deprecated else ""
    state += "" if runs else ", no kernel"
    lines = [f"{schema.name}-{schema.since_version}{state}"]
    lines += [f"  input  {parameter(p)}" for p in schema.inputs]
    lines += [f"  output {parameter(p)}" for p in schema.outputs]
    lines += [f"  attribute {attribute(a)}" for a in schema.attributes.values()]
    lines += [f"  {name}: {', '.join(types)}" for name, types in schema.type_constraints.items()]
    return "\n".join(lines)


def parameter(p: Parameter) -> str:
    return f"{p.name}: {p.type}" + ("" if p.option == "single" else f" ({p.option})")


def attribute(a: AttributeSchema) -> str:
    tail = " (required)" if a.required else "" if a.default is None else f" = {json.dumps(plain(a.default))}"
    return f"{a.name}: {a.type}{tail}"


def plain(value: Default | None) -> Json:
    """A default value as JSON, strings decoded."""
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return value.decode() if isinstance(value, bytes) else value


def schema_as_json(schema: OpSchema, runs: bool) -> dict[str, Json]:
    return {
        "name": schema.name,
        "since_version": schema.since_version,
        "deprecated": schema.deprecated,
        "runs": runs,
        "inputs": [{"name": p.name, "type": p.type, "option": p.option} for p in schema.inputs],
        "outputs": [{"name": p.name, "type": p.type, "option": p.option} for p in schema.outputs],
        "attributes": [
            {"name": a.name, "type": a.type, "required": a.required, "default": plain(a.default)}
            for a in schema.attributes.values()
        ],
        "type_constraints": {name: list(types) for name, types in schema.type_constraints.items()},
    }
