"""Watches sources, prunes old versions, compares versions."""
