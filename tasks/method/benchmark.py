"""Runs the method on every benchmark of a warehouse and writes the tables of analysis.*.

Benchmarks are never compared with each other, so each is an independent job that may run in
another process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpurank.method.settings import MethodSettings, method_settings
from gpurank.settings import Settings
from tasks.method.tables import read_configuration, to_arrow, write_tables
from tasks.pool import Each, here

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    import pyarrow as pa

    from tasks.method.tables import Rows

# With fewer results, starting processes takes longer than the work.
FEW_RESULTS = 300
TABLES = (
    "analysis.selection",
    "analysis.matched_cpu",
    "analysis.cluster",
    "analysis.cluster_profile",
    "analysis.cluster_count",
    "analysis.ranking",
    "analysis.unranked",
    "analysis.sensitivity",
    "analysis.fleet_law",
    "analysis.break_even",
    "analysis.fleet_result",
    "analysis.model_scaling",
    "analysis.prediction",
    "analysis.prediction_check",
)


def run_method(
    con: duckdb.DuckDBPyConnection, settings: Settings | MethodSettings, each: Each = here
) -> dict[str, int]:
    """Analyzes every benchmark and writes the tables of the method.

    Args:
        con: a warehouse whose SQL layers are built up to metrics.
        settings: of the run, or of the method.
        each: runs the jobs; the tables do not depend on where.

    Returns:
        The number of rows by table.

    Raises:
        MissingInput: metrics.configuration does not exist yet.
    """
    import pyarrow as pa

    frame = read_configuration(con)
    parts = {
        str(name): part
        for (name,), part in frame.partition_by(
            "benchmark", as_dict=True, maintain_order=True
        ).items()
    }
    # The largest first, so that all processes end at about the same time.
    order = sorted(parts, key=lambda name: (-len(parts[name]), name))
    jobs = [(parts[name], name, method_settings(settings)) for name in order]
    run_jobs = each if len(frame) >= FEW_RESULTS else here
    tables_of = dict(zip(order, run_jobs(analyze_benchmark, jobs), strict=True))
    tables = {
        # Without a benchmark the table has no rows, but its columns.
        table: pa.concat_tables(
            [to_arrow(table, []), *(tables_of[name][table] for name in sorted(parts))]
        )
        for table in TABLES
    }
    return write_tables(con, tables)


def analyze_benchmark(
    frame: pl.DataFrame, benchmark: str, settings: MethodSettings
) -> dict[str, pa.Table]:
    """Runs every stage of the method on one benchmark; returns its part of each table.

    Args:
        frame: rows of metrics.configuration of this benchmark.
        benchmark: canonical name.
        settings: of the method.
    """
    # scikit-learn and scipy take a second to import, which only these jobs should pay.
    from threadpoolctl import threadpool_limits

    from tasks.method.clustering import cluster_configurations
    from tasks.method.fleet import fit_fleet_law
    from tasks.method.ranking import rank_configurations
    from tasks.method.selection import select_variables
    from tasks.method.sensitivity import compare_methods

    # BLAS and OpenMP split sums by thread; with one, no table depends on the number of cores. The
    # limit stays: undoing it would undo it for a job in another thread of this process too.
    threadpool_limits(1)

    rows: Rows = {}
    rows |= select_variables(frame, benchmark, settings)
    rows |= cluster_configurations(frame, benchmark, settings)
    rows |= rank_configurations(frame, benchmark, rows["analysis.cluster"], settings)
    rows |= compare_methods(rows["analysis.ranking"], benchmark)
    rows |= fit_fleet_law(frame, benchmark, settings)
    return {table: to_arrow(table, rows[table]) for table in TABLES}
