"""Checks on what the package is made of and depends on."""
