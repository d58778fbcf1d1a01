"""Does a service of a language model stay right and small under 100,000 requests of mixed lengths, a tenth of whose clients leave?

Clients send chat completions and completions, streamed or not, with results of 1 to 200 tokens, drawn with seeds.  Every text is
compared with the one that `sx.Generator` gives alone: *wrong* counts texts that are not, *lost* requests without an answer,
*refused* answers 429 and 503.  A client that leaves resets its connection in the queue, or within a stream.  The decoder computes
integers, so that its logits have the same bits in every batch.  Times tell how busy the machine was, and nothing of the service.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import json
import random
import socket
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import sardonyx as sx
from measure import FOLDER, commit, machine
from sardonyx.generate import Generator
from service_process import memory_of, running_service
from soak_clients import RESET, message

PAGE = FOLDER.parent / "docs" / "generated" / "language_soak.md"
REQUESTS = 100_000
READINGS, SHOWN = 200, 10  # readings of memory, in the course of the requests, and those that are shown
VARIANTS = 400  # different requests
LENGTHS, SHARES = (
    (1, 8, 50, 200),
    (30, 45, 20, 5),
)  # of results, in tokens, and how many of 100 requests have them
LEAVING = 0.1  # the share of clients that leave
WIDTH = 16
OPTIONS = ("--threads", "1", "--max-queue", "64")
TEMPLATE = "{% for message in messages %}{{ message.content }}\n{% endfor %}"


def write_model(folder: Path) -> None:
    """A decoder whose logits are a product of the sum of all embeddings so far, which its cache holds; all are integers."""
    random_numbers = np.random.default_rng(0)
    library = Tokenizer(
        models.BPE({letter: i for i, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, [])
    )
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    size = library.get_vocab_size()
    b = sx.Builder(opset=21)
    ids = b.input("input_ids", sx.DataType.INT64, ["batch", "length"])
    cache = b.input("past_key_values.0.value", sx.DataType.FLOAT, ["batch", "past", WIDTH])
    embedding = random_numbers.integers(-2, 3, (size, WIDTH)).astype(np.float32)
    every = b.Concat(cache, b.Gather(embedding, ids), axis=1)
    sums = b.CumSum(every, np.array(1))
    latest = b.Slice(sums, b.Neg(b.Shape(ids, start=1, end=2)), np.array([2**31]), np.array([1]))
    b.output(b.MatMul(latest, random_numbers.integers(-1, 2, (WIDTH, size)).astype(np.float32)), "logits")
    b.output(every, "present.0.value", sx.Builder.tensor(sx.DataType.FLOAT, ["batch", "total", WIDTH]))
    folder.mkdir()
    sx.save(b.model(), folder / "model.onnx")
    library.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 1024}))
    (folder / "chat_template.jinja").write_text(TEMPLATE)


@dataclass(frozen=True)
class Variant:
    """A request, and the text that answers it."""

    is_chat: bool
    body: dict[str, Any]
    expected: str


def make_variants(generator: Generator) -> list[Variant]:
    """Requests of mixed kinds and lengths, with the texts that the generator gives for them one after the other."""
    choice = random.Random(1)
    variants = []
    for number in range(VARIANTS):
        text = "".join(choice.choices("abcdefgh ", k=choice.randrange(1, 200)))
        length = choice.choices(LENGTHS, SHARES)[0]
        is_chat = number % 2 == 0
        prompt = [{"role": "user", "content": text}] if is_chat else text
        expected = generator.generate(prompt, max_tokens=length, temperature=1.0, seed=number).text
        body = {"messages": prompt} if is_chat else {"prompt": prompt}
        fields = {"model": "soak", "max_tokens": length, "seed": number, "temperature": 1}
        variants.append(Variant(is_chat, {**body, **fields}, expected))
    return variants


@dataclass
class Counts:
    """What became of requests.  seconds: of those that were answered."""

    sent: int = 0
    wrong: int = 0
    lost: int = 0
    refused: int = 0
    left: int = 0
    seconds: list[float] = field(default_factory=list)


class Client:
    """Sends requests one after the other, each on a connection of its own."""

    def __init__(self, port: int, variants: Sequence[Variant], counts: Counts, seed: int) -> None:
        self.port, self.variants, self.counts = port, variants, counts
        self.random = random.Random(seed)

    async def send(self, count: int) -> None:
        for _ in range(count):
            variant, is_stream = self.random.choice(self.variants), self.random.random() < 0.5
            self.counts.sent += 1
            if self.random.random() < LEAVING:
                await self.leave(variant)
            else:
                await self.check(variant, is_stream=is_stream)

    async def check(self, variant: Variant, *, is_stream: bool) -> None:
        begin = time.perf_counter()
        try:
            status, data = await self.request(variant, is_stream=is_stream)
            text = streamed_text(data, variant) if is_stream and status == 200 else whole_text(data, variant)
        except (OSError, EOFError, ValueError):
            self.counts.lost += 1
            return
        self.counts.seconds.append(time.perf_counter() - begin)
        if status in (429, 503):
            self.counts.refused += 1
        elif status != 200 or text is None:
            self.counts.lost += 1
        else:
            self.counts.wrong += text != variant.expected

    async def leave(self, variant: Variant) -> None:
        """Resets the connection at once, or after the first bytes of a stream."""
        self.counts.left += 1
        reader, writer = await self.connect(variant, is_stream=True)
        if self.random.random() < 0.5:
            with contextlib.suppress(OSError):
                await reader.read(1)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()

    async def request(self, variant: Variant, *, is_stream: bool) -> tuple[int, bytes]:
        """Status and body of the response."""
        reader, writer = await self.connect(variant, is_stream=is_stream)
        try:
            head, _, data = (await reader.read()).partition(b"\r\n\r\n")
        finally:
            writer.close()
        return int(head[9:12]), data

    async def connect(
        self, variant: Variant, *, is_stream: bool
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection on which the request has been sent, and which the service closes after the response."""
        path = "/v1/chat/completions" if variant.is_chat else "/v1/completions"
        data = message(path, {**variant.body, "stream": is_stream})
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(data.replace(b"host: x", b"host: x\r\nconnection: close", 1))
        return reader, writer


