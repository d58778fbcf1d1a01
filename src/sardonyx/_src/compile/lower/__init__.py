"""Lowering: from a prepared graph to the steps of a program, by one function per operator (`registry.facet_of`)."""
