"""Report what this machine is and reaches, and what is unusual about it, with what to do.

sardonyx doctor
sardonyx doctor --again
sardonyx doctor --json

Rates are measured once, in less than 300 ms, and kept beside the cache for this processor, its microcode, its class and its
quota, unless other processes are busy; `--again` measures anew.

Exit codes: 0 the native engine works, 1 it does not.
"""

from __future__ import annotations

import argparse
import json
import sys

from sardonyx._src.cli.output.machine import machine_text
from sardonyx._src.cli.output.models import add_json
from sardonyx._src.cli.output.progress import progress
from sardonyx._src.measure.machine.report import doctor

HELP = "report what this machine is and reaches, and what is unusual"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--again", action="store_true", help="measure even if there is a stored result")
    add_json(parser, "the report")


def run(args: argparse.Namespace) -> int:
    with progress(1, "measuring", sessions=True, is_quiet=args.json):
        report = doctor(again=args.again)
    sys.stdout.write(json.dumps(report.as_json(), indent=1) + "\n" if args.json else machine_text(report))
    return 0 if report.ok else 1
