"""Mergeable summaries of one site's one epoch: one structure a file, all under the same laws."""
