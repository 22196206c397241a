"""The consortium's own parser on the same logs; run by the Python of its own environment."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from mlperf_logging.compliance_checker.mlp_parser import parse_file


def main(work: str, ruleset: str) -> None:
    """Parse every log in a folder; prints seconds, bytes and lines that it understood."""
    paths = sorted(Path(work).glob("*.log"))
    clock = time.process_time if os.environ.get("BENCH_CLOCK") == "cpu" else time.perf_counter
    start = clock()
    records = 0
    for path in paths:
        found, _ = parse_file(str(path), ruleset)
        records += len(found)
    seconds = clock() - start
    size = sum(path.stat().st_size for path in paths)
    print(json.dumps({"seconds": seconds, "bytes": size, "records": records}))


if __name__ == "__main__":
    main(*sys.argv[1:])
