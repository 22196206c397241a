"""SQL models, lookup tables, round declarations and the shipped facts: data, no logic."""
