"""Metadata of an export from its contracts: Croissant (JSON-LD) and a Frictionless data package.

Formats: Croissant 1.0 of MLCommons (docs.mlcommons.org/croissant/docs/croissant-spec.html) and Data
Package of Frictionless (specs.frictionlessdata.io/data-package). The same input returns the same
mappings in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gpurank.declared.contracts import Column, Contract

NAME = "gpurank-training-configurations"
TITLE = "Training configurations, ranked and clustered (derived)"
LICENCE = "Apache-2.0"
LICENCE_URL = "https://www.apache.org/licenses/LICENSE-2.0"
DESCRIPTION = (
    "Results of MLPerf® Training by round: scores recomputed from the submitted logs, systems, "
    "runs with the lines they stand on, accelerator-minutes, rankings by delay cost and clusters. "
    "Accelerator-minutes and delay cost are derived, not official metrics. "
)
MEDIA_TYPES = {"parquet": "application/vnd.apache.parquet", "csv": "text/csv"}
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a round's data came from: repository, commit (None: unknown), raw version, day.

    ``licence`` is the repository's as SPDX identifier (None: none on record); ``licence_basis``
    says how it is known.
    """

    round_id: str
    repository: str
    commit: str | None
    version_id: str
    taken_on: str
    licence: str | None = None
    licence_basis: str | None = None


@dataclass(frozen=True, slots=True)
class File:
    """One written file: its table, format (``parquet`` or ``csv``), path, bytes, SHA-256, rows."""

    contract: Contract
    form: str
    path: str
    byte_count: int
    sha256: str
    row_count: int


def croissant(
    files: Sequence[File], origins: Sequence[Origin], notes: Sequence[str], version: str
) -> dict[str, Any]:
    """Returns the JSON-LD of an export: each file with its hash, one record set per table."""
    tables = {file.contract.table: file for file in reversed(files)}
    # Of two formats the typed one is described.
    tables.update({file.contract.table: file for file in files if file.form == "parquet"})
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": NAME,
        "description": DESCRIPTION + " ".join(notes),
        "license": LICENCE_URL,
        "url": "https://mlcommons.org/benchmarks/training/",
        "creator": {"@type": "sc:Organization", "name": "gpurank contributors"},
        "datePublished": max(origin.taken_on for origin in origins),
        "version": version,
        "citeAs": f"gpurank {version}. {TITLE}. " + " ".join(notes),
        "isBasedOn": [_based_on(origin) for origin in origins],
        "distribution": [_file_object(file) for file in files],
        "recordSet": [_record_set(tables[name]) for name in sorted(tables)],
    }


def _based_on(origin: Origin) -> dict[str, Any]:
    dataset = {
        "@type": "sc:Dataset",
        "name": f"MLPerf® Training {origin.round_id} results",
        "url": _source_url(origin),
        "version": origin.version_id,
    }
    if origin.licence:
        dataset["license"] = f"https://spdx.org/licenses/{origin.licence}"
    return dataset


def _file_object(file: File) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path,
        "description": f"{file.contract.doc} One row: {file.contract.grain}.",
        "contentUrl": file.path,
        "contentSize": f"{file.byte_count} B",
        "encodingFormat": "application/x-parquet" if file.form == "parquet" else "text/csv",
        "sha256": file.sha256,
    }


def _record_set(file: File) -> dict[str, Any]:
    table = file.contract.table
    return {
        "@type": "cr:RecordSet",
        "@id": table,
        "name": table,
        "description": f"{file.contract.doc} One row: {file.contract.grain}.",
        "key": [{"@id": f"{table}/{name}"} for name in file.contract.key],
        "field": [_record_field(table, file.path, column) for column in file.contract.columns],
    }


def _record_field(table: str, path: str, column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": column.name,
        "description": describe_column(column),
        "dataType": column.column_type.croissant,
        "source": {"fileObject": {"@id": path}, "extract": {"column": column.name}},
    }
    if column.column_type.is_list:
        field["repeated"] = True
    return field


def data_package(
    files: Sequence[File], origins: Sequence[Origin], notes: Sequence[str], version: str
) -> dict[str, Any]:
    """Returns the Frictionless descriptor: one resource per table, CSV where it was written."""
    forms = {file.form for file in files}
    chosen = [file for file in files if file.form == ("csv" if "csv" in forms else "parquet")]
    return {
        "profile": "tabular-data-package" if "csv" in forms else "data-package",
        "name": NAME,
        "title": TITLE,
        "description": DESCRIPTION + " ".join(notes),
        "version": version,
        "licenses": [{"name": LICENCE, "path": LICENCE_URL}],
        "sources": [
            {
                "title": f"MLPerf® Training {origin.round_id} results, "
                f"commit {origin.commit or 'unknown'}, version {origin.version_id}, "
                f"licence {origin.licence or 'not on record'}",
                "path": _source_url(origin),
            }
            for origin in origins
        ],
        "resources": [_resource(file) for file in chosen],
    }


def _resource(file: File) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": file.contract.table.replace(".", "-").replace("_", "-"),
        "path": file.path,
        "title": file.contract.table,
        "description": f"{file.contract.doc} One row: {file.contract.grain}.",
        "format": file.form,
        "mediatype": MEDIA_TYPES[file.form],
        "bytes": file.byte_count,
        "hash": f"sha256:{file.sha256}",
        "schema": {
            "fields": [_package_field(column) for column in file.contract.columns],
            "primaryKey": list(file.contract.key),
            "missingValues": [""],
        },
    }
    if any(column.nullable for column in file.contract.columns if column.name in file.contract.key):
        # A primary key of Frictionless may hold no empty cell; a contract's key may.
        del resource["schema"]["primaryKey"]
    if file.form == "csv":
        resource |= {"profile": "tabular-data-resource", "encoding": "utf-8"}
    return resource


def _package_field(column: Column) -> dict[str, Any]:
    field: dict[str, Any] = {
        "name": column.name,
        "type": column.column_type.frictionless,
        "description": describe_column(column),
    }
    if not column.nullable:
        field["constraints"] = {"required": True}
    return field


def describe_column(column: Column) -> str:
    """Returns a column's meaning with its unit."""
    return f"{column.doc} [{column.unit}]" if column.unit else column.doc


def origin_records(origins: Sequence[Origin]) -> list[dict[str, str | None]]:
    """Returns the origins as plain values."""
    return [asdict(origin) for origin in origins]


def _source_url(origin: Origin) -> str:
    return f"{origin.repository}/tree/{origin.commit}" if origin.commit else origin.repository
