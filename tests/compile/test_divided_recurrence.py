"""Recurrent layers whose time steps are divided among threads: equal to the undivided ones to the bit, for any number of threads."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from compile.test_recurrent_forms import FixedLayer, Layer, assert_native, states
from sardonyx._src.compile.kernels.tuning import RecurrenceTuning
from sardonyx._src.compile.program import Step
from sardonyx._src.ir import Array
from sardonyx._src.runtime.runs.native_program import compile_for_host

KINDS = {
    "LSTM": ("LSTM", {}),
    "GRU": ("GRU", {"linear_before_reset": "1"}),
    "reset GRU": ("GRU", {"linear_before_reset": "0"}),
    "RNN": ("RNN", {}),
}  # operator and attributes
KERNEL = "recurrence_time"  # of the steps that count time steps
EACH_KIND = pytest.mark.parametrize(("kind", "attributes"), KINDS.values(), ids=KINDS)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers of any size are divided."""
    monkeypatch.setattr(RecurrenceTuning, "min_divided_bytes", 0)
    monkeypatch.setattr(RecurrenceTuning, "cached_bytes", 0)


def is_divided(layer: Layer) -> bool:
    actions = compile_for_host(layer.model()).program.actions
    return any(isinstance(action, Step) and action.kernel.key == KERNEL for action in actions)


@EACH_KIND
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("dtype", ["float", "double", "float16"])
@pytest.mark.parametrize("fed", [False, True])
@pytest.mark.usefixtures("always")
def test_forms(
    kind: str, attributes: dict[str, str], direction: str, layout: int, dtype: str, fed: bool
) -> None:
    layer = Layer(kind, direction, 21, 2, 3, layout, dtype, ("B", *states(kind)), attributes, fed)
    assert is_divided(layer)
    others = [replace(layer, length=t, batch=b).feeds() for t, b in [(1, 1), (0, 2), (8, 5), (2, 0)]]
    assert_native(layer, *others)


@pytest.mark.parametrize("hidden", [1, 64, 70, 133])
@pytest.mark.parametrize("batch", [1, 6])
@pytest.mark.usefixtures("always")
def test_sizes_of_groups(hidden: int, batch: int) -> None:
    layer = Layer("LSTM", "bidirectional", hidden, batch, outputs=(0, 1, 2))
    assert is_divided(layer)
    assert_native(layer)


@pytest.mark.parametrize("input_forget", ["0", "1"])
@pytest.mark.usefixtures("always")
def test_peepholes_coupled_gates_and_clip(input_forget: str) -> None:
    layer = Layer(
        "LSTM", "bidirectional", 19, operands=("B", "initial_h", "initial_c", "P"), outputs=(0, 1, 2)
    )
    layer = replace(layer, attributes={"input_forget": input_forget, "clip": "0.25"})
    assert is_divided(layer)
    assert_native(layer)


@EACH_KIND
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("lengths", [(4, 0, 2, 1), (0, 0, 0, 0), (1, 2, 4, 4)])
@pytest.mark.usefixtures("always")
def test_lengths(
    kind: str, attributes: dict[str, str], direction: str, dtype: str, lengths: tuple[int, ...]
) -> None:
    operands = ("B", "sequence_lens", *states(kind))
    layer = Layer(
        kind, direction, 70, 4, dtype=dtype, operands=operands, attributes=attributes, lengths=lengths
    )
    assert is_divided(layer)
    shorter = replace(layer, length=2, batch=3, lengths=(2, 0, 1))
    assert_native(layer, shorter.feeds(), replace(layer, length=0, lengths=(0, 0, 0, 0)).feeds())


@EACH_KIND
@pytest.mark.parametrize("lengths", [(5, 1, 1), (-1, 2, 2)])
@pytest.mark.usefixtures("always")
def test_lengths_beyond_the_sequence_are_refused(
    kind: str, attributes: dict[str, str], lengths: tuple[int, ...]
) -> None:
    layer = Layer(kind, operands=("B", "sequence_lens"), attributes=attributes)
    assert is_divided(layer)
    session = sx.Session(layer.model(), engine="native", threads=2)
    with pytest.raises(sx.EvaluationError, match=r"sequence_lens must lie in \[0, 4\]"):
        session.run(replace(layer, lengths=lengths).feeds())


@pytest.mark.parametrize(
    ("hidden", "direction", "batch", "divided"),
    [(128, "forward", 1, False), (192, "forward", 1, True), (192, "forward", 8, False),
     (192, "bidirectional", 1, False), (320, "bidirectional", 8, True)],
)  # fmt: skip
def test_large_weights_are_divided(hidden: int, direction: str, batch: int, divided: bool) -> None:
    layer = FixedLayer("LSTM", direction, hidden, batch, fed=False)
    assert is_divided(layer) == divided


@EACH_KIND
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("lengths", [None, (6, 3)])
def test_bits_do_not_depend_on_threads_or_division(
    kind: str,
    attributes: dict[str, str],
    threads: int,
    lengths: tuple[int, ...] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operands = ("B", *(("sequence_lens",) if lengths else ()))
    layer = Layer(
        kind,
        "reverse",
        300,
        2,
        6,
        operands=operands,
        attributes=attributes,
        fed=False,
        lengths=lengths or (6,),
    )
    feeds = {name: array for name, array in layer.feeds().items() if name in ("X", "sequence_lens")}
    monkeypatch.setattr(RecurrenceTuning, "cached_bytes", 1 << 40)
    whole = sx.Session(layer.model(), engine="native", threads=1).run(feeds)
    monkeypatch.setattr(RecurrenceTuning, "cached_bytes", 0)
    model = layer.model()
    model.producer_name = "divided"  # sessions of equal models share a program
    assert is_divided(layer)
    divided = sx.Session(model, engine="native", threads=threads)
    for _ in range(20):
        for name, result in divided.run(feeds).items():
            assert np.asarray(result).tobytes() == np.asarray(whole[name]).tobytes()


@pytest.mark.usefixtures("always")
def test_runs_of_several_threads_at_once() -> None:
    """One of them has the workers; the others go on alone."""
    layer = Layer("LSTM", "forward", 192, 1, 30, fed=False)
    session, alone = (sx.Session(layer.model(), engine="native", threads=n) for n in (2, 1))
    feeds = {"X": layer.feeds()["X"]}
    expected = np.asarray(alone.run(feeds)["y0"])
    results: list[Array] = []

    def run() -> None:
        results.extend(np.asarray(session.run(feeds)["y0"]) for _ in range(10))

    callers = [threading.Thread(target=run) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert {result.tobytes() for result in results} == {expected.tobytes()} and len(results) == 40


def test_a_long_sequence_ends_at_its_deadline() -> None:
    layer = Layer("LSTM", "forward", 512, 1, 20_000, fed=False)
    session = sx.Session(layer.model(), engine="native", threads=2)
    feeds = {"X": layer.feeds()["X"]}
    with pytest.raises(sx.LimitError):
        session.run(feeds, timeout=0.05)
    short = {"X": feeds["X"][:5]}
    first, second = (np.asarray(session.run(short)["y0"]) for _ in range(2))
    assert first.tobytes() == second.tobytes()
