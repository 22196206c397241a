"""The checks of an analysis: counted as each layer is made, judged while the next is.

A layer's offending rows are counted at once; what Great Expectations makes of the counts is asked
for before anything rests on it that cannot be thrown away, and before any other error is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpurank.answers.warehouse import NoData
from gpurank.declared.validation import ValidationFailed, ValidationReport
from gpurank.settings import Settings

if TYPE_CHECKING:
    import duckdb

Run = Callable[["duckdb.DuckDBPyConnection", Settings], Any]


class Checks:
    """Layers that were counted and not judged yet, of one analysis at a time."""

    def __init__(self) -> None:
        self._open: list[Callable[[], ValidationReport]] = []

    def forget(self) -> None:
        """Drop what an analysis that ended early left."""
        self._open.clear()

    def begin(self, con: duckdb.DuckDBPyConnection, layer: str, settings: Settings) -> None:
        """Count a layer's offending rows; nothing where it has no contract."""
        from gpurank.declared.contracts import layer_contracts
        from tasks.checks.validate import validate_layer

        if layer_contracts(layer):
            report = validate_layer(con, layer, layer, rows_before(con, layer, settings))
            self._open.append(lambda: report)

    def settle(self) -> list[ValidationReport]:
        """The reports of all that was begun.

        Raises:
            ValidationFailed: a critical check failed; of several layers the first.
        """
        waiting, self._open = self._open, []
        return [finish() for finish in waiting]

    def before_any_error(self, run: Run) -> Run:
        """The same step; where it fails, a failed check of what it was made of is told instead."""

        def guarded(con: duckdb.DuckDBPyConnection, settings: Settings) -> Any:
            try:
                return run(con, settings)
            except ValidationFailed:
                raise
            except Exception:
                self.settle()
                raise

        return guarded


def rows_before(
    con: duckdb.DuckDBPyConnection, layer: str, settings: Settings
) -> dict[str, int] | None:
    """Rows a table of the warehouse in use, where the new one holds the same bytes and more."""
    import duckdb

    from gpurank.answers.warehouse import ask, open_warehouse

    if settings.accept_shrink:
        return None
    # Where a round's bytes changed, its raw tables were compared when it was ingested.
    held = "select round_id, content_hash from raw.round_version"
    tables = "select table_name from information_schema.tables where table_schema = ?"
    try:
        with open_warehouse(settings.warehouse_path) as old:
            if not set(ask(old, held).rows) <= set(ask(con, held).rows):
                return None
            names = [f"{layer}.{name}" for (name,) in ask(old, tables, [layer]).rows]
            return {name: row_count(old, name) for name in names}
    except (NoData, duckdb.Error):
        return None


def row_count(con: duckdb.DuckDBPyConnection, table: str) -> int:
    """Rows of a table."""
    from gpurank.answers.warehouse import ask

    return int(ask(con, f"select count(*) from {table}").rows[0][0])  # noqa: S608
