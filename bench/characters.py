"""Trains the character model of examples/characters, and writes its curves and its text to docs/generated.

python bench/characters.py
"""

from __future__ import annotations

from example_runs import epochs_table, run_example, write_page

EPOCHS = 10


def main() -> None:
    run = run_example("examples/characters/train.py", "--epochs", str(EPOCHS))
    lines = [
        "# A language model of characters",
        "",
        "Written by `bench/characters.py`: `examples/characters/train.py` trains from nothing on the documents of this repository,",
        f"{run.steps} steps of 256 examples in {run.seconds:.0f} seconds, compilation and text included. The last twentieth of the text is held out.",
        "",
        *epochs_table(run, "held out"),
        "",
        "![loss and accuracy over epochs](characters.svg)",
        "",
        "What the model writes after the first 24 characters:",
        "",
        *(f"    {line}" for line in run.printed.rstrip().splitlines()),
    ]
    write_page("characters", run, lines)


if __name__ == "__main__":
    main()
