"""Write a model under other versions of its operator sets, upwards or downwards.

sardonyx convert m.onnx --opset 21 -o newer.onnx
sardonyx convert m.onnx --opset 13 --domain ai.onnx.ml=3 --ir-version 8 -o older.onnx

Without -o nothing is written: the report says whether it could be done.  Exit codes: 0 converted, 1 something cannot be
expressed there (with --partial the rest is converted, and what stayed is listed), 2 the command was used wrongly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from sardonyx._src.cli.sources import add_model, load_model
from sardonyx._src.cli.streams import printable
from sardonyx._src.convert.converter import convert
from sardonyx._src.errors import ConversionError, InputError
from sardonyx._src.io.save import save
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.walk import nodes, roots

HELP = "change the versions of operator sets and IR"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--opset", type=int, metavar="N", help="the version of ai.onnx")
    parser.add_argument(
        "--domain", action="append", default=[], metavar="NAME=N", help="the version of another operator set"
    )
    parser.add_argument(
        "--ir-version", metavar="N", help="the IR version; `auto` is the lowest that what is used allows"
    )
    parser.add_argument("--partial", action="store_true", help="convert what can be, and list what stayed")
    parser.add_argument("-o", "--out", type=Path, help="write the converted model to this file")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")


def run(args: argparse.Namespace) -> int:
    sets = wanted_sets(args)
    ir_version = wanted_ir(args.ir_version)
    if not sets and ir_version is None:
        raise InputError("nothing is asked for: name --opset, --domain or --ir-version", name="opset")
    model = load_model(args)
    refused: list[ConversionError] = []
    result = convert(model, sets=sets, ir_version=ir_version, errors=refused)
    if args.out is not None and (args.partial or not refused):
        save(result, args.out)
    if args.json:
        sys.stdout.write(json.dumps(report(model, result, refused), indent=1) + "\n")
    else:
        print_report(model, result, refused, args)
    return 1 if refused else 0


def wanted_sets(args: argparse.Namespace) -> dict[str, int]:
    sets = {} if args.opset is None else {"": args.opset}
    for word in args.domain:
        name, _, version = word.rpartition("=")
        if not name or not version.isdecimal():
            raise InputError(f"{word!r} is not NAME=N, as ai.onnx.ml=3", name="domain")
        domain = "" if name == "ai.onnx" else name
        if sets.setdefault(domain, int(version)) != int(version):
            raise InputError(f"{name} is asked for in versions {sets[domain]} and {version}", name="domain")
    return sets


def wanted_ir(word: str | None) -> int | str | None:
    if word is None or word == "auto":
        return word
    if not word.isdecimal():
        raise InputError(f"{word!r} is no IR version; a number or `auto` is", name="ir_version")
    return int(word)


def report(model: Model, result: Model, refused: list[ConversionError]) -> Mapping[str, object]:
    return {
        "from": versions(model),
        "to": versions(result),
        "nodes": {"before": count(model), "after": count(result)},
        "stayed": [
            {
                "location": e.location,
                "domain": e.domain,
                "op_type": e.op_type,
                "version": e.version,
                "target": e.target,
                "why": e.why,
            }
            for e in refused
        ],
    }


def versions(model: Model) -> dict[str, int]:
    return {"ir_version": model.ir_version} | {k or "ai.onnx": v for k, v in model.opset_imports.items()}


def count(model: Model) -> int:
    return sum(1 for root in roots(model) for _ in nodes(root))


def print_report(
    model: Model, result: Model, refused: list[ConversionError], args: argparse.Namespace
) -> None:
    for error in refused:
        sys.stderr.write(f"sardonyx: {args.model}: {printable(str(error))}\n")
    if refused and not args.partial:
        sys.stderr.write("sardonyx: nothing is written; --partial converts the rest\n")
        return
    before, after = (", ".join(f"{k} {v}" for k, v in versions(m).items()) for m in (model, result))
    sys.stdout.write(f"{before} -> {after}; {count(model)} nodes -> {count(result)}\n")
    if args.out is not None:
        sys.stdout.write(f"written: {args.out}\n")
