"""A folder on an object store, through obstore: whole objects, conditional writes, clear errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from gpurank.store.versions import StoreError

if TYPE_CHECKING:
    from obstore import UpdateVersion
    from obstore.store import ObjectStore

# A server that is not there is noticed in seconds; a slow transfer may take as long as data flows.
_CLIENT: Any = {"connect_timeout": "5s", "read_timeout": "60s", "timeout": "1800s"}
_RETRIES: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=60)}


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object's content, the tag of this content, and when it was written (the store's clock)."""

    data: bytes
    tag: UpdateVersion
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class ObjectFolder:
    """A folder on an object store. Names are relative to it, with ``/``.

    Every method raises StoreError, with the address in one line, if the store does not answer or
    denies access.
    """

    address: str
    store: ObjectStore

    def read(self, name: str) -> bytes | None:
        """Returns an object's bytes; None if there is no such object."""
        stored = self.read_tagged(name)
        return None if stored is None else stored.data

    def read_tagged(self, name: str) -> StoredObject | None:
        """Returns an object with its tag; None if there is no such object."""
        import obstore

        with self._explain_errors():
            try:
                result = obstore.get(self.store, name)
                data = bytes(result.bytes())
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None
            meta = result.meta
            return StoredObject(data, _tag(meta), meta["last_modified"])

    def stamp(self, name: str) -> str | None:
        """Returns a text that changes with an object's content; None if there is no such object."""
        import obstore

        with self._explain_errors():
            try:
                meta = obstore.head(self.store, name)
            except FileNotFoundError:
                return None
            return f"{meta['e_tag']} {meta['size']}"

    def exists(self, name: str) -> bool:
        """Returns whether there is an object of this name."""
        return self.stamp(name) is not None

    def write(self, name: str, data: bytes) -> None:
        """Writes an object whole, in place of an older one."""
        import obstore

        with self._explain_errors():
            obstore.put(self.store, name, data)

    def create(self, name: str, data: bytes) -> UpdateVersion | None:
        """Writes an object only if there is none of its name; returns its tag, or None."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._explain_errors():
            try:
                result = obstore.put(self.store, name, data, mode="create")
            except AlreadyExistsError:
                return None
            return _tag(result)

    def replace(self, name: str, data: bytes, tag: UpdateVersion) -> UpdateVersion | None:
        """Writes an object only in place of the content with this tag; returns its tag, or None."""
        import obstore
        from obstore.exceptions import PreconditionError

        with self._explain_errors():
            try:
                result = obstore.put(self.store, name, data, mode=tag)
            except (PreconditionError, FileNotFoundError):
                return None
            return _tag(result)

    def folders(self, below: str) -> list[str]:
        """Returns the names of the folders directly in a folder, sorted."""
        return self._names(below, "common_prefixes")

    def files(self, below: str) -> list[str]:
        """Returns the names of the objects directly in a folder, sorted."""
        return self._names(below, "objects")

    def delete(self, name: str) -> None:
        """Deletes an object, if there is one of this name."""
        self._delete([name])

    def delete_folder(self, below: str) -> None:
        """Deletes every object in a folder."""
        import obstore

        with self._explain_errors():
            paths = [meta["path"] for meta in obstore.list(self.store, f"{below}/").collect()]
        if paths:
            self._delete(paths)

    def _delete(self, paths: list[str]) -> None:
        import obstore

        with self._explain_errors():
            try:
                obstore.delete(self.store, paths)
            except FileNotFoundError:
                return

    def _names(self, below: str, kind: str) -> list[str]:
        import obstore

        with self._explain_errors():
            result: dict[str, Any] = dict(obstore.list_with_delimiter(self.store, f"{below}/"))
        paths = [entry if isinstance(entry, str) else entry["path"] for entry in result[kind]]
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    @contextmanager
    def _explain_errors(self) -> Iterator[None]:
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

        try:
            yield
        except (PermissionDeniedError, UnauthenticatedError, PermissionError) as error:
            raise StoreError(
                f"{self.address} denies access ({_reason(error)}); check the credentials and their "
                "rights"
            ) from None
        except (BaseError, OSError) as error:
            if "NoSuchBucket" in str(error):
                raise StoreError(
                    f"{self.address} does not exist: there is no such bucket; create it, or check "
                    "GPURANK_HOME"
                ) from None
            raise StoreError(
                f"{self.address} cannot be reached ({_reason(error)}); check GPURANK_HOME and the "
                "network, then run again"
            ) from None


def open_folder(address: str) -> ObjectFolder:
    """Returns the folder at an address such as ``s3://bucket/prefix?region=eu-west-1``.

    The query holds obstore's settings of that kind of store. ``endpoint_override`` (host and
    port) and ``scheme`` name another server than the provider's.

    Raises:
        StoreError: the address cannot be used.
    """
    from obstore.exceptions import BaseError
    from obstore.store import from_url

    parts = urlsplit(address)
    if "@" in parts.netloc:
        raise StoreError(
            "the address of the data folder holds a name or password; leave them out and set the "
            "environment variables of the provider"
        )
    if parts.scheme.lower() in ("file", "http", "https", "memory"):
        raise StoreError(
            f"{address} cannot be used as a data folder: it is not an object store; give s3://, "
            "gs://, az://, or the path of a folder"
        )
    options: Any = dict(parse_qsl(parts.query))
    scheme, server = options.pop("scheme", "https"), options.pop("endpoint_override", None)
    if server is not None:
        options["endpoint"] = f"{scheme}://{server}"
    client: Any = {**_CLIENT, "allow_http": scheme == "http"}
    try:
        store = from_url(
            parts._replace(query="").geturl(),
            config=options or None,
            client_options=client,
            retry_config=_RETRIES,
        )
    except (BaseError, OSError, ValueError) as error:
        raise StoreError(f"{address} cannot be used as a data folder: {_reason(error)}") from None
    return ObjectFolder(address, store)


def _tag(meta: Any) -> UpdateVersion:
    """Returns what identifies the content of an object; stores have an e-tag, a version or both."""
    tag: UpdateVersion = {}
    if meta["e_tag"] is not None:
        tag["e_tag"] = meta["e_tag"]
    if meta["version"] is not None:
        tag["version"] = meta["version"]
    return tag


def _reason(error: BaseException) -> str:
    """Returns the last clause of obstore's message; the rest repeats the request."""
    first_line = str(error).strip().partition("\n")[0]
    return first_line.rpartition(" - ")[2].partition(": <?xml")[0][:200] or type(error).__name__
