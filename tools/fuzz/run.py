"""Fuzz targets, guided by coverage: ``python -m tools.fuzz.run <target> --seconds 60``.

Needs atheris (a development extra, imported here alone). The kept corpus is the start; what is
found on the way stands in ``data/fuzz/<target>``, an input that fails in ``data/fuzz/crash-*``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"


def main() -> None:
    """Run one target for a time; exits with another code than 0 where it fails."""
    import atheris

    with atheris.instrument_imports(include=["gpurank", "tasks"]):
        from tools.fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="tools.fuzz.run", description=__doc__)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    args = parser.parse_args()
    found = Path("data/fuzz") / args.target
    found.mkdir(parents=True, exist_ok=True)
    options = [
        sys.argv[0], f"-max_total_time={args.seconds}", "-max_len=65536", "-timeout=10",
        "-rss_limit_mb=3000", f"-artifact_prefix={found.parent}/crash-{args.target}-",
        str(found), str(CORPUS / args.target),
    ]  # fmt: skip
    atheris.Setup(options, TARGETS[args.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
