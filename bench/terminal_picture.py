"""A console session as SVG: the commands run, and what they print is drawn as a terminal shows it."""

from __future__ import annotations

import html
import os
import re
import subprocess
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

COLUMNS, CHARACTER, LINE, MARGIN, BAR = 96, 7.8, 19, 18, 34  # in characters, and in pixels
PLAIN, PROMPT, GOOD, BAD, CODE = "#e6edf3", "#7ee787", "#7ee787", "#ff7b72", "#79c0ff"
MARKS = re.compile(
    r"(?P<code>SX\d{3} [\w-]+)|(?P<bad>\berror\b|\b\d+ errors?\b)|(?P<good>\bfixed\b(?!\.)|no issues found)"
)
COLORS = {"code": CODE, "bad": BAD, "good": GOOD}


def run_session(commands: Sequence[str], folder: Path) -> list[str]:
    """The lines of a terminal after the commands; each may fail."""
    lines: list[str] = []
    environment = {**os.environ, "COLUMNS": str(COLUMNS)}
    for command in commands:
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        lines += [f"$ {command}", *(done.stdout + done.stderr).splitlines()]
    return [part for line in lines for part in textwrap.wrap(line, COLUMNS, subsequent_indent="    ") or [""]]


def draw_terminal(lines: Sequence[str]) -> str:
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, BAR + LINE * len(lines) + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" width="{width:g}" height="{height}" '
        f'role="img" font-family="ui-monospace, SFMono-Regular, Menlo, DejaVu Sans Mono, monospace" font-size="13">'
    )
    frame = f'<rect width="{width:g}" height="{height}" rx="9" fill="#161b22" stroke="#30363d"/>'
    buttons = [
        f'<circle cx="{MARGIN + 20 * i}" cy="17" r="6" fill="{color}"/>'
        for i, color in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    ]
    rows = [draw_line(line, BAR + LINE * i + 13) for i, line in enumerate(lines)]
    return "\n".join([head, frame, *buttons, *rows, "</svg>\n"])


def draw_line(line: str, y: int) -> str:
    spans = "".join(f'<tspan fill="{color}">{html.escape(part)}</tspan>' for part, color in colored(line))
    return f'<text x="{MARGIN}" y="{y}" xml:space="preserve">{spans}</text>'


def colored(line: str) -> Iterator[tuple[str, str]]:
    """The parts of a line with their colors."""
    if line.startswith("$ "):
        yield "$ ", PROMPT
        yield line[2:], PLAIN
        return
    end = 0
    for match in MARKS.finditer(line):
        yield line[end : match.start()], PLAIN
        yield match[0], COLORS[str(match.lastgroup)]
        end = match.end()
    yield line[end:], PLAIN
