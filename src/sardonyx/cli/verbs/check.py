"""Check models, operator-set documents and stored data: every fault, with its place, its clause and its cure.

Exit codes: 0 no error (with --strict: no warning either), 1 faults were found, 2 the command was used wrongly.
"""

from __future__ import annotations

import argparse
import sys

from sardonyx.check import Report, check
from sardonyx.check.api import Severity
from sardonyx.check.pages import page, rules
from sardonyx.check.report import to_json, to_sarif
from sardonyx.check.sources import KINDS
from sardonyx.errors import InputError
from sardonyx.io.external import Policy

HELP = "report every fault of a model"
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")
COLOURS = {"error": "bold red", "warning": "yellow", "info": "cyan"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="*", help="files to check, or - for standard input")
    parser.add_argument(
        "--kind", choices=list(KINDS), help="what the files hold, where neither magic nor name tell"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the report as JSON")
    form.add_argument("--sarif", action="store_true", help="print the report as SARIF 2.1.0")
    for name, what in (("select", "report only"), ("ignore", "leave out")):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="RULES",
            help=f"{what} these codes or names, by commas",
        )
    parser.add_argument("--strict", action="store_true", help="warnings fail, too")
    parser.add_argument("--explain", metavar="RULE", help="print the page of a rule and leave")
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
    if not args.model:
        raise InputError("no model is named; `sardonyx check --help` says more", name="model")
    checked = [(name, checked_one(name, args)) for name in args.model]
    if args.json:
        sys.stdout.write(to_json(checked) + "\n")
    elif args.sarif:
        from importlib.metadata import version

        sys.stdout.write(to_sarif(checked, version("sardonyx")) + "\n")
    else:
        for name, report in checked:
            print_report(name, report)
    fails = SEVERITIES[:2] if args.strict else SEVERITIES[:1]
    return int(any(report.of(s) for _, report in checked for s in fails))


def checked_one(name: str, args: argparse.Namespace) -> Report:
    try:
        return check(
            sys.stdin.buffer if name == "-" else name,
            kind=args.kind,
            select=listed(args.select),
            ignore=listed(args.ignore),
            operator_sets=args.operator_set,
            policy=args.policy,
        )
    except ValueError as error:  # a word that means no rule
        raise InputError(str(error), name="select") from None


def listed(words: list[str]) -> list[str]:
    return [one for word in words for one in word.replace(",", " ").split()]


def explain(word: str) -> int:
    code = next((c for c in rules() if word.upper() == c or word == page(c).name), None)
    if code is None:
        raise InputError(
            f"there is no rule {word!r}; rules are named like SX110 or value-defined-twice", name="explain"
        )
    sys.stdout.write(page(code).text())
    return 0


def print_report(name: str, report: Report) -> None:
    """One line a fault and one for its cure; colour only on a terminal."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for one in report.diagnostics:
        place = f"{name}: {one.location}: " if one.location else f"{name}: "
        severity = (one.severity, COLOURS[one.severity])
        console.print(Text.assemble(place, severity, f": {one.rule} {one.name}: {one.message}"))
        console.print(Text(f"    help: {one.help}", style="dim"))
    console.print(Text(f"{name}: {counted(report)}"))


def counted(report: Report) -> str:
    counts = [(len(report.of(s)), s) for s in SEVERITIES]
    found = [f"{n} {'note' if s == 'info' else s}{'s' * (n > 1)}" for n, s in counts if n]
    return ", ".join(found) if found else "no fault found"
