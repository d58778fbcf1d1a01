"""Messages of the command line about random inputs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.cli.output.streams import printable
from sardonyx._src.errors import CertificateError, SardonyxError
from sardonyx._src.measure.random_feeds import RandomFeeds


@contextmanager
def sizes_reported(random: RandomFeeds) -> Iterator[None]:
    """Prints the sizes of random inputs on standard error, and adds them to an error of the run as a note."""
    if text := random.describe():
        sys.stderr.write(printable(f"random inputs: {text}") + "\n")
    try:
        yield
    except SardonyxError as error:
        is_about_inputs = not isinstance(error, CertificateError) or error.name == "feeds"
        if random.values and is_about_inputs:
            error.add_note(random.hint())
        raise
