"""Models as Python programs that build them."""
