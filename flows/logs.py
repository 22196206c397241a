"""Log lines for machines: one JSON object per line on stderr."""

from __future__ import annotations

import json
import sys
import threading
from datetime import UTC, datetime
from typing import Any

from flows.console import current_console

_LOCK = threading.Lock()


def write(level: str, message: str, **more: Any) -> None:
    """Write one line: time (UTC), level, run_id, message and whatever else is given."""
    row = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": level,
        "run_id": current_console().run_id,
        "message": message,
        **more,
    }
    with _LOCK:
        print(json.dumps(row, ensure_ascii=False), file=sys.stderr, flush=True)
