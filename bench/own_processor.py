"""Are kernels that LLVM compiles for this very processor faster than those that it compiles for a class of processors?

    OPENBLAS_NUM_THREADS=1 python bench/own_processor.py [--only resnet50,unet] [--classes x86-64-v4-bf16] [--rounds 30]

For each network and class, one program gets its kernels three times from the same text: for the class, for the class once more
at other addresses, and with LLVM's name and all features of this processor.  The three programs share weights, and run
in turn, step by step, on one thread.  A step counts with the least processor time of all rounds, since others may load
the machine.  The second column is noise: code that differs in nothing but its address.

Prints for each network how many of its kernels have other code, the gain of its whole time, and of its kernels that take
at least 2 % of the time those with the largest gains.  Gains are shares of the time of the class.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

import sardonyx as sx
from latency import header, line
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm import compiler, jit, loaded_kernels
from sardonyx._src.compile.llvm.host_target import vendor
from sardonyx._src.compile.llvm.loaded_kernels import LoadedKernel
from sardonyx._src.compile.llvm.target_classes import classes_of, target_of
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Kernel, Step
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.interp.run_state import Frame, RandomSource, RunState
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.runs.stepwise_context import StepwiseContext
from zoo.catalogue import ENTRIES
from zoo.packed_decoder import decoder_feeds, decoder_path

DECODER = "decoder_4bit"
ROUNDS = 30
MIN_SHARE = 0.02  # of the time of a network that a listed kernel takes
LISTED = 3  # kernels for each network
LOADED_CODE: list[jit.Library] = []  # which lives as long as the process


class StepClock(StepwiseContext):
    """An execution context that notes the least processor time of each action."""

    def __init__(self, native: NativeProgram) -> None:
        super().__init__(native)
        self.least = [float("inf")] * len(native.program.actions)

    def execute(self, frame: Frame) -> None:
        action, count = 0, len(self.least)
        spent = [0.0] * count
        while action < count:
            index, started = action, time.thread_time()
            action = self.run_action(index, frame)
            spent[index] += time.thread_time() - started
        self.least = [min(pair) for pair in zip(self.least, spent, strict=True)]


@dataclass(frozen=True)
class Gains:
    """The gains of a network: of its whole time, and of its kernels by their keys, each beside its noise."""

    differing: int
    kernels: int
    whole: tuple[float, float]
    each: Mapping[str, tuple[float, float]]


def compile_kernels(kernels: Sequence[Kernel], text: Target, code: Target) -> dict[str, bytes]:
    """The object code of kernels by their keys.  text: the target of their text; code: that of LLVM."""
    return {
        kernel.key: jit.compile_module(kernel.source(loaded_kernels.symbol_name(kernel), text), code)
        for kernel in kernels
    }


def load_program(executable: Executable, codes: Mapping[str, bytes]) -> StepClock:
    """A context of a program with these kernels."""
    names = {kernel.key: loaded_kernels.symbol_name(kernel) for kernel in executable.program.kernels}
    libraries = {key: jit.Library(code, [names[key]]) for key, code in codes.items()}
    LOADED_CODE.extend(libraries.values())
    loaded = {key: LoadedKernel(code, is_from_library=False) for key, code in libraries.items()}
    loaded_kernels.LOADED.update(loaded)
    return StepClock(NativeProgram(executable, threads=1))


def run_in_turn(
    clocks: Sequence[StepClock], feeds: Mapping[str, RuntimeValue], rounds: int
) -> list[dict[str, RuntimeValue]]:
    """Runs all programs in each round, in alternating order; the results are the outputs of the last round."""
    outputs: list[dict[str, RuntimeValue]] = []
    for turn in range(rounds):
        order = clocks if turn % 2 else clocks[::-1]
        with np.errstate(all="ignore"), limit_nesting():
            results = {id(clock): clock.run(feeds, RunState(RunLimits(), RandomSource(0))) for clock in order}
        outputs = [results[id(clock)] for clock in clocks]
    return outputs


def gains_of(
    model: sx.ir.Model, feeds: Mapping[str, RuntimeValue], target: Target, own: Target, rounds: int
) -> Gains:
    executable = compile_model(model, target)
    kernels = list(executable.program.kernels)
    of_class, of_own = compile_kernels(kernels, target, target), compile_kernels(kernels, target, own)
    clocks = [load_program(executable, codes) for codes in (of_class, of_class, of_own)]
    first, *others = run_in_turn(clocks, feeds, rounds)
    for outputs in others:
        for name, value in first.items():
            np.testing.assert_array_equal(cast("object", outputs[name]), value, err_msg=name)
    times = [times_of_kernels(clock) for clock in clocks]
    whole = [sum(time_of.values()) for time_of in times]
    each = {
        key: gains([time_of[key] for time_of in times])
        for key, seconds in times[0].items()
        if seconds >= MIN_SHARE * whole[0]
    }
    differing = sum(of_class[key] != of_own[key] for key in of_class)
    return Gains(differing, len(of_class), gains(whole), each)


def times_of_kernels(clock: StepClock) -> dict[str, float]:
    """The least seconds of all steps of each kernel."""
    times: dict[str, float] = {}
    for action, seconds in zip(clock.native.program.actions, clock.least, strict=True):
        if isinstance(action, Step) and seconds != float("inf"):
            times[action.kernel.key] = times.get(action.kernel.key, 0.0) + seconds
    return times


def gains(seconds: Sequence[float]) -> tuple[float, float]:
    """The gain of this processor's code, and of the class's code at another address."""
    of_class, again, own = seconds
    return 1 - own / of_class, 1 - again / of_class


def own_target(target: Target) -> Target:
    """The target with LLVM's name and all features of this processor."""
    info = compiler.query_host_info()
    return replace(target, cpu=info["cpu"], features=info["features"])


def row(name: str, class_name: str, result: Gains) -> str:
    largest = sorted(result.each.items(), key=lambda item: -item[1][0])[:LISTED]
    kernels = ", ".join(f"`{key.split(chr(10))[0][:60]}` {text_of(gain)}" for key, gain in largest)
    share = f"{result.differing} of {result.kernels}"
    return line(name, class_name, share, text_of(result.whole), kernels)


def text_of(gain: tuple[float, float]) -> str:
    return f"{gain[0]:+.1%} ({gain[1]:+.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    host = jit.host_target()
    features = [name[1:] for name in own_target(host).features.split(",") if name[0] == "+"]
    classes = {target_class.name: target_class for target_class in classes_of(features, vendor())}
    parser.add_argument("--only", default=",".join([*ENTRIES, DECODER]), help="comma-separated networks")
    parser.add_argument("--classes", default=host.class_name, help=f"of {', '.join(classes)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="runs of each program (%(default)s)")
    args = parser.parse_args()
    print(header("network", "class", "kernels with other code", "gain (noise)", "largest gains of kernels"))
    for name in args.only.split(","):
        path = decoder_path() if name == DECODER else ENTRIES[name].path()
        feeds = decoder_feeds() if name == DECODER else ENTRIES[name].feeds()
        for class_name in args.classes.split(","):
            target = target_of(classes[class_name], host.triple, host.compiler, vendor())
            result = gains_of(sx.load(path), feeds, target, own_target(target), args.rounds)
            print(row(name, class_name, result), flush=True)


if __name__ == "__main__":
    main()
