"""Run a campaign of numbered cases in processes with limits, or show what became of the campaigns so far.

    python tools/fuzz/run.py bytes --state FOLDER [--cases N] [--jobs 1]
    python tools/fuzz/run.py structure --state FOLDER --case 1234
    python tools/fuzz/run.py report --state FOLDER
    python tools/fuzz/run.py page --state FOLDER

A campaign resumes where the last run with this folder ended, and may be interrupted at any time; --cases is the number at
which it ends.  Case i is the same in every run over the same sources; --case runs it alone.
--recheck replaces the verdicts on cases that were faults by those of the present sources.  `page` writes
docs/generated/fuzzing.md from the states of the folder.
"""

from __future__ import annotations

import argparse
import signal
import sys
from multiprocessing.connection import Connection, wait
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz.campaigns import CAMPAIGNS, Campaign, prepare
from fuzz.page import write_page
from fuzz.state import CampaignState, digest_sources
from fuzz.workers import POLL_SECONDS, Judge, Worker, judge_cases


def run_campaign(campaign: Campaign, path: Path, end: int, jobs: int) -> CampaignState:
    """Runs the cases below `end` that have not run, and records them in the state file."""
    state, source = CampaignState.load(path, campaign.name), digest_sources()
    judge = prepare(campaign)
    workers: list[Worker] = []
    try:
        while True:
            start_workers(campaign, judge, state, workers, (end, jobs))
            if not workers:
                return state
            connections = [worker.connection or worker.start() for worker in workers]
            ready = wait(connections, POLL_SECONDS)
            for worker, connection in zip([*workers], connections, strict=True):
                receive_all(worker, connection, state, source, is_ready=connection in ready)
                if not worker.remaining:
                    workers.remove(worker)
                    save(state, workers, path)
    finally:
        for worker in workers:
            worker.kill()
        save(state, workers, path)


def start_workers(
    campaign: Campaign, judge: Judge, state: CampaignState, workers: list[Worker], bounds: tuple[int, int]
) -> None:
    end, jobs = bounds
    while len(workers) < jobs:
        batch = state.take_batch(campaign.batch, end)
        if batch is None:
            return
        workers.append(Worker(judge, range(*batch), campaign.limits))


def receive_all(
    worker: Worker, connection: Connection, state: CampaignState, source: str, *, is_ready: bool
) -> None:
    """Records what a worker has sent so far."""
    while True:
        judged = worker.receive(0.0)
        if judged is None:
            return
        state.record(judged, source)
        if judged.verdict.fault:
            verdict = judged.verdict
            print(f"{judged.number}: {verdict.fault}: {verdict.signature}: {verdict.detail}", flush=True)
        if not worker.remaining or worker.connection is not connection:
            return


def save(state: CampaignState, workers: list[Worker], path: Path) -> None:
    """Writes the state; what workers still have to do is listed as begun."""
    rest = [(worker.remaining[0], worker.remaining[-1] + 1) for worker in workers if worker.remaining]
    unstarted = list(state.begun)
    state.begun = [*unstarted, *rest]
    state.save(path)
    state.begun = unstarted


def recheck_faults(campaign: Campaign, path: Path) -> CampaignState:
    """Runs the cases of faults again, after a fix, and records what becomes of them now."""
    state, source = CampaignState.load(path, campaign.name), digest_sources()
    for judged in judge_cases(prepare(campaign), state.forget_faults(), campaign.limits):
        state.record(judged, source)
    state.save(path)
    return state


def run_case(campaign: Campaign, number: int) -> int:
    for judged in judge_cases(prepare(campaign), [number], campaign.limits):
        verdict = judged.verdict
        print(f"{judged.number}: {verdict.outcome}, {judged.seconds:.3f} s", verdict.fault, verdict.signature)
        print(verdict.detail)
        return 1 if verdict.fault else 0
    return 1


def print_report(folder: Path) -> None:
    for name in CAMPAIGNS:
        if not (folder / f"{name}.json").exists():
            continue
        state = CampaignState.load(folder / f"{name}.json", name)
        print(f"{name}: {state.cases} cases, {1e3 * state.seconds / max(state.cases, 1):.1f} ms each")
        print("  ", ", ".join(f"{count} {outcome}" for outcome, count in sorted(state.outcomes.items())))
        print("  ", "slowest:", ", ".join(f"{seconds} s ({number})" for seconds, number in state.slowest))
        for entry in sorted(state.faults, key=lambda e: -e.count):
            print(f"   {entry.count} {entry.kind}: {entry.signature} {entry.numbers}\n      {entry.detail}")


def main(words: argparse.Namespace) -> int:
    if words.campaign in ("report", "page"):
        (print_report if words.campaign == "report" else write_page)(words.state)
        return 0
    campaign = CAMPAIGNS[words.campaign]
    if words.case is not None:
        return run_case(campaign, words.case)
    path = words.state / f"{campaign.name}.json"
    if words.recheck:
        return 1 if recheck_faults(campaign, path).faults else 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    end = (
        min(words.cases or campaign.goal, campaign.goal)
        if campaign.name == "extremes"
        else words.cases or campaign.goal
    )
    state = run_campaign(campaign, path, end, words.jobs)
    return 1 if state.faults else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("campaign", choices=[*CAMPAIGNS, "report", "page"])
    parser.add_argument("--state", type=Path, required=True, help="the folder of the state files")
    parser.add_argument("--cases", type=int, help="the number of cases at which the campaign ends")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time (%(default)s)")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--recheck", action="store_true", help="run the cases of faults again, after a fix")
    sys.exit(main(parser.parse_args()))
