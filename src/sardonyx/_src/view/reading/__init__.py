"""Conversion of the records of a document to the data of a page."""
