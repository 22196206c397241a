"""What the process that reading ones are forked from does once (tasks.process.worker).

It imports what they import and makes what they all make.
"""

from __future__ import annotations

import os
from importlib import import_module

# Arrow's usual pool keeps what it was given, 40 MB in a process that writes rows. Read once, when
# Arrow is loaded.
os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")

from gpurank.declared.contracts import contract
from gpurank.declared.rounds import declared_rounds
from tasks.process.forever import forever

with forever():
    for _name in (
        "tasks.ingest.round",
        "tasks.ingest.raw_tables",
        "tasks.process.partners",
        "tasks.sources.snapshot",
    ):
        import_module(_name)
    declared_rounds()
    for _name in import_module("gpurank.logs.round_tables").TABLES:
        contract(f"raw.{_name}").arrow_schema()
