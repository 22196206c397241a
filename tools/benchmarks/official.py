"""The consortium's own parser on the same logs; run by the Python of its own environment."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def parse(folder: str, ruleset: str) -> dict[str, float]:
    """Parses every log in a folder; returns seconds, bytes and the records it understood."""
    from mlperf_logging.compliance_checker.mlp_parser import parse_file

    paths = sorted(Path(folder).glob("*.log"))
    start = time.perf_counter()
    record_count = sum(len(parse_file(str(path), ruleset)[0]) for path in paths)
    seconds = time.perf_counter() - start
    byte_count = sum(path.stat().st_size for path in paths)
    return {"seconds": seconds, "bytes": byte_count, "records": record_count}


if __name__ == "__main__":
    print(json.dumps(parse(*sys.argv[1:])))
