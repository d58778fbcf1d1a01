"""The number of tokens of a request and of its results."""

from __future__ import annotations


class Usage:
    """prompt, generated: the tokens of the prompts, and of the results without those that end them."""

    def __init__(self, prompt: int) -> None:
        self.prompt, self.generated = prompt, 0

    def describe(self) -> dict[str, int]:
        return {
            "prompt_tokens": self.prompt,
            "completion_tokens": self.generated,
            "total_tokens": self.prompt + self.generated,
        }
