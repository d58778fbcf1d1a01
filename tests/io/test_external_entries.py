"""Entries of `external_data`: keys, numbers, locations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external import Reference, components, entries, read_entries

WHERE = "graph.initializer[3] 'w'"


def test_all_keys_are_read_and_strangers_kept_apart() -> None:
    reference = read_entries(
        [
            ("location", "w.bin"),
            ("offset", "4096"),
            ("length", "12"),
            ("checksum", "da39"),
            ("basepath", "/home/me"),
            ("prepacked_0", "x|1;2"),
        ],
        WHERE,
    )
    assert reference == Reference("w.bin", 4096, 12, "da39", "/home/me", (("prepacked_0", "x|1;2"),))


def test_a_location_is_enough() -> None:
    assert read_entries([("location", "w")], WHERE) == Reference("w", 0, None, "", "", ())


@pytest.mark.parametrize("given_", [[], [("location", "")], [("offset", "0")]])
def test_a_location_is_needed(given_: list[tuple[str, str]]) -> None:
    with pytest.raises(
        ExternalDataError, match=r"graph.initializer\[3\] 'w': external_data must have a location"
    ) as e:
        read_entries(given_, WHERE)
    assert e.value.location == WHERE


@pytest.mark.parametrize("key", ["location", "offset", "__class__"])
def test_no_key_may_occur_twice(key: str) -> None:
    with pytest.raises(ExternalDataError, match=f"got '{key}' twice"):
        read_entries([("location", "w"), (key, "0"), (key, "0")][key == "location" :], WHERE)


def test_python_names_as_keys_are_only_text() -> None:
    hostile = [("__class__", "os"), ("__init__", "x"), ("files", "y"), ("_nbytes", "0"), ("view", "z")]
    reference = read_entries([("location", "w"), *hostile], WHERE)
    assert type(reference) is Reference
    assert reference.extra == tuple(hostile)


@pytest.mark.parametrize("key", ["offset", "length"])
@pytest.mark.parametrize(
    "text",
    [
        "-1",
        "+1",
        "",
        " 1",
        "1 ",
        "1\n",
        "1_0",
        "0x10",
        "1e3",
        "1.0",
        "٣",
        "9223372036854775808",
        "9" * 5000,
        "NaN",
    ],
)
def test_numbers_are_plain_and_bounded(key: str, text: str) -> None:
    with pytest.raises(
        ExternalDataError, match=f"{key} of external_data must be .*from 0 to 2\\^63 - 1"
    ) as e:
        read_entries([("location", "w"), (key, text)], WHERE)
    assert len(str(e.value)) < 400


def test_the_largest_number_is_the_largest_offset() -> None:
    assert read_entries([("location", "w"), ("offset", "9223372036854775807")], WHERE).offset == 2**63 - 1


@pytest.mark.parametrize(
    ("location", "names"),
    [
        ("w", ("w",)),
        ("a/b/w.bin", ("a", "b", "w.bin")),
        ("./a/./w", ("a", "w")),
        ("a//w", ("a", "w")),
        ("..w", ("..w",)),
        ("w..", ("w..",)),
        ("...", ("...",)),
        ("weight:0", ("weight:0",)),
        ("w\udcff", ("w\udcff",)),
        ("Gewichte ü", ("Gewichte ü",)),
    ],
)
def test_plain_locations_are_their_components(location: str, names: tuple[str, ...]) -> None:
    assert components(location, WHERE) == names


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("", "is empty"),
        ("..", "'..'"),
        ("../../../etc/passwd", "'..'"),
        ("subdir/../../x", "'..'"),
        ("a/../w", "'..'"),
        ("w/..", "'..'"),
        ("/etc/passwd", "is absolute"),
        ("//server/share", "is absolute"),
        ("\\\\server\\share", "has a backslash"),
        ("a\\..\\..\\x", "has a backslash"),
        ("..\\x", "has a backslash"),
        ("C:/x", "starts with a drive"),
        ("c:x", "starts with a drive"),
        (".//C:", "starts with a drive"),
        ("w\0.bin", "has a NUL"),
        (".", "names a directory"),
        ("./", "names a directory"),
        ("w/", "names a directory"),
        ("w/.", "names a directory"),
        ("w\ud800", "cannot be encoded as a file name"),
    ],
)
def test_locations_that_could_lead_elsewhere_are_refused(location: str, why: str) -> None:
    with pytest.raises(ExternalDataError, match=why) as e:
        components(location, WHERE)
    assert e.value.location == WHERE


@pytest.mark.parametrize(
    "location",
    ["w:stream", "NUL", "sub/con.txt", "com1", "LPT9.bin", "nul .x", "conin$", "w.", "w ", ".. /x", "..."],
)
def test_windows_has_more_names_that_are_no_files(location: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "WINDOWS", True)
    with pytest.raises(ExternalDataError, match="must be a relative path of plain names"):
        components(location, WHERE)


@given(
    st.lists(st.sampled_from(["a", "..", ".", "", "b.bin", "...", "a..", "\\", "C:", "~"]), max_size=6).map(
        "/".join
    )
)
def test_components_never_lead_up_or_away(location: str) -> None:
    try:
        names = components(location, WHERE)
    except ExternalDataError:
        return
    assert names
    assert not {"", ".", ".."} & set(names)
    assert not any(c in name for name in names for c in "/\\\0")
    assert components("/".join(names), WHERE) == names
