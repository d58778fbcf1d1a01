"""The faults that campaigns of tools/fuzz found, and the processes and the state files that campaigns depend on."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.proto.binary import encode

SOFTMAX = "g (float[N,3] x) => (float[N,3] y) { t = Neg(x)  y = Softmax <axis = 1> (t) }"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no process is forked")


def test_no_fault_of_the_corpus_returns() -> None:
    from fuzz.fault_corpus import corpus_entries, judge_entry
    from fuzz.workers import judge_cases

    entries = corpus_entries()
    judged = judge_cases(lambda number: judge_entry(entries[number]), range(len(entries)))
    faults = {entries[case.number].name: case.verdict for case in judged if case.verdict.fault}
    assert len(entries) > 20
    assert faults == {}


def test_a_case_that_ends_its_process_is_named_and_the_others_are_judged() -> None:
    from fuzz.verdicts import Verdict
    from fuzz.workers import judge_cases

    def judge(number: int) -> Verdict:
        if number == 3:
            signal.raise_signal(signal.SIGSEGV)
        if number == 5:
            raise ValueError("of the judge")
        return Verdict("fine")

    verdicts = {case.number: case.verdict for case in judge_cases(judge, range(7))}
    assert list(verdicts) == [*range(7)]
    assert (verdicts[3].fault, verdicts[3].signature) == ("signal", "SIGSEGV")
    assert verdicts[5].fault == "error of the generator"
    assert {verdicts[i].outcome for i in (0, 1, 2, 4, 6)} == {"fine"}


def test_time_is_processor_time_of_one_case() -> None:
    from fuzz.verdicts import Verdict
    from fuzz.workers import WorkerLimits, judge_cases

    def judge(number: int) -> Verdict:
        end = time.process_time() + (60.0 if number == 1 else 0.0)
        while time.process_time() < end:
            pass
        return Verdict("fine")

    verdicts = [case.verdict for case in judge_cases(judge, range(3), WorkerLimits(cpu_seconds=1))]
    assert [verdict.fault for verdict in verdicts] == ["", "over the time limit", ""]


def test_a_case_that_waits_for_ever_is_ended() -> None:
    from fuzz.verdicts import Verdict
    from fuzz.workers import WorkerLimits, judge_cases

    if not Path("/proc/self/stat").exists():
        pytest.skip("the state of a process is not known")

    def judge(number: int) -> Verdict:
        time.sleep(600.0 * number)
        return Verdict("fine")

    verdicts = [case.verdict for case in judge_cases(judge, range(2), WorkerLimits(idle_seconds=1.0))]
    assert [verdict.signature for verdict in verdicts] == ["", "waits for ever"]


def test_a_case_that_sleeps_beside_quick_ones_is_not_ended(tmp_path: Path) -> None:
    from fuzz.campaigns import Campaign
    from fuzz.run import run_campaign
    from fuzz.verdicts import Verdict

    def judge(number: int) -> Verdict:
        time.sleep(2.0 if number == 0 else 0.001)  # five hundred verdicts arrive in the meantime
        return Verdict("fine")

    campaign = Campaign("test", "numbers", 2000, lambda: judge, batch=1000)
    state = run_campaign(campaign, tmp_path / "state.json", 2000, jobs=2)
    assert (state.cases, state.faults) == (2000, [])


def test_memory_is_limited() -> None:
    from fuzz.verdicts import Verdict
    from fuzz.workers import judge_cases

    def judge(_: int) -> Verdict:
        return Verdict(str(len(bytearray(8 << 30))))

    if sys.platform == "darwin":
        pytest.skip("address space has no limit")
    (case,) = judge_cases(judge, [0])
    assert case.verdict.signature.startswith("MemoryError")


def test_a_campaign_resumes_where_it_ended(tmp_path: Path) -> None:
    from fuzz.campaigns import Campaign
    from fuzz.run import run_campaign
    from fuzz.verdicts import Verdict

    def judge(number: int) -> Verdict:
        with (tmp_path / "numbers").open("a") as file:
            file.write(f"{number}\n")
        return Verdict(
            "even" if number % 2 == 0 else "fault", *([] if number % 2 == 0 else ["signal", "odd"])
        )

    campaign = Campaign("test", "numbers", 20, lambda: judge, batch=4)
    path = tmp_path / "state.json"
    assert run_campaign(campaign, path, 10, jobs=2).cases == 10
    state = run_campaign(campaign, path, 20, jobs=1)
    assert sorted(map(int, (tmp_path / "numbers").read_text().split())) == [*range(20)]
    assert (state.cases, state.outcomes) == (20, {"even": 10, "fault": 10})
    (fault,) = state.faults
    assert (fault.kind, fault.signature, sorted(fault.numbers)) == ("signal", "odd", [*range(1, 20, 2)])


def test_faults_run_again_after_a_fix(tmp_path: Path) -> None:
    from fuzz.campaigns import Campaign
    from fuzz.run import recheck_faults, run_campaign
    from fuzz.verdicts import SIGNAL, Verdict, fault

    def judge(number: int) -> Verdict:
        return fault(SIGNAL, "large", "") if number > 7 else Verdict("small")

    path = tmp_path / "state.json"
    state = run_campaign(Campaign("test", "numbers", 10, lambda: judge), path, 10, jobs=1)
    assert state.outcomes == {"small": 8, "fault": 2}
    state = recheck_faults(Campaign("test", "numbers", 10, lambda: lambda number: Verdict("small")), path)
    assert (state.cases, state.outcomes, state.faults) == (10, {"small": 10, "fault": 0}, [])


def test_batches_that_were_interrupted_run_again(tmp_path: Path) -> None:
    from fuzz.state import CampaignState

    state = CampaignState("test", next=8, begun=[(2, 4)])
    state.save(tmp_path / "state.json")
    state = CampaignState.load(tmp_path / "state.json", "test")
    batches = [state.take_batch(4, end=10) for _ in range(3)]
    assert batches == [(2, 4), (8, 10), None]


def test_a_mutant_is_a_function_of_its_number() -> None:
    from fuzz.mutant_cases import attribute_mutants, structure_mutants
    from fuzz.seeds import Subject

    subjects = [Subject("softmax", "Softmax", encode(parse_record(SOFTMAX)), {})]
    for mutants in (structure_mutants, attribute_mutants):
        models = [mutants(subjects)(number).model for number in range(60)]
        assert models == [mutants(subjects)(number).model for number in range(60)]
        assert len({*models}) > 10


def test_what_onnxruntime_dies_of_ends_alike_in_both_engines() -> None:
    from fuzz.engines import compare_engines
    from fuzz.known_ends import known_ends
    from fuzz.workers import judge_cases

    ends = known_ends()
    judged = judge_cases(
        lambda number: compare_engines(sx.from_text(ends[number].text), ends[number].feeds), range(len(ends))
    )
    assert {ends[case.number].what: case.verdict for case in judged if case.verdict.fault} == {}
