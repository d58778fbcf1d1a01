"""Lowering: from regions with layouts to the steps of a program, by one function per kind of region (`registry`)."""
