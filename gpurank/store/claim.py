"""One run at a time on an object store: a claim that its owner renews and that expires.

The claim is one object, ``claim.json``, taken by a conditional write: the store itself decides
which of two runs was first. While the run lives, a thread renews the claim every RENEW_S. A claim
that was not renewed for LEASE_S is a dead run's, and the next run takes it over. Ages are by the
store's own clock. Deleting ``claim.json`` ends a claim at once: its run, if it still lives, stops
at its next write.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gpurank.store.object_folder import ObjectFolder
from gpurank.store.run_lock import LockHeld, Owner
from gpurank.store.versions import StoreError

if TYPE_CHECKING:
    from obstore import UpdateVersion

CLAIM = "claim.json"
LEASE_S = 300.0
RENEW_S = 60.0

# Written to learn the store's time.
_CLOCK = "clock"
_FREE = b"{}\n"


@dataclass(slots=True)
class Claim:
    """A claim that this process holds. ``is_lost`` once another run or a person has ended it."""

    folder: ObjectFolder
    owner: Owner
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    renewals: int = 0
    tag: UpdateVersion | None = None
    is_lost: bool = False

    def take(self) -> None:
        """Takes the claim if nobody holds it, or only a dead run.

        Raises:
            LockHeld: a living run holds it.
            StoreError: the store cannot be reached.
        """
        tag = self.folder.create(CLAIM, self._content())
        if tag is None:
            stored = self.folder.read_tagged(CLAIM)
            if stored is None:
                tag = self.folder.create(CLAIM, self._content())
            elif _token(stored.data) == self.token:
                tag = stored.tag
            elif _owner(stored.data) is None or _age_s(self.folder, stored.modified_at) > LEASE_S:
                tag = self.folder.replace(CLAIM, self._content(), stored.tag)
        if tag is None:
            raise LockHeld(
                self.folder.address,
                _owner(self.folder.read(CLAIM) or _FREE),
                f"wait for it to end (a dead run's claim expires {LEASE_S / 60:.0f} minutes after "
                f"its last renewal; deleting {CLAIM} there ends it at once)",
            )
        self.tag = tag

    def renew(self) -> None:
        """Renews the claim, or finds that it is lost. A store that does not answer changes nothing.

        A write whose answer was lost is repeated by obstore and then fails its condition, which
        is why the token decides.
        """
        assert self.tag is not None, "take the claim first"
        self.renewals += 1
        try:
            tag = self.folder.replace(CLAIM, self._content(), self.tag)
            if tag is None:
                stored = self.folder.read_tagged(CLAIM)
                if stored is None or _token(stored.data) != self.token:
                    self.is_lost = True
                    return
                tag = stored.tag
        except StoreError:
            return
        self.tag = tag

    def release(self) -> None:
        """Marks the claim as free. If the store does not answer, the claim expires by itself."""
        if not self.is_lost and self.tag is not None:
            with suppress(StoreError):
                self.folder.replace(CLAIM, _FREE, self.tag)

    def check(self) -> None:
        """Raises StoreError if the claim is lost."""
        if self.is_lost:
            raise StoreError(
                f"{self.folder.address} is no longer claimed by this run: it was out of reach for "
                f"more than {LEASE_S / 60:.0f} minutes, or somebody deleted {CLAIM}. Nothing more "
                "is written; run again"
            )

    def _content(self) -> bytes:
        row = {"owner": asdict(self.owner), "token": self.token, "renewals": self.renewals}
        return json.dumps(row).encode() + b"\n"


@contextmanager
def hold_claim(folder: ObjectFolder, command: str) -> Iterator[Claim]:
    """Holds the claim for the block and renews it meanwhile.

    Raises:
        LockHeld: a living run holds it.
        StoreError: the store cannot be reached.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    claim = Claim(folder, Owner(os.getpid(), socket.gethostname(), started, command))
    claim.take()
    ended = threading.Event()

    def keep_renewing() -> None:
        while not ended.wait(RENEW_S) and not claim.is_lost:
            claim.renew()

    renewing = threading.Thread(target=keep_renewing, name="renew-claim", daemon=True)
    renewing.start()
    try:
        yield claim
    finally:
        ended.set()
        renewing.join()
        claim.release()


def claim_holder(folder: ObjectFolder) -> tuple[Owner, float] | None:
    """Returns who holds the claim and the seconds since its last renewal; None if it is free.

    Raises:
        StoreError: the store cannot be reached.
    """
    stored = folder.read_tagged(CLAIM)
    owner = None if stored is None else _owner(stored.data)
    if stored is None or owner is None:
        return None
    return owner, (datetime.now(UTC) - stored.modified_at).total_seconds()


def _age_s(folder: ObjectFolder, modified_at: datetime) -> float:
    """Returns the seconds since an object was written, by the store's own clock."""
    folder.write(_CLOCK, uuid.uuid4().hex.encode())
    now = folder.read_tagged(_CLOCK)
    return 0.0 if now is None else (now.modified_at - modified_at).total_seconds()


def _owner(data: bytes) -> Owner | None:
    try:
        return Owner(**json.loads(data)["owner"])
    except (ValueError, KeyError, TypeError):
        return None


def _token(data: bytes) -> str | None:
    try:
        return str(json.loads(data)["token"])
    except (ValueError, KeyError, TypeError):
        return None
