"""Check models, operator-set documents and stored data; report every violation with location, rule and suggested fix.

sardonyx check m.onnx
sardonyx check *.onnx --ignore SX0,name-not-identifier --strict
sardonyx check m.onnx --fix -o fixed.onnx
sardonyx check --explain SX110

Exit codes: 0 no errors (with --strict: no warnings either), 1 errors were found, 2 usage error or unreadable file.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from sardonyx._src.check import AppliedFix, Report, check, fix
from sardonyx._src.check.driver.checking import select_codes
from sardonyx._src.check.driver.pages import page
from sardonyx._src.check.driver.report import to_json, to_sarif
from sardonyx._src.check.driver.sources import RECORD_CLASSES
from sardonyx._src.check.engine.api import MAX_LISTED
from sardonyx._src.check.engine.registry import rules
from sardonyx._src.check.fixing.writing import write_document
from sardonyx._src.cli.inputs.models import add_checksums, add_operator_sets, import_plugins, operator_sets
from sardonyx._src.cli.output import streams
from sardonyx._src.cli.output.destinations import (
    MODEL_SUFFIXES,
    add_output,
    create_parent,
    describe,
    is_stream,
    open_stream,
)
from sardonyx._src.cli.output.diagnostics import (
    SEVERITIES,
    count_by_severity,
    format_diagnostic,
    format_fix,
    use_color,
)
from sardonyx._src.cli.output.models import add_model_version
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.cli.output.streams import STANDARD_STREAM
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import DecodeError, InputError, JsonError, LimitError, TextError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.saving.save import encode_as, write_blocks
from sardonyx._src.measure.quantities import pluralize
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.suggestions import did_you_mean

HELP = "check a model against the specification, and fix what can be fixed"


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The result of checking one file.

    applied_fixes: the fixes that --fix applied.
    written: the file that was written, None if none was.
    carried: the data files that were copied.
    """

    name: str
    report: Report
    applied_fixes: Sequence[AppliedFix] = ()
    written: str | None = None
    carried: Sequence[str] = ()


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="*", help="files to check, or - for standard input")
    parser.add_argument(
        "--kind",
        choices=list(RECORD_CLASSES),
        help="kind of document, if neither magic number nor file name identify it",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument("--sarif", action="store_true", help="print the report as SARIF 2.1.0")
    form.add_argument(
        "--full", action="store_true", help=f"list more than {MAX_LISTED} diagnostics of one rule"
    )
    form.add_argument(
        "-q", "--quiet", action="store_true", help="print one line per diagnostic and nothing else"
    )
    for name, what, more in (
        ("select", "report only these rules", "`style` selects habits, as unused initializers"),
        ("ignore", "do not report these rules", "SX348 is the checksum of external data"),
    ):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="RULES",
            help=f"{what}: comma-separated rule codes, code prefixes or names; {more}",
        )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="also report violations of requirements that no reader relies on, and treat warnings as errors in the exit code",
    )
    parser.add_argument("--explain", metavar="RULE", help="print the documentation of a rule and exit")
    parser.add_argument(
        "--fix", action="store_true", help="fix what can be fixed without changing the meaning of the model"
    )
    add_output(
        parser,
        suffixes=(*MODEL_SUFFIXES, ".onnxopset"),
        help="with --fix: write to FILE instead of replacing the input",
    )
    add_model_version(parser)
    parser.add_argument(
        "--dry-run", action="store_true", help="with --fix: report the fixes but write nothing"
    )
    parser.add_argument(
        "--policy",
        choices=[p.value for p in Policy],
        default=Policy.HUB.value,
        help="which links to external data files are followed (%(default)s)",
    )
    add_checksums(parser, "do not hash external data to compare it with the checksums that the model states")
    add_operator_sets(parser)


def run(args: argparse.Namespace) -> int:
    if args.explain is not None:
        return explain(args.explain)
    refuse_wrong_use(args)
    results: list[CheckedFile] = []
    code = 0
    with progress(len(args.model), "checking") as done:
        for name in args.model:
            try:
                results.append(
                    fix_file(name, args) if args.fix else CheckedFile(name, check_file(name, args))
                )
            except OSError as error:
                what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
                sys.stderr.write(f"sardonyx: {streams.printable(what)}\n")
                code = 2
            done()
    fails = SEVERITIES[:2] if args.strict else SEVERITIES[:1]
    code = code or int(any(result.report.of(s) for result in results for s in fails))
    if args.standard_output_taken:
        sys.stderr.writelines(render(results, args))
    else:
        streams.write_out(render(results, args))
    return code


def refuse_wrong_use(args: argparse.Namespace) -> None:
    """Raises InputError for contradictory options and for unknown rules."""
    if not args.model:
        raise InputError(
            "the command must name at least one file; got none; see `sardonyx check --help`", name="model"
        )
    if args.model.count(STANDARD_STREAM) > 1:
        raise InputError("standard input can be checked once; got - twice; name files", name="model")
    for option, is_given in (
        ("--out", args.out is not None),
        ("--dry-run", args.dry_run),
        ("--model-version", args.model_version is not None),
    ):
        if is_given and not args.fix:
            raise InputError(f"{option} requires --fix; add --fix or remove {option}", name=option)
    if args.out is not None and len(args.model) > 1:
        raise InputError(
            f"--out requires a single input; got {len(args.model)}; omit --out to replace each file",
            name="--out",
        )
    if args.fix and args.out is None and not args.dry_run:
        for name in args.model:
            if name == STANDARD_STREAM:
                raise InputError(
                    "--fix of standard input requires --out; got none; name the file to write by --out",
                    name="--fix",
                )
            if os.path.islink(name):
                raise InputError(
                    f"a file to fix in place must not be a symbolic link; got {name}; name the file to write by --out",
                    name="--fix",
                )
    import_plugins(args)
    select_codes(split_rules(args.select), split_rules(args.ignore))


