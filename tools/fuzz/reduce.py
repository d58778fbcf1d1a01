"""Reduce a failing case of a campaign of random graphs: fewer nodes, feeds and sizes that still fail alike.

    python tools/fuzz/reduce.py unkind-graphs 1234 [--script FILE]

Attempts run in processes of their own, since some faults end them.  The result is printed as a script that compares the engines, and
exits with 1 while they differ.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz import paths as paths  # makes the folders below importable
from fuzz.reduction import reduce_runs, verdicts
from fuzz.reduction_script import script_of
from fuzz.unkind_cases import REDUCIBLE


def main(words: argparse.Namespace) -> int:
    campaign = REDUCIBLE[words.campaign]
    runs = reduce_runs(campaign.load(words.case), lambda runs: campaign.judge(runs, words.case))
    (verdict,) = verdicts([runs], lambda runs: campaign.judge(runs, words.case))
    script = script_of(campaign.change(runs), f"{verdict.signature}: {verdict.detail}")
    print(script) if words.script is None else words.script.write_text(script, encoding="utf-8")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("campaign", choices=REDUCIBLE)
    parser.add_argument("case", type=int, help="the number of a case")
    parser.add_argument(
        "--script", type=Path, metavar="FILE", help="where to write the script (default: standard output)"
    )
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)
    sys.exit(main(parser.parse_args()))
