"""The method on every benchmark of a warehouse, one job a benchmark: the tables of analysis.*.

A benchmark is compared with no other, so the jobs share nothing and may run anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpurank.declared.contracts import contract
from gpurank.settings import Settings
from tasks.method.tables import columns, read_configuration, write
from tasks.pool import Each, here

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa

    from gpurank.method.settings import MethodSettings

# With fewer scored results, starting a process takes longer than the work.
FEW_RESULTS = 300


def run(
    con: duckdb.DuckDBPyConnection, settings: Settings | MethodSettings, each: Each = here
) -> dict[str, int]:
    """Select, cluster, rank, compare and scale; write every table of the method.

    Args:
        con: a warehouse whose SQL layers are built up to metrics.
        settings: of the run, or the method's own.
        each: where the jobs run; the tables do not depend on it.

    Returns:
        Rows a table.

    Raises:
        MissingInput: metrics.configuration is not there yet.
    """
    import pyarrow as pa

    from gpurank.method.settings import benchmarks, method_settings

    frame = read_configuration(con)
    names, own = benchmarks(frame), method_settings(settings)
    parts = {str(name): part for (name,), part in frame.partition_by(
        "benchmark", as_dict=True, maintain_order=True).items()}  # fmt: skip
    # The largest first: the processes then end at about the same time.
    order = sorted(names, key=lambda name: -len(parts[name]))
    jobs = [(parts[name], name, own) for name in order]
    made = (each if len(frame) >= FEW_RESULTS else here)(of_benchmark, jobs)
    found = dict(zip(order, made, strict=True))
    tables = {
        table: pa.concat_tables([empty, *(found[name][table] for name in names)])
        for table, empty in _empty().items()
    }
    return write(con, tables)


def of_benchmark(
    frame: pl.DataFrame, benchmark: str, settings: MethodSettings
) -> dict[str, pa.Table]:
    """Every stage on the rows of one benchmark: its part of each table."""
    from gpurank.method.settings import one_thread
    from tasks.method import clustering, fleet, ranking, selection, sensitivity

    with one_thread():
        found = selection.rows(frame, benchmark, settings)
        found |= clustering.rows(frame, benchmark, settings)
        found |= ranking.rows(frame, benchmark, found["analysis.cluster"], settings)
        found |= sensitivity.rows(found["analysis.ranking"], benchmark)
        found |= fleet.rows(frame, benchmark, settings)
    return {table: columns(table, rows) for table, rows in found.items()}


def _empty() -> dict[str, pa.Table]:
    names = (
        "selection", "matched_cpu", "cluster", "cluster_profile", "cluster_count", "ranking",
        "unranked", "sensitivity", "fleet_law", "break_even", "fleet_result", "model_scaling",
        "prediction", "prediction_check",
    )  # fmt: skip
    import pyarrow as pa

    # Of batches: for an empty list Arrow imports pandas.
    return {
        f"analysis.{name}": pa.Table.from_batches([], contract(f"analysis.{name}").arrow_schema())
        for name in names
    }
