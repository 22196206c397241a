"""Write the kept corpus anew: synthetic inputs, one a shape that the readers know.

What is called ``found_*`` beside them was found by fuzzing: each reaches a branch no other does.
"""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

LOG = (
    b':::MLLOG {"namespace": "", "time_ms": 1600000000000, "event_type": "INTERVAL_START", "key": '
    b'"run_start", "value": null, "metadata": {"file": "train.py", "lineno": 1}}\n'
    b':::MLLOG {"namespace": "", "time_ms": 1600000600000, "event_type": "POINT_IN_TIME", "key": '
    b'"eval_accuracy", "value": 0.76, "metadata": {"epoch_num": 2}}\n'
    b':::MLLOG {"namespace": "", "time_ms": 1600000600001, "event_type": "INTERVAL_END", "key": '
    b'"run_stop", "value": null, "metadata": {"status": "success"}}\n'
)
CORPUS: dict[str, dict[str, bytes]] = {
    "reader": {
        "mllog": LOG,
        "prefixed": LOG.replace(b":::", b"\x1b[32m0: :::").replace(b"}}\n", b"}} done\n"),
        "cut": LOG[:200] + b"\n" + LOG[100:],
        "loose": LOG.replace(b"null", b"None").replace(b'"', b"'"),
        "mll": b':::MLL 1560000000.5 run_start: {"value": null, "metadata": {"lineno": 1}}\n'
        b':::MLL 1560000600.5 run_stop: {"value": {"success": true}, "metadata": {}}\n',
        "v05": b":::MLPv0.5.0 resnet 1540000000.123 (train.py:1) run_start\n"
        b":::MLPv0.5.0 resnet 1540000900.123 (train.py:2) eval_accuracy: {\"epoch\": 1, "
        b'"value": 0.749}\n:::MLPv0.5.0 resnet 1540001000.1 (t.py:3) run_stop: {"success": true}\n',
        "wallclock": b"MLPerf: minigo [06/01/19 10:00:00], run_start\n"
        b"MLPerf: minigo [06/01/19 11:00:00], run_stop: success\n",
        "power": b':::MLLOG {"time_ms": 1600000000000, "key": "power_measurement_start"}\n'
        b':::MLLOG {"time_ms": 1600000060000, "key": "power_reading", "value": 1000.0}\n'
        b':::MLLOG {"time_ms": 1600000000000, "key": "conversion_eff", "value": 0.9}\n'
        b':::MLLOG {"time_ms": 1600000120000, "key": "power_measurement_stop"}\n',
        "contact": b':::MLLOG {"time_ms": 1, "key": "submission_poc_email", "value": "a@b.org"}\n',
    },
    "system": {
        "json": b'{"submitter": "Example", "division": "closed", "status": "cloud", "system_name":'
        b' "box", "number_of_nodes": "2", "host_processors_per_node": "2", "accelerators_per_node":'
        b' "8", "accelerator_model_name": "Example A1", "host_memory_capacity": "2 TB"}',
        "comma": b'{"submitter": "Example",\n "accelerators_per_node": 8,\n}',
        "literal": b"{'submitter': 'Example', 'number_of_nodes': 1, 'notes': None}",
        "lines": b"submitter = 'Example'\nnumber_of_nodes = 1\n",
        "entry": b'{"nodes": [{"num_nodes": "1", "num_accelerators": "8", "sys_mem_size": "1TB"}]}',
        "scaling": b'{"scaling_factor": 1.1}',
        "twice": b'{"scaling_factor": 1.1, "scaling_factor": 1.2}',
        "marked": b"\xef\xbb\xbf" + '{"submitter": "Größe"}'.encode(),
        "wide": '{"submitter": "Example"}'.encode("utf-16"),
    },
    "lookups": {
        str(number): text.encode()
        for number, text in enumerate(
            (
                "NVIDIA H100-SXM5-80GB", "8x A100 PCIe 40 GB (400W)", "TPU-v4", "tpuv5p-slice",
                "Intel(R) Xeon(R) Platinum 8480+ CPU @ 2.00GHz", "2x AMD EPYC 9654 96-Core",
                "Node1: Xeon 8360Y, Node2: EPYC 7742", "24 x 32GB RDIMM", "81559 MiB", "2 TB",
                "4x ConnectX-7 IB NDR 400Gb/s", "Compute: 8x 200Gbps; Storage: 2x 100 Gb/s",
                "Sub/results/box/resnet/result_0.txt", "closed/Sub/systems/box.json",
            )
        )
    },
}  # fmt: skip


def tar(kind: int) -> bytes:
    """A small archive in one of tarfile's formats."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=kind) as made:
        for name, data in {
            "Sub/results/box/resnet/result_0.txt": LOG,
            "Sub/systems/b.json": b"{}",
        }.items():
            info = tarfile.TarInfo(f"training_results_v4.0-{'0' * 40}/{name}")
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("Sub/results/box/resnet/result_1.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        made.addfile(link)
    return buffer.getvalue()


def main() -> None:
    """Write every input below ``tools/fuzz/corpus``."""
    import gzip

    import pyarrow as pa

    kinds = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
    archives = {name: tar(kind) for name, kind in kinds.items()}
    archives["gzip"] = gzip.compress(archives["gnu"], mtime=0)
    archives["zstd"] = pa.compress(archives["gnu"], codec="zstd", asbytes=True)
    for target, inputs in {**CORPUS, "archive": archives}.items():
        folder = Path(__file__).parent / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in inputs.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
