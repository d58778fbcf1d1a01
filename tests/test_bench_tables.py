"""Benchmark reports: differences of outputs, and tables of shared models, new lengths and starts."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.measure.timing import EngineTiming
from test_zoo import import_benchmark


def test_numbers_differ_relative_to_the_largest() -> None:
    max_difference = import_benchmark("shared_models").max_difference
    outputs, expected = np.array([1.0, 4.0], np.float32), np.array([1.0, 2.0], np.float32)
    assert max_difference([outputs, expected], [expected, expected]) == 1.0


def test_strings_are_the_same_or_not() -> None:
    max_difference = import_benchmark("shared_models").max_difference
    first, second = np.array([["a"]], object), np.array([["b"]], object)
    assert max_difference([first], [first.copy()]) == 0 and max_difference([first], [second]) == math.inf


def test_maps_differ_by_what_they_map_to() -> None:
    max_difference = import_benchmark("shared_models").max_difference
    assert max_difference([[{"a": 1.0, "b": 3.0}]], [[{"b": 4.0, "a": 1.0}]]) == 0.25
    assert math.isnan(max_difference([[{"a": 1.0}]], [[{"b": 1.0}]]))


def test_the_reason_why_an_engine_rejects_a_model_is_in_the_table() -> None:
    shared = import_benchmark("shared_models")
    case = shared.Case(
        "m", 1, "native", {"sardonyx": EngineTiming("sardonyx", 1, [2.0], 0.0)}, {"onnxruntime": "no"}
    )
    assert math.isnan(case.ratio) and "| no |" in shared.table([case]).splitlines()[-1]


def test_the_shortest_runs_are_compared_on_a_busy_machine() -> None:
    latency, shared = import_benchmark("latency"), import_benchmark("shared_models")
    timed = {
        "sardonyx": EngineTiming("sardonyx", 1, [9.0, 2.0, 8.0], 0.0),
        "onnxruntime": EngineTiming("onnxruntime", 1, [4.0, 4.0, 4.0], 0.0),
    }
    method = latency.Method(least=True)
    cases = [latency.Case("m", 1, timed, m) for m in (latency.MEDIANS, method)]
    assert [case.ratio for case in cases] == [0.5, 2.0]
    shared_case = shared.Case("m", 1, "native", timed, {}, method)
    assert shared_case.ratio == 2.0 and "| 2e+03 |" in shared.table([shared_case]).splitlines()[-1]
    for section in (latency.section(cases[1:], method=method), shared.section([shared_case], method)):
        assert section.startswith(latency.BUSY_NOTE)
    assert latency.BUSY_NOTE not in latency.section(cases[:1])


def test_limits_of_networks_and_of_shared_models_are_two_tables() -> None:
    limits = import_benchmark("limits")
    row = limits.Limits("m", operations=0.003, reads=0.001, ours=0.005, peer=0.006)
    text = limits.join_tables([[row], [row], []])
    assert text.count("| model |") == 2
    assert text.splitlines()[2] == "| m | 4 | 25% | 5 | 80% | 6 | 1.20 | 1.50 |"


def test_there_is_no_section_without_models() -> None:
    assert import_benchmark("shared_models").section([]) is None


def test_lengths_are_new_each_time() -> None:
    lengths = import_benchmark("lengths")
    entry = import_benchmark("zoo.catalogue").ENTRIES["mlp_1"]
    feeds = list(lengths.Network(entry, {"N": (1, 5)}).draw_feeds(5))
    assert sorted(len(feed["features"]) for feed in feeds) == [1, 2, 3, 4, 5]


def test_a_run_is_compared_with_the_next() -> None:
    timings = import_benchmark("lengths").LengthTimings(
        "m", "sardonyx", 1, np.array([[3.0, 2.0, 2.0, 2.0, 1.0, 2.0]])
    )
    assert [timings.ratio(run).tolist() for run in (0, 2, 4)] == [[1.5], [1.0], [0.5]]


def test_the_memory_of_compile_workers_follows_that_of_the_engine() -> None:
    starts = import_benchmark("starts")
    cost = starts.StartCost(0.0021, 0.01, 0.0121, 30e6, 99e6)
    assert starts.cost_text(starts.COLD, cost) == "2.1 ms, 10 ms, 30 + 99 MB"
    assert starts.cost_text("openvino", cost) == "2.1 ms, 10 ms, 30 MB"
    assert starts.cost_text(starts.KEPT, None) == "fails"


def test_a_sweep_changes_a_field_for_the_duration_of_its_block() -> None:
    sweeps = import_benchmark("tuning_fields")
    for field, key in (("k_block", None), ("min_unrolled_fmas", None), ("tile_rows", 1)):
        sweep = sweeps.Sweep("gemm", field, (), {}, key)
        before = sweep.value
        with sweep.set_value(before + 1):
            assert sweep.value == before + 1
        assert sweep.value == before


def test_every_sweep_varies_a_field_of_the_tables() -> None:
    sweeps = list(import_benchmark("tuning_sweeps").sweeps())
    assert len({sweep.name for sweep in sweeps}) == len(sweeps)
    for sweep in sweeps:
        assert len({*sweep.values, sweep.value}) > 1, sweep.name
        with sweep.set_value(sweep.values[0]):
            assert sweep.value == sweep.values[0]


def test_the_page_lists_the_choices_that_are_slower_than_the_best() -> None:
    tuning = import_benchmark("tuning")
    slow = tuning.Result("gemm.k_block", "2x2", "1", "2", 1.0, {"1": 1.0, "2": 0.8})
    fast = tuning.Result("gemm.unit_rows", "2x2", "1", "", 1.0, {"1": 1.0, "2": 0.99})
    page = tuning.page({"x86-64-v3": [slow, fast]})
    assert "| x86-64-v3 | tables | 2 | 13.0% | 25.0% | gemm.k_block = 1 for 2x2 (25.0%; best: 2) |" in page
    assert "| x86-64-v3 | model | 1 | 0.0% | 0.0% | none |" in page
    row = "| gemm.k_block | 2x2 | x86-64-v3 | 1 | 2 | 2 | 1e+03 ms | **25.0%** | 0.0% | 1: 1.00, 2: 0.80 |"
    assert row in page.partition("## Other fields")[0]
    row = "| gemm.unit_rows | 2x2 | x86-64-v3 | 1 |  | 2 | 1e+03 ms | 1.0% |  | 1: 1.00, 2: 0.99 |"
    assert row in page.partition("## Other fields")[2]


def test_a_choice_that_is_slower_is_measured_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second time it is slower by less: 1 / 0.98."""
    cases = import_benchmark("tuning_cases")
    times = iter([{"1": [3.0, 1.0], "2": [0.9, 3.0]}, {"1": [1.0, 3.0], "2": [3.0, 0.98]}])
    rounds = []

    def measure(runs: dict[str, object], count: int, *, cold: bool) -> dict[str, list[float]]:
        rounds.append((sorted(runs), count, cold))
        return next(times)

    monkeypatch.setattr(cases, "measure_in_turn", measure)
    runs = {"1": print, "2": print}
    result = cases.Method(rounds=5, least=True).measure(("f", "s"), "1", "2", runs, cold=False)
    assert rounds == [(["1", "2"], 5, False), (["1", "2"], 10, False)]
    assert (result.seconds, result.ratios) == (1.0, {"1": 1.0, "2": 0.98})


