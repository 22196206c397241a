"""Reads untrusted archives as a stream, within size limits, to the end of the file."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, cast

from gpurank.errors import GpurankError
from gpurank.logs.source_files import MIB, readable_path
from tasks.sources.base import PATH_LIMIT, SourceError

# Published rounds hold up to 6,000 data files; a whole repository some tens of thousands.
ENTRY_LIMIT = 200_000
# A round's data is up to 0.8 GB; a whole repository a few GB.
TOTAL_LIMIT_B = 16 << 30
# Logs of many ranks compress 10 to 40 times. Small archives of repetitive text may compress more
# and do no harm, so that the ratio counts only beyond RATIO_FROM_B.
RATIO_LIMIT = 200
RATIO_FROM_B = 256 * MIB
# Bytes unpacked per call.
BUFFER_B = 1 * MIB
# Size of the name or comment of an entry, which tarfile reads into memory whole.
HEADER_LIMIT_B = 1 * MIB
_ZERO_BLOCK = bytes(tarfile.BLOCKSIZE)
_LONG_HEADERS = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)


class Refused(GpurankError):
    """Says what is wrong with an archive; explain_errors makes it a SourceError with the path."""


class _Entry(tarfile.TarInfo):
    """An entry that raises an error if it is damaged; tarfile would take it for the end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _Entry:
        try:
            entry = super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            what = "is cut off: it ends without its end mark" if len(buf) < 512 else "is damaged"
            raise Refused(f"{what} ({error})") from None
        if entry.type in _LONG_HEADERS and entry.size > HEADER_LIMIT_B:
            raise Refused(f"has an entry whose header is {entry.size} B long")
        return entry


class _Limited(RawIOBase):
    """The unpacked stream; raises an error beyond the size limits."""

    def __init__(self, stream: Any, packed_b: int) -> None:
        self._stream = stream
        self._packed_b = packed_b
        self._given_b = 0

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        count = int(self._stream.readinto(into))
        self._given_b += count
        if self._given_b > TOTAL_LIMIT_B:
            raise Refused(f"unpacks to more than {TOTAL_LIMIT_B >> 20} MiB")
        if self._given_b > RATIO_FROM_B and self._given_b > RATIO_LIMIT * self._packed_b:
            raise Refused(f"unpacks to more than {RATIO_LIMIT} times its size")
        return count


class _Forward:
    """The file-like object that tarfile reads from: it only seeks forward."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._position = 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._position += len(data)
        return data

    def tell(self) -> int:
        return self._position

    def seek(self, position: int) -> None:
        if position < self._position:
            raise tarfile.StreamError("an entry points back to bytes already read")
        while position > self._position and self.read(min(position - self._position, MIB)):
            pass


def clean_name(name: str) -> str:
    """Returns an entry's name as a path below the archive's root.

    Raises:
        Refused: it leads outside, or is longer than any path.
    """
    raw = name.encode("utf-8", "surrogateescape")
    if len(raw) > PATH_LIMIT:
        raise Refused(f"has an entry whose name is {len(raw)} B long")
    text = readable_path(raw)
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/") or ".." in parts:
        raise Refused(f"has an entry that leads outside: {text!r}")
    return "/".join(parts)


def read_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    """Returns the bytes of the entry that the stream has reached.

    Raises:
        Refused: the archive ends before them.
    """
    stream = cast(Any, archive.fileobj)
    stream.seek(entry.offset_data)
    data: bytes = stream.read(entry.size)
    if len(data) != entry.size:
        raise Refused("is cut off: it ends within an entry")
    return data


def entries(raw: BufferedReader, path: Path) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """Yields every entry with its archive; checks at the end that nothing is missing or left over.

    Raises:
        SourceError: the archive is damaged, cut off, beyond a limit, or a name leads outside.
    """
    with explain_errors(path), _decompressed(raw, path) as stream:
        limited = BufferedReader(_Limited(stream, path.stat().st_size), BUFFER_B)
        forward = cast(Any, _Forward(limited))
        with tarfile.open(fileobj=forward, mode="r:", tarinfo=_Entry, encoding="utf-8") as archive:
            seen = 0
            while (entry := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]
                seen += 1
                if seen > ENTRY_LIMIT:
                    raise Refused(f"has more than {ENTRY_LIMIT} entries")
                if entry.size < 0:
                    raise Refused(f"has an entry that claims {entry.size} B")
                # Checked before skipping there: tarfile would step for years past the file's end.
                if archive.offset > TOTAL_LIMIT_B:
                    raise Refused(f"unpacks to more than {TOTAL_LIMIT_B >> 20} MiB")
                clean_name(entry.name)
                yield archive, entry
            while part := forward.read(MIB):
                if part.strip(b"\0"):
                    raise Refused("goes on after its end mark")
        if seen == 0:
            raise Refused("is empty")


@contextmanager
def open_archive(path: Path) -> Iterator[BufferedReader]:
    """Opens the archive's compressed bytes."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise SourceError(f"{path} cannot be read ({error.strerror}); check the path") from None
    with stream:
        yield stream


@contextmanager
def explain_errors(path: Path) -> Iterator[None]:
    """Turns whatever goes wrong while an archive is read into a SourceError that names it."""
    import pyarrow as pa

    try:
        yield
    except SourceError:
        raise
    except Refused as error:
        raise SourceError(
            f"{path} {error}; get the archive again from a source you trust"
        ) from None
    except (
        tarfile.TarError,
        zlib.error,
        EOFError,
        OSError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
        pa.ArrowException,
    ) as error:
        raise SourceError(f"{path} is not a whole archive ({error}); get it again") from None


@contextmanager
def _decompressed(raw: BufferedReader, path: Path) -> Iterator[Any]:
    """Opens the stream inside the compression that the file's first bytes show."""
    start = raw.read(512)
    raw.seek(0)
    if start.startswith(b"\x28\xb5\x2f\xfd") or (start[1:4] == b"\x2a\x4d\x18"):
        import pyarrow as pa

        # Arrow closes the file it is given; the caller closes this one.
        with pa.input_stream(pa.PythonFile(_Unclosed(raw), "r"), compression="zstd") as stream:
            yield stream
    elif start.startswith(b"\x1f\x8b"):
        with gzip.GzipFile(fileobj=raw, mode="rb") as stream:
            yield stream
    elif start[257:262] == b"ustar" or start[:512] == _ZERO_BLOCK:
        yield raw
    elif start.startswith(b"version https://git-lfs"):
        raise SourceError(f"{path} is a Git LFS pointer, not the archive; run git lfs pull")
    else:
        what = "empty" if not start else "neither zstd, gzip nor tar"
        raise SourceError(f"{path} is {what}, so it is not an archive of a round; get it again")


class _Unclosed:
    """A file that Arrow may read but not close."""

    closed = False

    def __init__(self, raw: BufferedReader) -> None:
        self._raw = raw

    def read(self, size: int = -1) -> bytes:
        return self._raw.read(size)

    def close(self) -> None:
        return
