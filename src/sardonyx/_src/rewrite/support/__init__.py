"""Analyses and builders shared by several passes."""
