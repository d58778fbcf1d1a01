"""Convert a model to other versions of its operator sets or of the IR, newer or older.

sardonyx convert m.onnx --opset 21 -o newer.onnx
sardonyx convert m.onnx --opset 13 --domain ai.onnx.ml=3 --ir-version 8 -o older.onnx

Without -o nothing is written, and the report shows whether the conversion is possible.

Exit codes: 0 converted, 1 some nodes cannot be expressed in the target version (--partial converts the others and
lists these), 2 usage error.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence

from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.output.destinations import report_to
from sardonyx._src.cli.output.models import add_json, add_out, set_model_version, write_model
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.convert.partial_conversion import convert_partially
from sardonyx._src.errors import ConversionError, InputError
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.schema import canonical

HELP = "convert a model to other operator-set or IR versions"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--opset", type=int, metavar="N", help="target version of ai.onnx")
    parser.add_argument(
        "--domain",
        action="append",
        default=[],
        metavar="NAME=N",
        help="target version of another operator set; may be repeated",
    )
    parser.add_argument(
        "--ir-version", metavar="N", help="target IR version; `auto` selects the lowest that the model allows"
    )
    parser.add_argument(
        "--partial", action="store_true", help="convert what can be converted, and list the nodes that cannot"
    )
    add_out(parser, "the converted model", required=False)
    add_json(parser, "the report")


def run(args: argparse.Namespace) -> int:
    sets = parse_opset_targets(args)
    ir_version = parse_ir_version(args.ir_version)
    if not sets and ir_version is None:
        raise InputError(
            "the command must have a target version; got none; add --opset, --domain or --ir-version",
            name="opset",
        )
    model = load_model(args)
    conversion = convert_partially(model, sets=sets, ir_version=ir_version)
    result, refused = set_model_version(conversion.model, args), conversion.errors
    if args.json:
        sys.stdout.write(json.dumps(report(model, result, refused), indent=1) + "\n")
    else:
        print_report(model, result, refused, args)
    if args.out is not None and (args.partial or not refused):
        write_model(result, args)
    return 1 if refused else 0


def parse_opset_targets(args: argparse.Namespace) -> dict[str, int]:
    sets = {} if args.opset is None else {"": args.opset}
    for word in args.domain:
        name, _, version = word.rpartition("=")
        if not name or not version.isdecimal():
            raise InputError(f"--domain must be NAME=N, as in ai.onnx.ml=3; got {word!r}", name="domain")
        domain = canonical(name)
        if sets.setdefault(domain, int(version)) != int(version):
            raise InputError(
                f"{name} must have one target version; got {sets[domain]} and {version}", name="domain"
            )
    return sets


def parse_ir_version(word: str | None) -> int | str | None:
    if word is None or word == "auto":
        return word
    if not word.isdecimal():
        raise InputError(f"--ir-version must be a number or `auto`; got {word!r}", name="ir_version")
    return int(word)


def report(model: Model, result: Model, refused: Sequence[ConversionError]) -> Mapping[str, object]:
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
    model: Model, result: Model, refused: Sequence[ConversionError], args: argparse.Namespace
) -> None:
    for error in refused:
        sys.stderr.write(f"sardonyx: {args.model}: {printable(str(error))}\n")
    if refused and not args.partial:
        sys.stderr.write("sardonyx: nothing was written; use --partial to convert the other nodes\n")
        return
    before, after = (", ".join(f"{k} {v}" for k, v in versions(m).items()) for m in (model, result))
    change = f"{pluralize(count(model), 'node')} -> {pluralize(count(result), 'node')}"
    report_to(args, f"{before} -> {after}; {change}\n")
