"""The effects: disk, network, DuckDB files, Prefect and Great Expectations."""