def whole_text(data: bytes, variant: Variant) -> str | None:
    choices = json.loads(data).get("choices")
    if not choices:
        return None
    return str(choices[0]["message"]["content"] if variant.is_chat else choices[0]["text"])


def streamed_text(data: bytes, variant: Variant) -> str | None:
    """The text of events in chunks of HTTP/1.1; None without the last event."""
    body, rest = b"", data
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        body, rest = body + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    *events, last, _ = body.split(b"\n\n")
    if last != b"data: [DONE]":
        return None
    choices = [json.loads(event.removeprefix(b"data: "))["choices"][0] for event in events]
    return "".join(c["delta"].get("content") or "" if variant.is_chat else c["text"] for c in choices)


def metrics(port: int) -> dict[str, float]:
    """The metrics of the service by name and labels."""
    text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


def soak(count: int, connections: int, minutes: float) -> tuple[Counts, list[float], dict[str, float], float]:
    """Counts, readings of memory in MiB, metrics at the end, and seconds.  minutes: after which no further requests are sent."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder / "soak")
        variants, counts, memory = make_variants(Generator(folder / "soak", threads=1)), Counts(), []
        with running_service(folder, *OPTIONS) as (process, port):
            clients = [Client(port, variants, counts, seed) for seed in range(connections)]
            begin = time.perf_counter()
            while counts.sent < count and time.perf_counter() - begin < 60 * minutes:
                share = max(1, count // READINGS // connections)
                asyncio.run(send_all(clients, share))
                memory.append(memory_of(process.pid))
                print(f"{counts.sent} requests, {memory[-1]:.1f} MiB", flush=True)
            seconds = time.perf_counter() - begin
            time.sleep(1)  # so that the requests of the last clients that left have ended
            return counts, memory, metrics(port), seconds


async def send_all(clients: Sequence[Client], count: int) -> None:
    await asyncio.gather(*(client.send(count) for client in clients))


def report(counts: Counts, memory: Sequence[float], readings: dict[str, float], seconds: float) -> str:
    label = '{model="soak",version="1"}'
    outcomes = {name: value for name, value in readings.items() if name.startswith("sardonyx_requests_total")}
    lines = ["# Endurance of a service of a language model", "", (__doc__ or "").strip(), ""]
    lines += ["Written by `python bench/language_soak.py`.", ""]
    lines += ["| requests | left | wrong | lost | refused | minutes |", "|---:|---:|---:|---:|---:|---:|"]
    lines += [
        f"| {counts.sent} | {counts.left} | {counts.wrong} | {counts.lost} | {counts.refused} | {seconds / 60:.1f} |"
    ]
    shown = [memory[(i + 1) * len(memory) // SHOWN - 1] for i in range(SHOWN)]
    texts = ", ".join(f"{value:.1f}" for value in shown)
    tokens = readings[f"sardonyx_generated_tokens_total{label}"]
    left = readings[f"sardonyx_running_texts{label}"] + readings[f"sardonyx_queue_length{label}"]
    day = datetime.datetime.now(datetime.UTC).date()
    lines += [
        "",
        f"Memory in MiB after each tenth: {texts}. Measured on {day} at {commit()}: {machine()}.",
        "",
    ]
    lines += [
        f"{tokens:.0f} tokens; the service counted {sum(outcomes.values()):.0f} requests, of which {left:.0f} ran or waited at the end."
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=REQUESTS, help=f"how many ({REQUESTS})")
    parser.add_argument("--minutes", type=float, default=1e6, help="after which no further requests are sent")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page that is written")
    parser.add_argument("--connections", type=int, default=24, help="at one time")
    args = parser.parse_args()
    counts, memory, readings, seconds = soak(args.requests, args.connections, args.minutes)
    text = report(counts, memory, readings, seconds)
    print(text)
    args.page.write_text(text)
    return int(counts.wrong + counts.lost > 0)


if __name__ == "__main__":
    sys.exit(main())
