"""Metadata of an export, made from the contracts: Croissant (JSON-LD) and a Frictionless package.

Formats: Croissant 1.0 of MLCommons (docs.mlcommons.org/croissant/docs/croissant-spec.html) and Data
Package of Frictionless (specs.frictionlessdata.io/data-package). Pure: the same input gives the
same mappings in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

    ``licence`` is that of the repository (SPDX; None: none on record), ``licence_basis`` how it is
    known.
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
    """The JSON-LD of an export: each file with its hash, a record set a table."""
    tables = {file.contract.table: file for file in reversed(files)}
    # Of two formats the typed one is described; the other is a file beside it.
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
    made = {
        "@type": "sc:Dataset",
        "name": f"MLPerf® Training {origin.round_id} results",
        "url": _tree(origin),
        "version": origin.version_id,
    }
    return made | ({"license": _licence_url(origin.licence)} if origin.licence else {})


def _licence_url(licence: str) -> str:
    return f"https://spdx.org/licenses/{licence}"


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
        "field": [_field(table, file.path, column) for column in file.contract.columns],
    }


def _field(table: str, path: str, column: Column) -> dict[str, Any]:
    made: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table}/{column.name}",
        "name": column.name,
        "description": described(column),
        "dataType": column.column_type.croissant,
        "source": {"fileObject": {"@id": path}, "extract": {"column": column.name}},
    }
    if column.column_type.is_list:
        made["repeated"] = True
    return made


def data_package(
    files: Sequence[File], origins: Sequence[Origin], notes: Sequence[str], version: str
) -> dict[str, Any]:
    """The Frictionless descriptor: one resource a table, of CSV where it was written."""
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
                "path": _tree(origin),
            }
            for origin in origins
        ],
        "resources": [_resource(file) for file in chosen],
    }


def _resource(file: File) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": file.contract.table.replace(".", "-").replace("_", "-"),
        "path": file.path,
        "title": file.contract.table,
        "description": f"{file.contract.doc} One row: {file.contract.grain}.",
        "format": file.form,
        "mediatype": MEDIA_TYPES[file.form],
        "bytes": file.byte_count,
        "hash": f"sha256:{file.sha256}",
        "schema": {
            "fields": [_frictionless(column) for column in file.contract.columns],
            "primaryKey": list(file.contract.key),
            "missingValues": [""],
        },
    }
    if any(column.nullable for column in _key_columns(file.contract)):
        # A primary key may hold no empty cell there; ours counts two empty cells as equal.
        del made["schema"]["primaryKey"]
    if file.form == "csv":
        made |= {"profile": "tabular-data-resource", "encoding": "utf-8"}
    return made


def _key_columns(contract: Contract) -> list[Column]:
    return [column for column in contract.columns if column.name in contract.key]


def _frictionless(column: Column) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": column.name,
        "type": column.column_type.frictionless,
        "description": described(column),
    }
    if not column.nullable:
        made["constraints"] = {"required": True}
    return made


def described(column: Column) -> str:
    """A column's meaning with its unit."""
    return f"{column.doc} [{column.unit}]" if column.unit else column.doc


def provenance(origins: Sequence[Origin]) -> list[Mapping[str, str | None]]:
    """Rounds with what they were taken from, as plain values."""
    return [
        {
            "round_id": origin.round_id,
            "repository": origin.repository,
            "commit": origin.commit,
            "version_id": origin.version_id,
            "taken_on": origin.taken_on,
            "licence": origin.licence,
            "licence_basis": origin.licence_basis,
        }
        for origin in origins
    ]


def _tree(origin: Origin) -> str:
    return f"{origin.repository}/tree/{origin.commit}" if origin.commit else origin.repository
