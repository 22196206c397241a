"""Side-effecting functions (disk, network, DuckDB, processes); flows wrap them as Prefect tasks."""
