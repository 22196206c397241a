"""Generators of the documentation: tables.md and the tables of method.md."""
