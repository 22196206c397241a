"""Makes identity.*: what each reported spelling means, and each system's totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpurank.declared.contracts import RUN_ID
from gpurank.declared.declarations import CORRECTABLE
from tasks.build.load import load_frames, one_commit

if TYPE_CHECKING:
    import duckdb


# What the logs of a system's results call their platform.
_PLATFORMS = """
    SELECT DISTINCT run.round_id, folder.system_path AS path, run.platform_reported
    FROM raw.run AS run
    JOIN raw.folder AS folder USING (round_id, folder_id)
    WHERE folder.system_path IS NOT NULL AND run.platform_reported IS NOT NULL
    ORDER BY ALL
"""


def load_identity(con: duckdb.DuckDBPyConnection) -> None:
    """Makes identity.system_reported (raw.system, corrected) and the tables derived from it.

    Needs raw.* and lookup.*.
    """
    from gpurank.systems.identity import identity_tables

    with one_commit(con):
        con.execute("CREATE SCHEMA IF NOT EXISTS identity")
        con.execute(f"CREATE OR REPLACE TABLE identity.system_reported AS {_corrected_systems()}")
        con.execute(f"ALTER TABLE identity.system_reported DROP COLUMN IF EXISTS {RUN_ID}")
        systems = con.sql("SELECT * EXCLUDE (version_id) FROM identity.system_reported").pl()
        issues = con.sql("SELECT * FROM raw.issue ORDER BY ALL").pl()
        platforms = con.sql(_PLATFORMS).pl()
        load_frames(con, identity_tables(systems, issues, platforms))


def _corrected_systems() -> str:
    """Returns a query for raw.system with the declared corrections of its text columns."""
    corrected = ", ".join(
        f"""CASE WHEN map_contains(correction.values, '{name}')
            THEN correction.values['{name}'] ELSE system."{name}" END AS "{name}" """
        for name in CORRECTABLE["raw.system"]
    )
    return f"""
        SELECT system.* REPLACE ({corrected})
        FROM raw.system AS system
        LEFT JOIN (
            SELECT round_id, path, map(list(column_name), list(value)) AS values
            FROM lookup.correction
            WHERE table_name = 'raw.system' AND action IN ('replace', 'set_null')
            GROUP BY round_id, path
        ) AS correction USING (round_id, path)
        ORDER BY system.round_id, system.path
    """  # noqa: S608 (names of our own)
