"""One writer at a time, and a dead writer blocks nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpurank.store.run_lock import LockHeld, Owner, holder, read_owner, writing

_HOLD = (
    "import sys, time; from pathlib import Path; from gpurank.store.run_lock import writing\n"
    "with writing(Path(sys.argv[1]), 'gpurank backfill'):\n"
    "    print('held', flush=True); time.sleep(60)\n"
)


def test_second_writer_is_told_who_holds_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        writing(path, "gpurank analyze"),
        pytest.raises(LockHeld, match=f"{os.getpid()}.*gpurank analyze"),
        writing(path),
    ):
        pass
    assert holder(path) is None


def test_the_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(ZeroDivisionError), writing(path):
        raise ZeroDivisionError
    with writing(path) as predecessor:
        assert predecessor is None


def test_a_killed_owner_frees_it_and_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "held\n"
    found = holder(path)
    assert found is not None and found.pid == child.pid
    with pytest.raises(LockHeld, match=str(child.pid)), writing(path):
        pass
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert holder(path) is None
    with writing(path) as predecessor:
        assert predecessor is not None and predecessor.pid == child.pid


def test_text_without_meaning_is_no_owner(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    for text in ("", "{", "[]", json.dumps({"pid": "x"})):
        path.write_text(text)
        assert read_owner(path) is None
    assert read_owner(tmp_path / "absent") is None
    assert holder(tmp_path / "absent") is None


def test_age_is_never_negative() -> None:
    owner = Owner(1, "a", "2030-01-01T00:00:10+00:00", "gpurank run")
    assert owner.age_s(datetime(2030, 1, 1, 0, 1, 10, tzinfo=UTC)) == 60
    assert owner.age_s(datetime(2029, 1, 1, tzinfo=UTC)) == 0