def check_file(name: str, args: argparse.Namespace) -> Report:
    return check(
        streams.standard_input() if name == STANDARD_STREAM else name,
        kind=args.kind,
        select=split_rules(args.select),
        ignore=split_rules(args.ignore),
        strict=args.strict,
        operator_sets=operator_sets(args),
        policy=args.policy,
        verify_checksums=args.verify_checksums,
    )


def fix_file(name: str, args: argparse.Namespace) -> CheckedFile:
    """Fixes a document; writes it if a fix was applied or --out is given.  Undecodable documents are only checked."""
    source: bytes | str | BinaryIO = name
    if name == STANDARD_STREAM:
        source = streams.standard_input().read()
    select, ignore = split_rules(args.select), split_rules(args.ignore)
    sets, policy = operator_sets(args), args.policy
    path: Path | None = None if name == STANDARD_STREAM else Path(name)
    base = path.parent if path is not None else None
    try:
        record, applied_fixes = fix(
            source, kind=args.kind, select=select, ignore=ignore, operator_sets=sets, policy=policy
        )
    except (DecodeError, TextError, JsonError, LimitError):
        report = check(
            source,
            kind=args.kind,
            select=select,
            ignore=ignore,
            strict=args.strict,
            operator_sets=sets,
            policy=policy,
            verify_checksums=args.verify_checksums,
        )
        return CheckedFile(name, report)
    is_versioned = isinstance(record, ModelProto) and args.model_version is not None
    if isinstance(record, ModelProto) and args.model_version is not None:
        record.model_version = args.model_version
    report = check(
        record,
        select=select,
        ignore=ignore,
        strict=args.strict,
        operator_sets=sets,
        policy=policy,
        base=base,
        verify_checksums=args.verify_checksums,
    )
    target = args.out or (name if applied_fixes or is_versioned else None)
    if target is None or args.dry_run:
        return CheckedFile(name, report, applied_fixes)
    if is_stream(target):
        with open_stream(target) as stream:
            write_blocks(stream, encode_as(record, "binary"))
        return CheckedFile(name, report, applied_fixes, describe(target))
    create_parent(target)
    carried = write_document(record, Path(target), path, policy)
    return CheckedFile(name, report, applied_fixes, target, carried)


def split_rules(words: list[str]) -> list[str]:
    return [code for word in words for code in word.replace(",", " ").split()]


def explain(word: str) -> int:
    code = next((c for c in rules() if word.upper() == c or word.lower() == page(c).name), None)
    if code is None:
        near = did_you_mean(word, [*rules(), *(page(c).name for c in rules())])
        what = f"--explain must be a rule code or name, as SX110 or value-defined-twice; got {word!r}{near or ''}"
        raise InputError(what, name="explain")
    streams.write_out([page(code).text()])
    return 0


def render(results: Sequence[CheckedFile], args: argparse.Namespace) -> Iterator[str]:
    """The report, in pieces."""
    pairs = [(result.name, result.report) for result in results]
    if args.json:
        fixed = (
            {result.name: (result.applied_fixes, result.written) for result in results} if args.fix else None
        )
        yield to_json(pairs, fixed) + "\n"
    elif args.sarif:
        from importlib.metadata import version

        yield to_sarif(pairs, version("sardonyx")) + "\n"
    else:
        for result in results:
            yield from (f"{line}\n" for line in lines(result, args))
        if len(results) > 1 and not args.quiet:
            yield f"{len(results)} files: {count_by_severity([result.report for result in results])}\n"


def lines(result: CheckedFile, args: argparse.Namespace) -> Iterator[str]:
    colored = use_color()
    for applied in result.applied_fixes:
        yield format_fix(result.name, applied, colored=colored, done=not args.dry_run)
    most = sys.maxsize if args.full or args.quiet else MAX_LISTED
    for diagnostic in result.report.listed(most):
        yield from format_diagnostic(result.name, diagnostic, colored=colored, quiet=args.quiet)
    if args.quiet:
        return
    for (rule, name), count in result.report.omitted(most).items():
        yield streams.printable(f"{result.name}: {rule} {name}: {count} more; --full lists all")
    for location in result.carried:
        yield streams.printable(f"{result.name}: copied {location} to the directory of {result.written}")
    yield streams.printable(f"{result.name}: {summary(result, args)}")


def summary(result: CheckedFile, args: argparse.Namespace) -> str:
    """The summary line of a file: `fixed 2 issues, written to m.onnx; remaining: 1 error`, or only the counts."""
    remaining = count_by_severity([result.report])
    if not result.applied_fixes:
        return remaining + (f"; written to {result.written}" if result.written else "")
    if args.dry_run:
        return f"{pluralize(len(result.applied_fixes), 'issue')} fixable; remaining: {remaining}"
    return f"fixed {pluralize(len(result.applied_fixes), 'issue')}, written to {result.written}; remaining: {remaining}"