def test_the_analytical_model_of_tiles_and_caches() -> None:
    """32 registers: 4 x 6 accumulators, 4 of the panel, 1 of A; 16: 3 x 4 + 3 + 1.  A cache of 8 ways with 2 of them in use."""
    model = import_benchmark("tuning_model")
    wide, narrow = (replace(host_target(), registers=n) for n in (32, 16))
    assert [model.tile_rows(vectors, wide) for vectors in (4, 3, 2, 1)] == [6, 9, 10, 10]
    assert [model.tile_rows(vectors, narrow) for vectors in (3, 2, 1)] == [4, 6, 10]
    assert model.Cache(1 << 20, 8).rows(1024, resident=(1 << 17) + 1) == 5 * 128
    assert model.Cache(1 << 20, 8).rows(1024, resident=1 << 20) == 0
    assert (model.nearest((2, 4, 8), 5.6), model.nearest((2, 4, 8), 5.7), model.nearest((2, 4), 0)) == (
        4,
        8,
        2,
    )
    assert (model.at_least((2, 4, 8), 2.1), model.at_least((2, 4), 9)) == (4, 4)
    assert model.count("0-3,8,10-11") == 7


def test_limits_are_relative_to_our_time_and_to_the_faster_peer() -> None:
    limits = import_benchmark("limits")
    rows = limits.table([limits.Limits("m", operations=3e-3, reads=1e-3, ours=8e-3, peer=10e-3)]).splitlines()
    assert rows[-1] == "| m | 4 | 25% | 8 | 50% | 10 | 1.25 | 2.50 |"


