"""Gradient facets, one file for an operator or a family of them.

A gradient facet is a function that receives a node as a `BackwardStep` and returns the gradients of the node's inputs.  The step
gives the inputs, outputs and attributes of the node and the gradients of its outputs, and appends the backward nodes.
"""
