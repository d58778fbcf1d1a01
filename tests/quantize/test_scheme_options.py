"""Options of schemes: wrong values are errors that name the option, and so are options of other schemes."""

from __future__ import annotations

from typing import Any

import pytest

import sardonyx as sx
from quantize.test_quantize import ROWS, classifier
from sardonyx._src.quantize.schemes.table import SCHEMES

OPTIONS = sorted({option for entry in SCHEMES.values() for option in entry.options})
OWN = [(scheme, option) for scheme, entry in SCHEMES.items() for option in entry.options]
OTHER = [
    (scheme, option) for scheme, entry in SCHEMES.items() for option in OPTIONS if option not in entry.options
]


def quantize(scheme: str, **options: Any) -> object:
    if scheme == "mixed" and not options.keys() & {"size", "signal_to_noise", "latency"}:
        options["size"] = 0.5  # a bound is required
    return sx.quantize(classifier(), scheme, data={"x": ROWS[:8]}, rounds=0, force=True, **options)


@pytest.mark.parametrize(("scheme", "option"), OWN)
@pytest.mark.parametrize("wrong", [object(), [], b"", float("nan")])
def test_a_wrong_value_is_an_error_that_names_the_option(scheme: str, option: str, wrong: object) -> None:
    with pytest.raises((sx.InputError, TypeError), match=option):
        quantize(scheme, **{option: wrong})


@pytest.mark.parametrize(("scheme", "option"), OTHER)
def test_an_option_of_another_scheme_is_refused(scheme: str, option: str) -> None:
    with pytest.raises(sx.InputError, match=f"{option} must be None for the scheme '{scheme}'"):
        quantize(scheme, **{option: 0})
