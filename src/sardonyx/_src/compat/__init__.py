"""Interfaces of other packages on top of this one, for programs that were written for them."""
