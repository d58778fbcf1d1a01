"""Repeat a certified run, and compare the bits of its outputs with the certificate.

sardonyx run m.onnx inputs.npz --certificate certificate.json
sardonyx verify certificate.json m.onnx inputs.npz
sardonyx verify certificate.json m.onnx inputs.npz --threads 1 --json

The model is known by its content, so that it may be in other files, and inputs by their values.  Of an output that differs,
the certificate has at most 256 elements, which show by how much.

Exit codes: 0 all outputs have the certified bits, 1 an output differs or the run fails, 2 the certificate is damaged, or about
another model, other inputs or another version of Sardonyx.
"""

from __future__ import annotations

import argparse
import json
import sys

from sardonyx._src.cli.inputs.arguments import parse_positive
from sardonyx._src.cli.inputs.limits import add_limits, read_limits
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.inputs.run_inputs import add_inputs, read_inputs, refuse_unused_dims
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.random_inputs import sizes_reported
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.measure.certificates.certificate import load_certificate
from sardonyx._src.measure.certificates.verify import verify
from sardonyx._src.measure.feeds import ports_of

HELP = "verify the certificate of a run"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("certificate", help="the file that `sardonyx run --certificate` wrote")
    add_model(parser)
    add_inputs(parser)
    parser.add_argument(
        "--threads", metavar="N", help="number of threads, which does not change results (all cores)"
    )
    parser.add_argument(
        "--any-version",
        action="store_true",
        help="verify a certificate of another version of Sardonyx, whose results may differ by rounding",
    )
    add_json(parser, "the verification")
    add_limits(parser)


def run(args: argparse.Namespace) -> int:
    refuse_unused_dims(args)
    threads = None if args.threads is None else parse_positive(args.threads, "--threads")
    certificate = load_certificate(args.certificate)
    model = load_model(args)
    feeds, random = read_inputs(args, ports_of(model), model)
    with progress(1, "verifying", sessions=True, is_quiet=args.json), sizes_reported(random):
        result = verify(
            certificate,
            model,
            feeds,
            any_version=args.any_version,
            threads=threads,
            limits=read_limits(args),
        )
    text = json.dumps(result.as_json(), indent=1) if args.json else "\n".join(map(printable, result.lines()))
    sys.stdout.write(f"{text}\n")
    return 0 if result.ok else 1
