"""Compares Sardonyx with the installed development release of onnx: what is new, missing or different.

    PYTHONPATH=tools:tests python -m onnx_weekly.compare [--write]

Exit status 1 if anything is missing or differs.  With `--write`, the signatures of versions under development are taken over, and
all texts are noted as read.
"""

from __future__ import annotations

import sys

import onnx

from onnx_weekly import cases, signatures
from sardonyx._src.schema import domains, latest, newest

COMPARISONS = {
    "releases": signatures.compare_releases,
    "messages": signatures.compare_messages,
    "operators": signatures.compare_operators,
    "texts": signatures.compare_texts,
    "cases": cases.compare_cases,
}


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        signatures.write()
        return 0
    ahead = [
        f"{domain or 'ai.onnx'} {newest(domain)}" for domain in domains() if newest(domain) > latest(domain)
    ]
    print(f"onnx {onnx.__version__}; under development: {', '.join(ahead) or 'nothing'}")
    for name, reason in cases.CORRECTED.items():
        print(f"corrected: {name}: {reason}")
    count = 0
    for title, compare in COMPARISONS.items():
        for line in compare():
            count += 1
            print(f"{title}: {line}", flush=True)
    print(f"{count} differences")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
