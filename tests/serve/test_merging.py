"""Several streams as one: all items, a limit on the streams at one time, errors and early ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from sardonyx._src.serve.openai.merging import merged


class Streams:
    """Streams of numbers.  running, most: how many have begun and not ended, and the most of them so far."""

    def __init__(self) -> None:
        self.running = self.most = 0

    async def stream(self, number: int, fails: bool = False) -> AsyncGenerator[int, None]:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            for i in range(3):
                await asyncio.sleep(0)
                if fails and i == 1:
                    raise ValueError(f"stream {number}")
                yield 10 * number + i
        finally:
            self.running -= 1


@pytest.mark.parametrize("most", [1, 2, 9])
def test_all_items_in_the_order_of_their_stream(most: int) -> None:
    async def scenario() -> None:
        streams = Streams()
        items = [item async for item in merged([streams.stream(number) for number in range(5)], most)]
        assert sorted(items) == [10 * number + i for number in range(5) for i in range(3)]
        for number in range(5):
            own = [item for item in items if item // 10 == number]
            assert own == sorted(own)
        assert streams.most == min(most, 5) and streams.running == 0

    asyncio.run(scenario())


def test_an_error_ends_all_streams() -> None:
    async def scenario() -> None:
        streams = Streams()
        with pytest.raises(ValueError, match="stream 1"):
            async for _ in merged([streams.stream(0), streams.stream(1, fails=True), streams.stream(2)], 2):
                pass
        assert streams.running == 0

    asyncio.run(scenario())


def test_an_early_end_ends_all_streams() -> None:
    async def scenario() -> None:
        streams = Streams()
        async with aclosing(merged([streams.stream(number) for number in range(4)], 3)) as items:
            async for _ in items:
                assert streams.running == 3
                break
        assert streams.running == 0

    asyncio.run(scenario())
