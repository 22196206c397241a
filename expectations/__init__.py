"""Data contracts, one YAML file a table: data, no logic."""
