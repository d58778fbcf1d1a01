"""Imports that no release knows are refused before anything is converted."""

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx.errors import ConversionError, InputError

TEXT = "g (float[2] x) => (float[2] y) { y = Abs(x) }"


@pytest.mark.parametrize("version", [1_000_000, 1 << 40, (1 << 63) - 1])
def test_a_source_version_that_is_not_known_is_refused(version: int) -> None:
    with pytest.raises(
        ConversionError, match=rf"must be at most \d+, the newest known version; got {version}"
    ):
        sx.convert(parse_model(TEXT, opset=version), 21)


@pytest.mark.parametrize("version", [0, -1, -(1 << 63)])
def test_a_source_version_below_one_is_refused(version: int) -> None:
    with pytest.raises(ConversionError, match=rf"must be at least 1; got {version}"):
        sx.convert(parse_model(TEXT, opset=version), 21)


def test_a_partial_conversion_does_not_make_it_convertible() -> None:
    with pytest.raises(ConversionError, match="the newest known version"):
        sx.tools.convert_partially(parse_model(TEXT, opset=1 << 40), 21)


def test_a_target_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(InputError, match=r"the version of ai\.onnx must be in 1 to"):
        sx.convert(parse_model(TEXT, opset=21), 1 << 40)
