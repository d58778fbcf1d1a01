"""What benchmarks tell of models that others have made, and of lengths that are new."""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.cli.timing import Timed
from test_zoo import measuring


def test_numbers_differ_relative_to_the_largest() -> None:
    off = measuring("shared_models").off
    found, answer = np.array([1.0, 4.0], np.float32), np.array([1.0, 2.0], np.float32)
    assert off([found, answer], [answer, answer]) == 1.0


def test_strings_are_the_same_or_not() -> None:
    off = measuring("shared_models").off
    one, other = np.array([["a"]], object), np.array([["b"]], object)
    assert off([one], [one.copy()]) == 0 and off([one], [other]) == math.inf


def test_maps_differ_by_what_they_map_to() -> None:
    off = measuring("shared_models").off
    assert off([[{"a": 1.0, "b": 3.0}]], [[{"b": 4.0, "a": 1.0}]]) == 0.25
    assert math.isnan(off([[{"a": 1.0}]], [[{"b": 1.0}]]))


def test_a_model_that_an_engine_refuses_says_why() -> None:
    shared = measuring("shared_models")
    case = shared.Case(
        "m", 1, "native", {"sardonyx": Timed("sardonyx", 1, [2.0], 0.0)}, {"onnxruntime": "no"}
    )
    assert math.isnan(case.ratio) and "| no |" in shared.table([case]).splitlines()[-1]


def test_there_is_no_section_without_models() -> None:
    assert measuring("shared_models").section([]) is None


def test_lengths_are_new_each_time() -> None:
    lengths = measuring("lengths")
    entry = measuring("zoo.catalogue").ENTRIES["mlp_1"]
    feeds = list(lengths.Network(entry, {"N": (1, 5)}).drawn(5))
    assert sorted(len(one["features"]) for one in feeds) == [1, 2, 3, 4, 5]


def test_a_run_is_compared_with_the_next() -> None:
    found = measuring("lengths").Found("m", "sardonyx", 1, np.array([[3.0, 2.0, 2.0, 2.0, 1.0, 2.0]]))
    assert [found.ratio(run).tolist() for run in (0, 2, 4)] == [[1.5], [1.0], [0.5]]


def test_the_memory_of_a_start_is_told_with_that_of_its_helpers() -> None:
    starts = measuring("starts")
    begun = starts.Begun(0.0021, 0.01, 0.0121, 30e6, 99e6)
    assert starts.described(starts.COLD, begun) == "2.1 ms, 10 ms, 30 + 99 MB"
    assert starts.described("openvino", begun) == "2.1 ms, 10 ms, 30 MB"
    assert starts.described(starts.KEPT, None) == "fails"
