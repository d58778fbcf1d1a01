"""How long does a token take after many others, with caches that are updated in place, and with caches that are copied?

    python bench/decoder_caches.py [--shapes 0.1,0.3] [--contexts 128,1024,4096] [--turns 3] [--out PAGE]

Decoders of the shapes of `bench/language/shapes.py`, with weights of 4 bits: GroupQueryAttention, whose caches have room;
TensorScatter, which writes into buffers of a fixed size; and Concat, whose caches a generator gives room.

Each measurement is a process of its own with one thread: a state of drawn caches, and then 32 tokens.  Of the tokens from the
fourth one on, the shortest time is shown, which other loads of the machine disturb least, and the peak of memory.  A run that
needs more memory for temporary values than any before copies the caches, which happens once in some of the processes.

A token reads all weights and the caches once; the column after it says at which rate the runs in place do so.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import sardonyx as sx
from language.shapes import SHAPES
from measure import BUILD, FOLDER, run, stamp
from zoo.cache_forms import ConcatDecoder, ScatterDecoder
from zoo.packed_decoder import PackedDecoder

PAGE = FOLDER.parent / "docs" / "generated" / "decoder_caches.md"
FORMS = {"GroupQueryAttention": PackedDecoder, "TensorScatter": ScatterDecoder, "Concat": ConcatDecoder}
CONTEXTS, TOKENS, TURNS = (128, 1024, 4096), 32, 3
ROOM = 256  # places after the longest context
PROGRAM = """
import ctypes
import numpy as np
import sardonyx as sx
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.generate.opening import open_decoder_session, open_session
path, options = {path!r}, {{"threads": 1}}
if {copies}:
    decoder = TokenDecoder(open_session(path, options))
    decoder.updated = ()
else:
    decoder = TokenDecoder(open_decoder_session(path, options, "", has_encoder=False))
draw, context = np.random.default_rng(1), {context}
caches = dict(decoder.start().caches)
for pair in decoder.roles.caches:
    cache = caches[pair.past]
    if pair.axis is None:
        cache[:, :, :context] = draw.standard_normal(cache[:, :, :context].shape, np.float32)
    else:
        shape = (*cache.shape[:2], context, cache.shape[3])
        caches[pair.past] = draw.standard_normal(shape, np.float32)
size = sum(cache[:, :, :context].nbytes for cache in caches.values())
state, tokens, times = DecoderState(np.zeros((1, context), np.int64), caches), [1], []
del caches, cache
for number in range({tokens}):
    if number == 3:  # the drawn caches have been moved, and the fast path is there
        ctypes.CDLL(None).malloc_trim(0)  # returns the memory of the drawn caches to the system
        with open("/proc/self/clear_refs", "w") as clear:
            clear.write("5")  # resets the peak
    start = time.process_time()
    logits, state = decoder.read(state, np.array([tokens[-1:]]))
    times.append(time.process_time() - start)
    tokens.append(int(logits[0, -1].argmax()))
print(json.dumps({{"token": min(times[3:]), "tokens": tokens, "peak": resident("VmHWM"), "caches": size}}))
"""


@dataclass(frozen=True)
class CacheRow:
    """A form of caches at a context.

    token, peak: the seconds of a token and the peak of memory in bytes, of runs in place and of runs that copy.
    read: the bytes of weights and caches.
    """

    shape: str
    form: str
    context: int
    token: tuple[float, float]
    peak: tuple[float, float]
    read: float
    is_equal: bool


def decoder_file(shape: str, form: str, positions: int) -> Path:
    """The file of a decoder, which is written if it is missing."""
    path = BUILD / "decoder_caches" / f"{form} {shape} {positions}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        model = FORMS[form](replace(SHAPES[shape], positions=positions)).model()
        sx.save(model, path, external=f"{path.stem}.data")
    return path


def measure(shape: str, form: str, context: int, turns: int, positions: int) -> CacheRow:
    path = decoder_file(shape, form, positions)
    samples: dict[bool, list[dict[str, float]]] = {False: [], True: []}
    for turn in range(turns + 1):  # the first one fills the cache of compiled kernels
        for copies, measured in samples.items():
            sample = run(PROGRAM.format(path=str(path), copies=copies, context=context, tokens=TOKENS))
            if turn:
                measured.append(sample)
    in_place, copying = samples.values()
    token = min(s["token"] for s in in_place), min(s["token"] for s in copying)
    peak = (
        statistics.median(s["peak"] for s in in_place),
        statistics.median(s["peak"] for s in copying),
    )
    table = (
        SHAPES[shape].vocabulary * SHAPES[shape].width * 4
    )  # of embeddings, of which a token reads one row
    read = path.with_suffix(".data").stat().st_size - table + in_place[0]["caches"]
    row = CacheRow(shape, form, context, token, peak, read, in_place[0]["tokens"] == copying[0]["tokens"])
    print(row, flush=True)
    return row


def page(rows: Sequence[CacheRow]) -> str:
    """The table, a line for each decoder and context."""
    lines = [
        "# Caches of decoders",
        "",
        f"Written by `bench/decoder_caches.py`. {(__doc__ or '').partition(chr(10))[0]}",
        "",
        *(__doc__ or "").split("\n\n", 2)[2].strip().splitlines(),
        "",
        stamp().removesuffix(" Medians; tools in turn."),
        "",
        "| billion parameters | caches | tokens before | token in place, ms | copying | memory in place, MB | copying | read, MB | GB/s | tokens |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        numbers = [f"{1e3 * value:.2f}" for value in row.token] + [f"{value / 1e6:.0f}" for value in row.peak]
        rate = f"{row.read / 1e6:.0f} | {row.read / row.token[0] / 1e9:.1f}"
        words = "equal" if row.is_equal else "different"
        lines.append(
            f"| {row.shape} | {row.form} | {row.context:,} | {' | '.join(numbers)} | {rate} | {words} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shapes", default="0.1,0.3", help="those of bench/language/shapes.py (%(default)s)")
    parser.add_argument("--contexts", default=",".join(map(str, CONTEXTS)))
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--out", type=Path, default=PAGE)
    args = parser.parse_args()
    contexts = [int(context) for context in args.contexts.split(",")]
    rows = [
        measure(shape, form, context, args.turns, max(contexts) + ROOM)
        for shape in args.shapes.split(",")
        for form in FORMS
        for context in contexts
    ]
    args.out.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