def test_measured_cases_are_kept_for_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_benchmark("measured_cases")
    calls: list[int] = []

    def measure() -> dict[str, object]:
        calls.append(1)
        return {"seconds": 0.5}

    path = tmp_path / "folder/cases.jsonl"
    for _ in range(2):
        assert module.MeasuredCases(path).measure(("trees", 1), measure) == {"seconds": 0.5}
    assert len(calls) == 1
    module.MeasuredCases(path).measure(("trees", 2), measure)
    monkeypatch.setattr(module, "commit", lambda: "another")
    module.MeasuredCases(path).measure(("trees", 1), measure)
    module.MeasuredCases().measure(("trees", 1), measure)
    assert len(calls) == 4


def test_exported_cases_are_read_back(tmp_path: Path) -> None:
    exported, module = import_benchmark("exported"), import_benchmark("measured_cases")
    timing = EngineTiming("sardonyx", 1, [2.0, 3.0], math.inf)
    case = exported.Case("m", 1, 0, {"sardonyx": timing}, {"onnxruntime": "no"})
    for _ in range(2):
        cases = module.MeasuredCases(tmp_path / "cases.jsonl")
        assert exported.case_of(cases.measure(("m",), lambda: asdict(case))) == case


def test_the_cost_of_equal_bits_is_the_time_that_they_add() -> None:
    bits, cases = import_benchmark("equal_bits"), import_benchmark("tuning_cases")
    name = "blocks of 512 terms of a product"
    slower = cases.Result(name, "2x2", "equal", "", 2e-3, {"equal": 1.0, "own": 0.8})
    same = cases.Result(name, "3x3", "equal", "", math.nan, {"equal": 1.0})
    field = cases.Result("gemm.k_block", "2x2", "512", "", 1e-3, {"512": 1.0, "1024": 0.9})
    assert [bits.cost(result) for result in (slower, same, field)] == pytest.approx([0.25, 0, 1 / 0.9 - 1])
    page = bits.page({"x86-64-v3": [slower, same, field]}).splitlines()
    assert f"| {name} | one sum over all terms | 2x2 | x86-64-v3 | 2 ms | +25.0% |" in page
    assert f"| {name} | one sum over all terms | 3x3 | x86-64-v3 |  | none: the same kernel |" in page
    assert "| gemm.k_block | 1024 instead of 512 | 2x2 | x86-64-v3 | 1 ms | +11.1% |" in page
    assert f"| {name} | +12.5% |" in page


def test_classes_are_compared_with_the_faster_peer() -> None:
    classes, cases = import_benchmark("classes"), import_benchmark("class_cases")
    first = cases.ClassRow("networks", "m", {"sardonyx": 2.0, "onnxruntime": 4.0, "openvino": 3.0})
    second = cases.ClassRow("networks", "n", {"sardonyx": 2.0, "onnxruntime": 1.0})
    alone = cases.ClassRow("networks", "o", {"sardonyx": 2.0})
    result = classes.ClassResult("x86-64-v3", [first, second, alone], {"p": 0.89, "q": 0.9})
    assert [classes.row_ratio(row) for row in (first, second)] == [1.5, 0.5]
    assert math.isnan(classes.row_ratio(alone))
    summary = "| x86-64-v3 | networks | 3 | 0.87 | n (0.50) | 1.50 | none |"
    assert summary in classes.summary_table([result]).splitlines()
    row = "| n | x86-64-v3 | 2e+03 | 1e+03 | fails | 0.50 |  |"
    assert row in classes.family_table("networks", [result]).splitlines()
    assert classes.share_table([result]).splitlines()[2:] == ["| p | **89%** |", "| q | 90% |"]


def test_engines_with_other_outputs_are_in_no_row_of_a_class() -> None:
    cases, latency = import_benchmark("class_cases"), import_benchmark("latency")
    timed = {
        "sardonyx": EngineTiming("sardonyx", 1, [2.0], 0.0),
        "openvino": EngineTiming("openvino", 1, [0.1], math.nan),
    }
    row = cases.row_of("networks", latency.Case("m", 1, timed, latency.MEDIANS))
    assert row.seconds == {"sardonyx": 2.0}
