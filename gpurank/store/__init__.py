"""Versions of rounds on disk or in object storage: their history, changes and locks."""
