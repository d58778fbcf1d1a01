"""Check models, operator-set documents and stored data: every fault, with its place, its clause and its cure.

sardonyx check m.onnx
sardonyx check *.onnx --ignore SX0,name-not-identifier --strict
sardonyx check m.onnx --fix -o mended.onnx
sardonyx check --explain SX110

Exit codes: 0 no error (with --strict: no warning either), 1 faults were found, 2 the command was used wrongly.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from sardonyx._src.check import Mend, Report, check, fix
from sardonyx._src.check.checking import selected
from sardonyx._src.check.names import did_you_mean
from sardonyx._src.check.pages import page, rules
from sardonyx._src.check.report import to_json, to_sarif
from sardonyx._src.check.sources import KINDS
from sardonyx._src.check.writing import write_document
from sardonyx._src.cli import streams
from sardonyx._src.cli.faults import SEVERITIES, counted, fault_lines, is_coloured, mend_line, number
from sardonyx._src.cli.progress import progress
from sardonyx._src.errors import DecodeError, InputError, JsonError, LimitError, TextError
from sardonyx._src.io.external import Policy
from sardonyx._src.io.save import encoded, write_blocks

HELP = "report every fault of a model, and mend what can be mended"
STANDARD = "-"  # standard input, and of --out standard output


@dataclass(frozen=True, slots=True)
class Checked:
    """A file with its faults; and with --fix what was mended, the file that was written, and the data files beside it."""

    name: str
    report: Report
    mends: Sequence[Mend] = ()
    written: str | None = None
    carried: Sequence[str] = ()


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="*", help="files to check, or - for standard input")
    parser.add_argument(
        "--kind", choices=list(KINDS), help="what the files hold, where neither magic nor name tell"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument("--sarif", action="store_true", help="print the report as SARIF 2.1.0")
    form.add_argument("-q", "--quiet", action="store_true", help="print a line a fault, and nothing else")
    for name, what in (("select", "report only"), ("ignore", "leave out")):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="RULES",
            help=f"{what} these codes, beginnings of codes, names, or style (rules on habits), by commas",
        )
    parser.add_argument("--strict", action="store_true", help="warnings fail, too")
    parser.add_argument("--explain", metavar="RULE", help="print the page of a rule and leave")
    parser.add_argument(
        "--fix", action="store_true", help="mend what can be mended without changing what the model means"
    )
    parser.add_argument(
        "-o", "--out", metavar="FILE", help="with --fix: write to this file instead, or - for standard output"
    )
    parser.add_argument("--dry-run", action="store_true", help="with --fix: write nothing")
    parser.add_argument(
        "--policy",
        choices=[p.value for p in Policy],
        default=Policy.HUB.value,
        help="links that external data may lie behind",
    )
    parser.add_argument(
        "--operator-set",
        action="append",
        default=[],
        metavar="FILE",
        help="a document that declares operators",
    )


def run(args: argparse.Namespace) -> int:
    if args.explain is not None:
        return explain(args.explain)
    refuse_wrong_use(args)
    results: list[Checked] = []
    code = 0
    with progress(len(args.model), "checking") as done:
        for name in args.model:
            try:
                results.append(mended_one(name, args) if args.fix else Checked(name, checked_one(name, args)))
            except OSError as error:
                what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
                sys.stderr.write(f"sardonyx: {streams.printable(what)}\n")
                code = 2
            done()
    fails = SEVERITIES[:2] if args.strict else SEVERITIES[:1]
    code = code or int(any(one.report.of(s) for one in results for s in fails))
    if args.out == STANDARD:
        sys.stderr.writelines(printed(results, args))
    else:
        streams.write_out(printed(results, args))
    return code


def refuse_wrong_use(args: argparse.Namespace) -> None:
    """Raises InputError for options that contradict one another, and for words that mean no rule."""
    if not args.model:
        raise InputError("no model is named; `sardonyx check --help` says more", name="model")
    for option, given in (("--out", args.out is not None), ("--dry-run", args.dry_run)):
        if given and not args.fix:
            raise InputError(f"{option} goes with --fix", name=option)
    if args.out == STANDARD and (args.json or args.sarif):
        raise InputError("--out - and a report would both go to standard output; name a file", name="--out")
    if args.out is not None and len(args.model) > 1:
        raise InputError("--out takes one model; without it each file is replaced", name="--out")
    if args.fix and args.out is None and not args.dry_run:
        for name in args.model:
            if name == STANDARD:
                raise InputError(
                    "what comes from standard input is mended into a file; name it by --out", name="--fix"
                )
            if os.path.islink(name):
                raise InputError(
                    f"{name} is a link, which --fix does not replace; name a file by --out", name="--fix"
                )
    try:
        selected(listed(args.select), listed(args.ignore))
    except ValueError as error:
        raise InputError(str(error), name="select") from None


def checked_one(name: str, args: argparse.Namespace) -> Report:
    return check(
        streams.standard_input() if name == STANDARD else name,
        kind=args.kind,
        select=listed(args.select),
        ignore=listed(args.ignore),
        operator_sets=args.operator_set,
        policy=args.policy,
    )


def mended_one(name: str, args: argparse.Namespace) -> Checked:
    """Mends a document, and writes it where something was done or --out names a file; what does not decode is left."""
    source: bytes | str | BinaryIO = name
    if name == STANDARD:
        source = streams.standard_input().read()
    select, ignore = listed(args.select), listed(args.ignore)
    sets, policy = args.operator_set, args.policy
    given: Path | None = None if name == STANDARD else Path(name)
    base = given.parent if given is not None else None
    try:
        record, mends = fix(
            source, kind=args.kind, select=select, ignore=ignore, operator_sets=sets, policy=policy
        )
    except (DecodeError, TextError, JsonError, LimitError):
        report = check(
            source, kind=args.kind, select=select, ignore=ignore, operator_sets=sets, policy=policy
        )
        return Checked(name, report)
    report = check(record, select=select, ignore=ignore, operator_sets=sets, policy=policy, base=base)
    target = args.out or (name if mends else None)
    if target is None or args.dry_run:
        return Checked(name, report, mends)
    if target == STANDARD:
        write_blocks(sys.stdout.buffer, encoded(record, "binary"))
        return Checked(name, report, mends, "standard output")
    try:
        carried = write_document(record, Path(target), given, policy)
    except ValueError as error:  # a suffix that stands for a format that is not written
        raise InputError(str(error), name="--out") from None
    return Checked(name, report, mends, target, carried)


def listed(words: list[str]) -> list[str]:
    return [one for word in words for one in word.replace(",", " ").split()]


def explain(word: str) -> int:
    code = next((c for c in rules() if word.upper() == c or word.lower() == page(c).name), None)
    if code is None:
        near = did_you_mean(word, [*rules(), *(page(c).name for c in rules())])
        what = f"there is no rule {word!r}{near or '; rules are named like SX110 or value-defined-twice'}"
        raise InputError(what, name="explain")
    streams.write_out([page(code).text()])
    return 0


def printed(results: Sequence[Checked], args: argparse.Namespace) -> Iterator[str]:
    """What goes to standard output, in pieces."""
    pairs = [(one.name, one.report) for one in results]
    if args.json:
        mended = {one.name: (one.mends, one.written) for one in results} if args.fix else None
        yield to_json(pairs, mended) + "\n"
    elif args.sarif:
        from importlib.metadata import version

        yield to_sarif(pairs, version("sardonyx")) + "\n"
    else:
        for one in results:
            yield from (f"{line}\n" for line in lines(one, args))
        if len(results) > 1 and not args.quiet:
            yield f"{len(results)} files: {counted([one.report for one in results])}\n"


def lines(one: Checked, args: argparse.Namespace) -> Iterator[str]:
    coloured = is_coloured()
    for mend in one.mends:
        yield mend_line(one.name, mend, coloured=coloured, done=not args.dry_run)
    for fault in one.report.diagnostics:
        yield from fault_lines(one.name, fault, coloured=coloured, quiet=args.quiet)
    if args.quiet:
        return
    for location in one.carried:
        yield streams.printable(f"{one.name}: {location} was copied beside {one.written}")
    yield streams.printable(f"{one.name}: {summary(one, args)}")


def summary(one: Checked, args: argparse.Namespace) -> str:
    """`mended 2 faults in m.onnx; left are 1 error`, or the count alone."""
    left = counted([one.report])
    if not one.mends:
        return left + (f"; written to {one.written}" if one.written else "")
    if args.dry_run:
        return f"{number(len(one.mends), 'fault')} can be mended; then {left}"
    return f"mended {number(len(one.mends), 'fault')}, written to {one.written}; then {left}"
