"""Stop texts end a result, and no character of them is given away before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.generate.text.stop_texts import StopTexts

LETTERS = st.text("ab\n", max_size=4)


@given(st.lists(LETTERS, max_size=8), st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3))
def test_pieces_add_up_to_the_text_before_the_first_stop_text(pieces: list[str], stop: list[str]) -> None:
    """The result is that of searching the text up to the piece in which a stop text is complete."""
    texts, given_away, read = StopTexts(stop), "", ""
    for piece in pieces:
        read += piece
        certain, is_stopped = texts.add(piece)
        given_away += certain
        places = [read.find(text) for text in stop if text in read]
        assert is_stopped == bool(places)
        if is_stopped:
            assert given_away == read[: min(places)]
            return
        assert read.startswith(given_away)
        held = read[len(given_away) :]
        assert not held or any(text.startswith(held) for text in stop)
    assert given_away + texts.rest() == read


def test_what_could_begin_a_stop_text_is_held_back() -> None:
    texts = StopTexts(["\n\nUser:"])
    assert texts.add("yes\n") == ("yes", False)
    assert texts.add("no\n\nUs") == ("\nno", False)
    assert texts.add("er") == ("", False)
    assert texts.add("s") == ("\n\nUsers", False)
    assert texts.add("\n\nUser: x") == ("", True)
