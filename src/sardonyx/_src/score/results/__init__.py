"""Sinks: the files, folders and streams to which results and rejected rows are written."""
