"""How long do prompts and tokens of language models take, and how much memory, compared with other engines?

    LLAMA_CPP=FOLDER PEERS_PYTHON=PYTHON python bench/decoding.py [--quick] [--sizes "0.1;0.3"] [--weights "4 bits"] [--out PAGE]

LLAMA_CPP is the folder of the libraries in the npm package @node-llama-cpp/linux-x64 (`npm pack` it, `bins/linux-x64`),
PEERS_PYTHON the interpreter of an environment with onnxruntime-genai and openvino.  A tool that is not there is left out.

The decoders have the shapes of small Llamas and drawn weights, in ONNX as onnxruntime-genai's builder writes them and in GGUF;
llama.cpp has no blocks of 128, so its blocks have 32.  Weights in bfloat16 are cast to float32 by the model; Sardonyx has
`precision="bf16"` for them, which rounds rows as llama.cpp does.  Each measurement is a process of its own, tools in turn: it
opens the model, reads each prompt, and generates 32 tokens after it, each the most probable one.  Sardonyx is `sx.Generator`,
onnxruntime a loop that feeds caches back, OpenVINO the model with its caches as states.  Memory is the peak of the process
up to the tokens after the prompt of 128.  The bars: a token at most 1.05 of llama.cpp's time and 0.75 of onnxruntime's, a
prompt at most 0.6 of both, and memory at most llama.cpp's.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from language.read_rate import read_rates
from language.shapes import POSITIONS, SHAPES, WEIGHTS, gguf_path, onnx_folder, weight_bytes
from measure import FOLDER, stamp

PAGE = FOLDER.parent / "docs" / "generated" / "decoding.md"
OURS, LLAMA, RUNTIME = "Sardonyx", "llama.cpp", "onnxruntime"
MODULES = {
    OURS: "tool_sardonyx",
    LLAMA: "tool_llama_cpp",
    RUNTIME: "tool_onnxruntime",
    "onnxruntime-genai": "tool_genai",
    "OpenVINO": "tool_openvino",
}
PROMPTS: tuple[int, ...] = (16, 128, 1024)
LONG, TOKENS, TURNS, SECONDS = 4000, 32, 3, 3600
Sample = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A decoder and a number of threads; the samples of each tool.

    is_processor: whether times are those of the processor, and the least ones.
    """

    size: str
    weights: str
    threads: int
    samples: dict[str, list[Sample]]
    prompts: tuple[int, ...] = PROMPTS
    is_processor: bool = False

    def value(self, tool: str, prompt: int, key: str) -> float:
        """The median over the processes of a tool, or the least processor time; NaN if it has none."""
        is_least = self.is_processor and key != "peak"
        name = f"{key}_processor" if is_least else key
        samples: list[float] = [s["prompts"][str(prompt)][name] for s in self.samples.get(tool, [])]
        if not samples:
            return math.nan
        return min(samples) if is_least else statistics.median(samples)


def prompts_of(size: str, weights: str) -> tuple[int, ...]:
    """The lengths of prompts; contexts up to 4,096 where they take no hours."""
    return (*PROMPTS, LONG) if weights == "4 bits" and size != "1.1" else PROMPTS


def interpreter_of(tool: str) -> str:
    return sys.executable if tool in (OURS, LLAMA, RUNTIME) else os.environ.get("PEERS_PYTHON", "")


def facts_of(case: Case, tool: str) -> dict[str, object]:
    is_llama = tool == LLAMA
    path = gguf_path(case.size, case.weights) if is_llama else onnx_folder(case.size, case.weights)
    return {
        "tool": MODULES[tool],
        "path": str(path),
        "threads": case.threads,
        "prompts": case.prompts,
        "tokens": TOKENS,
        "context": POSITIONS,
        "libraries": os.environ.get("LLAMA_CPP", ""),
        "options": {"precision": "bf16"} if case.weights == "bfloat16" else {},
    }


