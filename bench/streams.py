"""How many tokens a second do several streams have together, and how much do drafts gain?

    python bench/streams.py [--shape 0.3] [--threads 1] [--rounds 5] [--out PAGE]

The decoder has the shape of a small Llama, drawn weights of 4 bits and GroupQueryAttention (`bench/language/shapes.py`).  Streams run
in a `BatchingGenerator`, each with a prompt of its own of another length; the rate is that of all of them together while all are
generated.

Drawn weights predict nothing.  For drafts, therefore, the tokens that may be chosen are those of a text, as if the model would
write exactly this text: runs, lookup, acceptance and times are those of such a model.  The texts are files of this repository, as
tokens of a byte-pair encoding that is trained on its sources: tests and a table of calls are
continued after their beginning; one is repeated after a prompt that contains it with another name, as in a request to edit code.

Times are processor times, and each is the least of several rounds in turn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from language.shapes import SHAPES, onnx_folder
from measure import FOLDER, stamp
from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.drafts.draft import DraftStats
from sardonyx._src.generate.drafts.lookup import LookupDraft
from sardonyx._src.generate.loop.request import GenerationRequest
from sardonyx._src.generate.loop.sampling import sample
from sardonyx._src.generate.loop.speculation import speculate
from sardonyx._src.generate.text.grammar import Grammar
from sardonyx._src.ir import Array
from sardonyx.generate import BatchingGenerator, Generator, Piece

ROOT = FOLDER.parent
PAGE = ROOT / "docs" / "generated" / "streams.md"
ROWS, ROUNDS = (1, 2, 4, 8), 5
PROMPT, TOKENS, DRAFTED = 48, 40, 7
VOCABULARY, SPAN = 8000, 200  # tokens of the encoding; those of a prompt, and of a result
TESTS = ROOT / "tests"
CONTINUED, TABLE = TESTS / "generate" / "test_drafts.py", TESTS / "public_face.py"
EDITED = TESTS / "generate" / "decoders.py"
OLD_NAME, NEW_NAME = "summing_decoder", "adding_decoder"


# --- streams ---------------------------------------------------------------------------------------


def prompts(count: int) -> list[list[int]]:
    """Prompts of different lengths."""
    draw = np.random.default_rng(3)
    return [draw.integers(0, 16_000, PROMPT + 5 * number).tolist() for number in range(count)]


def streams_rate(generator: Generator, rows: int) -> float:
    """Tokens a second of processor time while all streams are generated."""
    with BatchingGenerator(generator, max_rows=rows) as batching:
        streams = [batching.stream(prompt, max_tokens=TOKENS + 4 * rows) for prompt in prompts(rows)]
        for stream in streams:
            next(stream)  # all prompts have been read
        before, start = batching.stats.tokens, time.process_time()
        for _ in range(TOKENS // 2):
            next(streams[-1])
        return (batching.stats.tokens - before) / (time.process_time() - start)


def stream_rates(generator: Generator, rounds: int) -> dict[int, float]:
    samples: dict[int, list[float]] = {rows: [] for rows in ROWS}
    for _ in range(rounds):
        for rows, rates in samples.items():
            rates.append(streams_rate(generator, rows))
    return {rows: max(rates) for rows, rates in samples.items()}


# --- drafts ----------------------------------------------------------------------------------------


@dataclass
class ForcedText:
    """A grammar that allows one text: its tokens, one by one."""

    tokens: Array
    vocabulary: int
    place: int = 0

    def start(self) -> ForcedText:
        return ForcedText(self.tokens, self.vocabulary)

    def allowed(self) -> Array:
        mask = np.zeros(self.vocabulary, bool)
        mask[self.tokens[self.place]] = True
        return mask

    def add(self, token: int) -> bool:
        self.place += 1
        return self.place == len(self.tokens)


@dataclass(frozen=True)
class DraftGain:
    """What lookup gains on a text: the tokens of a run, the share of proposed tokens that were right, and the time of a token
    without drafts by that with them."""

    text: str
    tokens: float
    acceptance: float
    gain: float


def code_texts() -> dict[str, tuple[Array, Array]]:
    """Prompts and the texts that follow, as tokens."""
    from tokenizers import ByteLevelBPETokenizer

    tokenizer = ByteLevelBPETokenizer()
    sources = sorted(str(path) for path in (ROOT / "src" / "sardonyx" / "_src" / "generate").rglob("*.py"))
    tokenizer.train(sources, vocab_size=VOCABULARY, show_progress=False)

    def encode(text: str) -> Array:
        return np.array(tokenizer.encode(text).ids, np.int64)

    continued, edited, table = encode(CONTINUED.read_text()), EDITED.read_text(), TABLE.read_text()
    calls = encode(table[table.index("CALLS: dict") :])
    start = edited.index(f"def {OLD_NAME}")
    prompt = encode(edited[start:])[:SPAN]
    return {
        "a file of tests, continued": (continued[:SPAN], continued[SPAN : 2 * SPAN]),
        "a table of calls, continued": (calls[:SPAN], calls[SPAN : 2 * SPAN]),
        "a file with another name, repeated": (
            prompt,
            encode(tokenizer.decode(prompt.tolist()).replace(OLD_NAME, NEW_NAME))[:SPAN],
        ),
    }


def seconds_after_prompt(pieces: Iterator[Piece]) -> float:
    """The processor time from the first token to the last."""
    next(pieces)
    start = time.process_time()
    for _ in pieces:
        pass
    return time.process_time() - start


def draft_gain(
    decoder: TokenDecoder, vocabulary: int, rounds: int, name: str, prompt: Array, text: Array
) -> DraftGain:
    grammar = cast("Grammar", ForcedText(text, vocabulary))
    request = GenerationRequest(prompt, Settings(), len(text), (), grammar)
    plain, drafted, stats = [], [], DraftStats()
    for _ in range(rounds):
        stats = DraftStats()
        plain.append(seconds_after_prompt(sample(decoder, request, None)))
        pieces = speculate(decoder, request, None, LookupDraft(), DRAFTED, stats)
        drafted.append(seconds_after_prompt(pieces))
    runs = len(text) - stats.accepted
    return DraftGain(name, len(text) / runs, stats.acceptance, min(plain) / min(drafted))


# --- the page --------------------------------------------------------------------------------------


def page(shape: str, threads: int, rates: dict[int, float], gains: list[DraftGain]) -> str:
    lines = [
        "# Streams and drafts",
        "",
        f"Written by `bench/streams.py`. {(__doc__ or '').partition(chr(10))[0]}",
        "",
        *(__doc__ or "").split("\n\n", 2)[2].strip().splitlines(),
        "",
        stamp().replace("Medians; tools in turn.", "Least times; rounds in turn."),
        "",
        f"The shape has {shape} billion parameters; threads: {threads}.",
        "",
        "| streams | tokens a second | of one stream | time of a step, ms |",
        "|---|---|---|---|",
    ]
    for rows, rate in rates.items():
        lines.append(f"| {rows} | {rate:.0f} | {rate / rates[1]:.2f} | {rows / rate * 1e3:.1f} |")
    lines += ["", "| text | tokens of a run | acceptance | gain |", "|---|---|---|---|"]
    lines += [f"| {g.text} | {g.tokens:.2f} | {g.acceptance:.2f} | {g.gain:.2f} |" for g in gains]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shape", default="0.3")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=PAGE)
    args = parser.parse_args()
    generator = Generator(onnx_folder(args.shape, "4 bits"), threads=args.threads, context=512)
    rates = stream_rates(generator, args.rounds)
    print(rates, flush=True)
    vocabulary = SHAPES[args.shape].vocabulary
    gains = [
        draft_gain(generator.decoder, vocabulary, args.rounds, name, *texts)
        for name, texts in code_texts().items()
    ]
    args.out.write_text(page(args.shape, args.threads, rates, gains), encoding="utf-8")
    print(args.out.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
