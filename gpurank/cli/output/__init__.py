"""Answers on the terminal: tables, layout, progress, safety of untrusted text."""