def run_tool(case: Case, tool: str) -> Sample | None:
    """A fresh process; None if the tool is not there or fails, which a line says."""
    if not interpreter_of(tool) or (tool == LLAMA and "LLAMA_CPP" not in os.environ):
        print(f"{tool} is left out: set {'LLAMA_CPP' if tool == LLAMA else 'PEERS_PYTHON'}", flush=True)
        return None
    command = [
        interpreter_of(tool),
        str(FOLDER / "language" / "run_tool.py"),
        json.dumps(facts_of(case, tool)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    if done.returncode:
        why = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        print(f"{tool} is left out: {why}", flush=True)
        return None
    sample: Sample = json.loads(done.stdout.splitlines()[-1])
    return sample


def measure(case: Case, turns: int) -> Case:
    """Runs the tools in turn; the first run of Sardonyx fills its cache of kernels."""
    run_tool(case, OURS)
    tools = list(MODULES)
    for _ in range(turns):
        for tool in list(tools):
            sample = run_tool(case, tool)
            if sample is None:
                tools.remove(tool)
                continue
            case.samples.setdefault(tool, []).append(sample)
    for tool in case.samples:
        times = ", ".join(
            f"{p}: {case.value(tool, p, 'prompt'):.3f} s, {case.value(tool, p, 'token') * 1e3:.1f} ms"
            for p in case.prompts
        )
        print(f"{case.size}, {case.weights}, {case.threads} threads, {tool}: {times}", flush=True)
    return case


# --- the page ---------------------------------------------------------------------------------


def table(heads: Sequence[str], rows: Iterator[list[str]]) -> list[str]:
    return [
        "| " + " | ".join(heads) + " |",
        "|" + "---|" * len(heads),
        *("| " + " | ".join(r) + " |" for r in rows),
    ]


def number(value: float, digits: int) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def ratio(ours: float, other: float, bar: float) -> str:
    """Our time over another one, in bold where it misses the bar."""
    text = number(ours / other, 2)
    return f"**{text}**" if ours / other > bar else text


def times_table(cases: Sequence[Case], key: str, bars: tuple[float, float]) -> list[str]:
    """A line for each case and prompt: times in milliseconds, and ratios to llama.cpp and onnxruntime."""

    def rows() -> Iterator[list[str]]:
        for case in cases:
            for prompt in case.prompts:
                values = {tool: case.value(tool, prompt, key) * 1e3 for tool in MODULES}
                digits = 2 if values[OURS] < 10 else 1 if values[OURS] < 100 else 0
                ratios = [
                    ratio(values[OURS], values[t], bar) for t, bar in zip((LLAMA, RUNTIME), bars, strict=True)
                ]
                cells = [number(value, digits) for value in values.values()]
                yield [case.size, case.weights, str(case.threads), str(prompt), *cells, *ratios]

    heads = ["billion", "weights", "threads", "prompt", *MODULES, "of llama.cpp's", "of onnxruntime's"]
    return table(heads, rows())


def memory_table(cases: Sequence[Case]) -> list[str]:
    """Megabytes at the peak, seconds to open, the rate at which a token reads weights, and equal tokens."""

    def rows() -> Iterator[list[str]]:
        for case in cases:
            peaks = {tool: case.value(tool, 128, "peak") / 1e6 for tool in MODULES}
            opened = [
                statistics.median(s["opened"] for s in case.samples[t])
                for t in (OURS, LLAMA)
                if t in case.samples
            ]
            rate = weight_bytes(case.size, case.weights) / case.value(OURS, 16, "token") / 1e9
            yield [
                *(case.size, case.weights, str(case.threads)),
                *(number(peak, 0) for peak in peaks.values()),
                ratio(peaks[OURS], peaks[LLAMA], 1.0),
                " / ".join(f"{seconds:.2f}" for seconds in opened),
                f"{rate:.1f}",
                equal_tokens(case),
            ]

    heads = [
        *("billion", "weights", "threads", *MODULES, "of llama.cpp's"),
        *("opens, s: Sardonyx / llama.cpp", "weights, GB/s", "tokens as onnxruntime"),
    ]
    return table(heads, rows())


def equal_tokens(case: Case) -> str:
    """How many of the tokens after the prompt of 128 are those of onnxruntime, until the first that differs."""
    if RUNTIME not in case.samples:
        return ""
    ours, other = (case.samples[tool][0]["prompts"]["128"]["tokens"] for tool in (OURS, RUNTIME))
    same = next((i for i, (a, b) in enumerate(zip(ours, other, strict=True)) if a != b), len(ours))
    return "equal" if same == len(ours) else f"the first {same}"


def page(cases: Sequence[Case], rates: Callable[[int], float]) -> str:
    title, _, rest = (__doc__ or "").partition("\n\n")
    description = rest.split("\n\n", 1)[1].strip()
    reading = f"Memory is read at {rates(1):.1f} GB/s by one thread and {rates(2):.1f} GB/s by two."
    parts = [
        [
            "# Language models",
            "",
            f"Written by `bench/decoding.py`. {title}",
            "",
            description,
            "",
            stamp(),
            reading,
        ],
        ["", "## A token after a prompt, in milliseconds", "", *times_table(cases, "token", (1.05, 0.75))],
        ["", "## A prompt, in milliseconds", "", *times_table(cases, "prompt", (0.6, 0.6))],
        ["", "## Peaks of memory, in megabytes", "", *memory_table(cases)],
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default=";".join(SHAPES), help="separated by semicolons (%(default)s)")
    parser.add_argument("--weights", default=";".join(WEIGHTS), help="separated by semicolons (%(default)s)")
    parser.add_argument("--threads", default="1;2")
    parser.add_argument("--prompts", default="", help="lengths, 128 among them; by default up to 4,000")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument(
        "--quick", action="store_true", help="0.1 billion parameters alone, one turn, no page"
    )
    parser.add_argument(
        "--processor",
        action="store_true",
        help="least times of the processor, for a loaded machine; one thread",
    )
    parser.add_argument("--out", type=Path, default=PAGE)
    args = parser.parse_args()
    sizes, turns = (["0.1"], 1) if args.quick else (args.sizes.split(";"), args.turns)
    threads = "1" if args.processor else args.threads
    chosen = tuple(map(int, args.prompts.split(";"))) if args.prompts else PROMPTS if args.quick else None
    cases = [
        measure(
            Case(size, weights, int(count), {}, chosen or prompts_of(size, weights), args.processor), turns
        )
        for size in sizes
        for weights in args.weights.split(";")
        for count in threads.split(";")
    ]
    text = page(cases, read_rates())
    print(text) if args.quick else args.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
