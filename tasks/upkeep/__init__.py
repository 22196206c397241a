"""Watching sources, pruning old versions, comparing versions."""
