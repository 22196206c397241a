"""Validation: counts in SQL, Great Expectations, one report of both."""
