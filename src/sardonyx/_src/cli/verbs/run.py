"""Run a model on inputs from files or literals, or on random inputs, and print or save the outputs.

sardonyx run m.onnx x=input.npy y='[1, 2]'
sardonyx run m.onnx inputs.npz -o outputs.npz
sardonyx run m.onnx test_data_set_0
sardonyx run m.onnx --random 0 --dim N=4
sardonyx run m.onnx x=input.npy --shapes strict
sardonyx run m.onnx x=input.npy --limit-seconds 10 --limit-run-bytes 2G
sardonyx run m.onnx x=input.npy --verify
sardonyx run m.onnx x=input.npy --digest
sardonyx run m.onnx x=input.npy --certificate certificate.json
sardonyx run m.onnx --show steps
sardonyx run m.sdx x=input.npy
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sardonyx._src.cli.inputs.arguments import parse_dims
from sardonyx._src.cli.inputs.limits import add_limits, read_limits
from sardonyx._src.cli.inputs.models import add_model, load_model
from sardonyx._src.cli.inputs.precision import add_precision
from sardonyx._src.cli.inputs.run_inputs import add_inputs, read_inputs, refuse_unused_dims
from sardonyx._src.cli.output import results
from sardonyx._src.cli.output.destinations import add_output, report_to, report_written, write_file
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.random_inputs import sizes_reported
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.errors import CompilerWarning, InputError, ShapeWarning
from sardonyx._src.ir import Model, Type
from sardonyx._src.measure.certificates.certify import DEFAULT_SEED, certificate_of
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.declarations.shape_policy import SHAPE_POLICIES
from sardonyx._src.runtime.programs.stats import SessionStats
from sardonyx._src.runtime.session.session import ENGINES, Session
from sardonyx._src.suggestions import suggest

HELP = "run a model"
SHOW_STAGES = (
    "regions",
    "layouts",
    "steps",
    "loops",
    "plan",
    "kernels",
    "llvm",
)  # the stages that `print_stage` accepts


def arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_inputs(parser, " and --show")
    parser.add_argument(
        "--output", action="append", metavar="NAME", help="compute only this output; may be repeated"
    )
    add_output(
        parser,
        suffixes=results.SUFFIXES,
        folders=True,
        metavar="PATH",
        help="save the outputs to a .npz, .npy, .json or .pb file, or to a folder of .pb files; as .npz",
    )
    parser.add_argument("--engine", default="auto", choices=ENGINES, help="the engine to use (%(default)s)")
    parser.add_argument(
        "--shapes",
        default="inputs",
        choices=SHAPE_POLICIES,
        help="if sizes differ from those that the model declares: refuse inputs and warn of other values, refuse all values, "
        "as the first but only warn of inputs that disagree about a dimension variable, or compare only types and ranks "
        "(%(default)s)",
    )
    parser.add_argument(
        "--show",
        choices=SHOW_STAGES,
        help="do not run, but print a stage of native compilation: the regions (what is fused), their layouts with the "
        "copies between them, the steps with their arguments, the loop nests of their kernels, the memory plan, "
        "the kernels, or their LLVM IR",
    )
    add_precision(parser)
    parser.add_argument(
        "--verify",
        action="store_true",
        help="also run the reference engine for the first run, and report the first wrong node and kernel if the outputs differ "
        "by more than rounding: try this if a result looks wrong",
    )
    parser.add_argument(
        "--digest",
        action="store_true",
        help="print the SHA-256 of the bits of the outputs instead of their elements; with --json also that of each output",
    )
    add_output(
        parser,
        "--certificate",
        suffixes=(".json",),
        help="write the certificate of the run, which `sardonyx verify` verifies on any machine, to FILE",
    )
    parser.add_argument(
        "--seed",
        type=int,
        help="seed for random operators that have no seed attribute (with --certificate: 0)",
    )
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run N times and report latency")
    add_json(parser, "the outputs")
    add_limits(parser)


def run(args: argparse.Namespace) -> int:
    if args.show:
        from sardonyx._src.cli.output.stages import (
            print_stage,  # lazy: other engines do not need the compiler
        )

        print_stage(args.show, load_model(args), parse_dims(args.dim), args.precision)
        return 0
    refuse_unused_dims(args, "--random or --show")
    if args.repeat < 1:
        raise InputError(f"--repeat must be >= 1; got {args.repeat}", name="--repeat")
    source = args.model if args.model.endswith(".sdx") else load_model(args)
    seed = certified_seed(args, source) if args.certificate is not None else args.seed
    with (
        progress(1, "opening the model", sessions=True, is_quiet=args.json),
        warnings_printed(CompilerWarning),
    ):
        session = Session(
            source,
            engine=args.engine,
            seed=seed,
            shapes=args.shapes,
            limits=read_limits(args),
            precision=args.precision,
            verify="first" if args.verify else "off",
        )
    refuse_unknown(args.output or (), [port.name for port in session.outputs])
    feeds, random = read_inputs(args, session.inputs, None if isinstance(source, str) else source)
    with (
        progress(args.repeat) as advance,
        warnings_printed(CompilerWarning, ShapeWarning),
        sizes_reported(random),
    ):
        outputs, seconds = run_repeatedly(session, feeds, args.output, args.repeat, advance)
    if args.certificate is not None:
        assert isinstance(source, Model) and seed is not None, "certified_seed refuses programs"
        certificate = certificate_of(source, session, feeds, outputs, seed, args.shapes)
        write_file(args.certificate, certificate.save)
    report(outputs, seconds, args, {port.name: port.type for port in session.outputs})
    report_bailouts(session)
    if args.verify:
        sys.stderr.write(printable(describe_verification(session.stats)) + "\n")
    return 0


@contextmanager
def warnings_printed(*categories: type[Warning]) -> Iterator[None]:
    """Prints each warning of these categories as a line on standard error, at the end of the `with` block."""
    with warnings.catch_warnings(record=True) as caught:
        for category in categories:
            warnings.simplefilter("always", category)
        try:
            yield
        finally:
            for entry in caught:
                sys.stderr.write(printable(f"warning: {entry.message}") + "\n")


def report_bailouts(session: Session) -> None:
    """Prints the guards of the compiled program that failed in the runs, on standard error."""
    for guard, count in session.stats.bailouts.items():
        sys.stderr.write(printable(f"{count} of {session.stats.runs} runs failed a guard: {guard}") + "\n")


def describe_verification(stats: SessionStats) -> str:
    """The result of the verification of a run, in words."""
    if not stats.verified_runs:
        return "nothing was verified: the reference engine itself computed the outputs"
    error = f"largest error {stats.largest_error:.2g} of the largest element"
    if stats.amplified_runs:
        return (
            f"verified: every step is right for its inputs, but the model amplifies rounding errors; {error}"
        )
    return f"verified: the outputs are those of the reference engine within the tolerances; {error}"


def certified_seed(args: argparse.Namespace, source: Model | str) -> int:
    """The seed of a certified run; raises InputError for a run that has no certificate."""
    if not isinstance(source, Model):
        what = f"--certificate requires the model; got {source}, a compiled program without it"
        raise InputError(what, name="--certificate")
    if args.repeat != 1:
        raise InputError("--certificate is about one run; omit --repeat", name="--certificate")
    return DEFAULT_SEED if args.seed is None else int(args.seed)


def refuse_unknown(requested: Sequence[str], names: Sequence[str]) -> None:
    for name in requested:
        if name not in names:
            hint = suggest(name, names, "outputs")
            raise InputError(f"--output must be an output of the model; got {name!r}{hint}", name=name)


def run_repeatedly(
    session: Session,
    feeds: Mapping[str, object],
    outputs_requested: Sequence[str] | None,
    repeat: int,
    advance: Callable[[], None],
) -> tuple[dict[str, RuntimeValue], list[float]]:
    """The outputs of the last run, and the duration of each run in seconds."""
    seconds: list[float] = []
    outputs: dict[str, RuntimeValue] = {}
    for _ in range(repeat):
        start = time.perf_counter()
        outputs = session.run(feeds, outputs_requested)
        seconds.append(time.perf_counter() - start)
        advance()
    return outputs, seconds


def report(
    outputs: Mapping[str, RuntimeValue],
    seconds: Sequence[float],
    args: argparse.Namespace,
    types: Mapping[str, Type | None],
) -> None:
    if args.out is not None:
        results.save(outputs, args.out, types)
    if args.digest:
        report_to(args, results.digest_text(outputs, is_json=args.json))
    elif args.json:
        sys.stdout.write(results.json_text(outputs))
    elif args.out is None:
        for name, value in outputs.items():
            report_to(args, results.format_result(name, value) + "\n")
    if args.out is not None or args.certificate is not None:
        report_written(args, *(path for path in (args.out, args.certificate) if path is not None))
    if args.repeat > 1:
        median = statistics.median(seconds) * 1e3
        low, high = min(seconds) * 1e3, max(seconds) * 1e3
        sys.stderr.write(f"{args.repeat} runs: median {median:.3f} ms ({low:.3f} to {high:.3f})\n")
