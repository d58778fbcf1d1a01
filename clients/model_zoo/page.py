"""Writes docs/generated/zoo.md from stored verdicts and times: `PYTHONPATH=clients .venv-zoo/bin/python -m model_zoo.page`.

With `--judge`, all variants of networks without stored verdicts are judged first; with `--bench`, networks without stored
times are measured.  Both resume.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import onnxruntime
import torch

from model_zoo import campaign, timing
from model_zoo.catalogue import NETWORKS
from model_zoo.exports import FOLDER, ROOT
from model_zoo.judge import ROUNDING_FACTOR, Verdict
from model_zoo.registry import Network
from model_zoo.timing import Timing, stored_timings

PAGE = ROOT / "docs" / "generated" / "zoo.md"
HEAD = """# Networks as exporters write them

Written by `clients/model_zoo/page.py`. {count} small networks, exported by torch {torch} with its dynamo exporter and with TorchScript, each at two operator sets, with dynamic sizes and with fixed ones, also as onnxslim and
onnxruntime's optimizer rewrite them and after `sx.optimize`, `sx.convert` and `sx.gradient`. A session runs four sets of sizes forwards and backwards, on one thread and on two, under `engine="native"` and `"auto"`; all results are
compared with the reference engine, which is compared with torch. A variant is right if all of this agrees within the tolerances of `sardonyx compare`, to which that of a gradient adds {factor} times the rounding error of torch's float32 gradient, with
equal bits for both numbers of threads, and without a bailout or a defect.

{complete}{right} of {judged} variants are right; {missing} more could not be exported or rewritten, or torch writes an invalid file. onnxruntime {onnxruntime} does not run, or differs in, {refused} of the {judged}.
"""
COLUMNS = "| network | right | not exported | fallback operations | onnxruntime refuses | dynamo, ms | ratio | TorchScript, ms | ratio |\n|---|---|---|---|---|---|---|---|---|"
NOTE = """Times are medians of the processor time of runs with the sizes of the export, of the dynamic file of each exporter, one thread; the ratio is our time over that of onnxruntime, below 1 where Sardonyx is faster. Fallback operations are those of all variants,
with the number of variants."""
REASON_LENGTH = 160  # characters
SLOWER = """## Slower than onnxruntime

| network | exporter | ratio | reason | slowest kernel |
|---|---|---|---|---|"""
MISSING = """## Not exported

Variants without a valid file, or whose file onnxruntime does not run: what torch, a rewriter, our reference engine or onnxruntime says.

| network | variants | reason |
|---|---|---|"""
# Why a network is slower than on onnxruntime, where no fallback operation explains it.
REASONS: Mapping[str, str] = {
    "dbnet": "convolutions to one channel, and the Sigmoid and Exp after them, fill one lane of a vector",
    "cyclegan": "convolutions to 3 and 4 channels fill as many lanes of a vector of 16",
}


def verdicts_of(network: Network) -> Sequence[Verdict]:
    for every in (True, False):
        if (verdicts := campaign.stored_verdicts(network, every=every)) is not None:
            return verdicts
    return ()


def page() -> str:
    verdicts = {name: verdicts_of(network) for name, network in NETWORKS.items()}
    everything = [verdict for each in verdicts.values() for verdict in each]
    judged = [verdict for verdict in everything if not verdict.missing]
    head = HEAD.format(
        count=len(NETWORKS),
        complete=completeness(),
        torch=torch.__version__.partition("+")[0],
        onnxruntime=onnxruntime.__version__,
        right=sum(not verdict.faults for verdict in judged),
        judged=len(judged),
        missing=len(everything) - len(judged),
        factor=ROUNDING_FACTOR,
        refused=sum(bool(verdict.onnxruntime) for verdict in judged),
    )
    sections = [head]
    for family in sorted({network.family for network in NETWORKS.values()}):
        names = [name for name, network in NETWORKS.items() if network.family == family]
        title = family.replace("_", " ").capitalize()
        rows = "\n".join(row(NETWORKS[name], verdicts[name]) for name in names)
        sections.append(f"## {title}\n\n{COLUMNS}\n{rows}")
    sections[1:1] = [NOTE]
    sections.append("\n".join([MISSING, *missing_rows(verdicts)]))
    slower = "\n".join(slower_rows(verdicts))
    return (
        "\n\n".join([*(text.strip() for text in sections), *([f"{SLOWER}\n{slower}"] if slower else [])])
        + "\n"
    )


def completeness() -> str:
    """A sentence on networks of which all variants are judged, unless those are all networks."""
    count = sum(campaign.stored_verdicts(network, every=True) is not None for network in NETWORKS.values())
    if count == len(NETWORKS):
        return ""
    return (
        f"All variants are judged of {count} networks, and those that `make test-zoo` selects of the others. "
    )


def row(network: Network, verdicts: Sequence[Verdict]) -> str:
    judged = [verdict for verdict in verdicts if not verdict.missing]
    right = sum(not verdict.faults for verdict in judged)
    refused = sum(bool(verdict.onnxruntime) for verdict in judged) or ""
    missing = len(verdicts) - len(judged) or ""
    times = {x.exporter: x for x in valid_timings(network, verdicts)}
    cells = [cell for exporter in timing.TIMED for cell in time_cells(times.get(exporter))]
    columns = [network.name, f"{right}/{len(judged)}", missing, fallbacks(judged), refused, *cells]
    return f"| {' | '.join(map(str, columns))} |"


def fallbacks(verdicts: Sequence[Verdict]) -> str:
    """Operators of fallback operations, with the number of variants that have them."""
    counts = Counter(operator for verdict in verdicts for operator in set(verdict.fallbacks))
    return ", ".join(f"{operator} ({count})" for operator, count in sorted(counts.items()))


def valid_timings(network: Network, verdicts: Sequence[Verdict]) -> list[Timing]:
    """Times of files that torch writes rightly."""
    invalid = {verdict.variant for verdict in verdicts if verdict.missing}
    timings = stored_timings(network)
    return [x for x in timings if f"{x.exporter}-{timing.TIMED[x.exporter]}" not in invalid]


def time_cells(times: Timing | None) -> tuple[str, str]:
    if times is None or math.isnan(times.ratio):
        return "", ""
    return f"{1e3 * times.ours:.3f}", f"{times.ratio:.2f}"


def slower_rows(verdicts: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    for name, network in NETWORKS.items():
        for times in valid_timings(network, verdicts[name]):
            if times.ratio > 1:
                plain = [
                    v for v in verdicts[name] if v.variant.startswith(times.exporter) and "," not in v.variant
                ]
                reason = REASONS.get(name) or fallbacks(plain)
                yield f"| {name} | {times.exporter} | {times.ratio:.2f} | {reason} | {times.slowest} |"


def missing_rows(verdicts: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    for name, each in verdicts.items():
        reasons: dict[str, list[str]] = {}
        for verdict in each:
            if verdict.missing:
                reasons.setdefault(verdict.missing, []).append(verdict.variant)
            elif verdict.onnxruntime:
                reasons.setdefault(f"onnxruntime: {verdict.onnxruntime}", []).append(verdict.variant)
        for reason, variants in reasons.items():
            text = reason.replace(f"{FOLDER}/", "").replace("|", "\\|").replace("<", "&lt;")[:REASON_LENGTH]
            yield f"| {name} | {'; '.join(variants)} | {text} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--judge", action="store_true", help="judge all variants first")
    parser.add_argument("--bench", action="store_true", help="measure times first")
    args = parser.parse_args()
    if args.judge:
        campaign.run(sorted(NETWORKS), every=True)
    if args.bench:
        timing.measure(NETWORKS.values())
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
