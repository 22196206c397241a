"""What filed spellings mean: accelerators, processors, submitters, statuses, divisions, frameworks.

Facts and spellings stand in ``warehouse/lookups``. A spelling that no list and no safe rule knows
stays unresolved and names the closest known one, if any is near; nothing is guessed or defaulted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Literal, get_args

import polars as pl

from gpurank.systems import accelerators, cpus
from gpurank.systems.platforms import platform_issues
from gpurank.systems.quantities import memory_gib, network_gbps
from gpurank.systems.spellings import BLANK, LONGEST, Match, closest, is_blank, normal, rows
from gpurank.systems.totals import totals

Kind = Literal["accelerator", "cpu", "submitter", "status", "division", "framework", "network"]

_SCHEMAS: dict[str, dict[str, Any]] = {
    "accelerator": accelerators.SCHEMA,
    "cpu": cpus.SCHEMA,
    "submitter": {"submitter": pl.String, "members": pl.List(pl.String), "is_joint": pl.Boolean},
    "status": {"availability": pl.String, "is_on_premises": pl.Boolean},
    "division": {"division": pl.String},
    "framework": {"framework": pl.String, "frameworks": pl.List(pl.String)},
    "network": {"network_gbps_per_node": pl.Float64},
}
_ISSUE_SCHEMA: dict[str, Any] = dict.fromkeys(
    ("round_id", "level", "kind", "message", "source_file"), pl.String
)
_SYSTEM_ACCELERATOR_SCHEMA: dict[str, Any] = {
    "round_id": pl.String,
    "path": pl.String,
    **accelerators.SCHEMA,
}
# The columns of raw.system that hold each kind's spellings.
_COLUMNS: dict[str, tuple[str, ...]] = {
    "accelerator": ("accelerator_reported",),
    "cpu": ("host_cpu_reported",),
    "submitter": ("submitter_reported", "submitter_folder"),
    "status": ("status_reported",),
    "division": ("division_reported",),
    "framework": ("framework_reported",),
    "network": ("host_networking_reported", "host_network_card_count_reported"),
}
# Networks are free text; that most of them state no speed is expected.
_KINDS_WITHOUT_ISSUES = frozenset(("network",))
_JOIN = re.compile(r"\s*[+&]\s*")
_LEGAL_FORM = re.compile(
    r"(?:[\s,]+(?:incorporated|inc|corporation|corp|company|co|limited|ltd|llc|gmbh)\.?)+$", re.I
)


# One submitter with two submissions numbers them: Google_1, Dell-2.
_SUBMISSION_NUMBER = re.compile(r"[\s_-]+\(?#?\d{1,2}\)?$")


def _squeeze(text: str) -> str:
    """Returns a name's letters and digits alone, in lower case."""
    return re.sub(r"[\W_]+", "", normal(text))


@cache
def _submitters() -> dict[str, dict[str, str]]:
    return {_squeeze(row["reported"]): row for row in rows("submitter")}


def _submitter(text: str, _round_id: str | None) -> Match:
    """Returns one submitter or several; a new one keeps its filed name and stays unresolved."""
    row = _submitters().get(_squeeze(text))
    if row is not None:
        is_listed = any(normal(text) == normal(known["reported"]) for known in rows("submitter"))
        return Match("lookup" if is_listed else "rule", _organisations(row["members"].split(";")))
    parts = [_listed_submitter(part) for part in _JOIN.split(text)]
    if all(part is not None for part in parts):
        members = [name for part in parts if part for name in part["members"].split(";")]
        return Match("rule", _organisations(members))
    near = closest(text, (known["reported"] for known in rows("submitter")))
    return Match("unresolved", _organisations([" ".join(text.split())]), near)


def _listed_submitter(text: str) -> dict[str, str] | None:
    """Returns the row of a submitter filed with its legal form or with a submission's number."""
    for name in (_LEGAL_FORM.sub("", text), _SUBMISSION_NUMBER.sub("", text)):
        if row := _submitters().get(_squeeze(name)):
            return row
    return None


def _organisations(members: list[str]) -> dict[str, Any]:
    names = sorted(set(members), key=str.casefold)
    return {"submitter": "+".join(names), "members": names, "is_joint": len(names) > 1}


@cache
def _status_words() -> dict[str, tuple[str, str]]:
    return {row["word"]: (row["kind"], row["value"]) for row in rows("status_word")}


def _status(text: str, _round_id: str | None) -> Match:
    """Returns category and site, if every word is known and no two of them contradict."""
    words = re.sub(r"[\W_]+", " ", normal(text)).split()
    stated: dict[str, set[str]] = {"category": set(), "site": set(), "noise": set()}
    while words:
        pair = " ".join(words[:2])
        taken = 2 if len(words) > 1 and pair in _status_words() else 1
        kind, value = _status_words().get(" ".join(words[:taken]), ("", ""))
        if not kind:
            return Match("unresolved", {}, closest(text, _status_words()))
        stated[kind].add(value)
        words = words[taken:]
    category, site = stated["category"], stated["site"]
    if len(category) > 1 or len(site) > 1 or not category | site:
        return Match("unresolved", {}, closest(text, _status_words()))
    # A bare "onprem" or "cloud" is how older rounds wrote an available system.
    values = {
        "availability": next(iter(category), "available"),
        "is_on_premises": "on_premises" in site if site else None,
    }
    return Match("lookup", values)


def _division(text: str, _round_id: str | None) -> Match:
    divisions = {row["reported"]: row["division"] for row in rows("division")}
    division = divisions.get(normal(text))
    if division is None:
        return Match("unresolved", {}, closest(text, divisions))
    return Match("lookup", {"division": division})


@cache
def _frameworks() -> tuple[tuple[re.Pattern[str], str], ...]:
    return tuple((re.compile(row["pattern"]), row["framework"]) for row in rows("framework_word"))


def _framework(text: str, _round_id: str | None) -> Match:
    """Returns every framework that the text names; none where it names a container or a driver."""
    plain = normal(text).replace("_", " ")
    names = sorted({name for pattern, name in _frameworks() if pattern.search(plain)})
    if not names:
        return Match("unresolved", {}, None)
    return Match("lookup", {"framework": "+".join(names), "frameworks": names})


def _network(text: str, _round_id: str | None) -> Match:
    speed = network_gbps(text)
    if speed is None:
        return Match("unresolved", {}, None)
    return Match("rule", {"network_gbps_per_node": speed})


_RESOLVERS: dict[str, Callable[[str, str | None], Match]] = {
    "accelerator": accelerators.identify_accelerator,
    "cpu": lambda text, _round_id: cpus.identify_cpu(text),
    "submitter": _submitter,
    "status": _status,
    "division": _division,
    "framework": _framework,
    "network": _network,
}


def resolve_one(kind: Kind, text: str | None, round_id: str | None = None) -> Match:
    """Returns what one spelling of a kind means; ``blank`` for null, empty and placeholders."""
    if text is None or is_blank(text):
        return BLANK
    if len(text) > LONGEST:
        return Match("unresolved")
    return _RESOLVERS[kind](text, round_id)


def resolve(
    kind: Kind, reported: Sequence[str | None], round_ids: Sequence[str | None] | None = None
) -> pl.DataFrame:
    """Returns what spellings mean, one row each in their order.

    Args:
        kind: accelerator, cpu, submitter, status, division, framework or network.
        reported: the texts as filed.
        round_ids: the round of each, where known; some spellings depend on it.

    Returns:
        reported, the kind's canonical columns, method (lookup, rule, unresolved, blank) and
        closest, the known name that an unresolved one is most like.

    Raises:
        ValueError: round_ids and reported differ in length.
    """
    rounds = [None] * len(reported) if round_ids is None else list(round_ids)
    matches: dict[tuple[str | None, str | None], Match] = {}
    records = []
    for text, round_id in zip(reported, rounds, strict=True):
        if (text, round_id) not in matches:
            matches[text, round_id] = resolve_one(kind, text, round_id)
        match = matches[text, round_id]
        canonical = {name: match.values.get(name) for name in _SCHEMAS[kind]}
        records.append(
            {"reported": text, **canonical, "method": match.method, "closest": match.closest}
        )
    schema = {
        "reported": pl.String,
        **_SCHEMAS[kind],
        "method": pl.String,
        "closest": pl.String,
    }
    return pl.DataFrame(records, schema=schema)


def spelling_table(kind: Kind, systems: pl.DataFrame) -> pl.DataFrame:
    """Returns identity.<kind>: one row per (round_id, reported) of raw.system, without nulls."""
    keys = pl.concat(
        [systems.select("round_id", pl.col(column).alias("reported")) for column in _COLUMNS[kind]]
    )
    keys = keys.drop_nulls("reported").unique().sort("round_id", "reported")
    meanings = resolve(kind, keys["reported"].to_list(), keys["round_id"].to_list())
    return pl.concat([keys.select("round_id"), meanings], how="horizontal")


def system_accelerators(systems: pl.DataFrame) -> pl.DataFrame:
    """Returns identity.system_accelerator: one row per description, in its order.

    The name decides; where it leaves the variant open, the memory filed with it does. Columns
    are null where the description names no accelerator, or one that is not known.
    """
    records = []
    columns = ("round_id", "path", "accelerator_reported", "accelerator_memory_reported")
    for round_id, path, name, memory in systems.select(columns).iter_rows():
        match = accelerators.identify_accelerator(name, round_id, memory_gib(memory))
        values = {column: match.values.get(column) for column in accelerators.SCHEMA}
        records.append({"round_id": round_id, "path": path, **values})
    return pl.DataFrame(records, schema=_SYSTEM_ACCELERATOR_SCHEMA)


def identity_tables(
    systems: pl.DataFrame,
    issues: pl.DataFrame | None = None,
    platforms: pl.DataFrame | None = None,
) -> dict[str, pl.DataFrame]:
    """Returns every table of the identity schema by name (``identity.accelerator`` …).

    Args:
        systems: raw.system with round_id, declared corrections applied.
        issues: raw.issue with round_id, or None.
        platforms: round_id, path (of a description) and platform_reported (of the logs of its
            results), distinct; or None.
    """
    kinds: tuple[Kind, ...] = get_args(Kind)
    tables: dict[str, pl.DataFrame] = {kind: spelling_table(kind, systems) for kind in kinds}
    system_total = totals(systems, issues)
    system_accelerator = system_accelerators(systems)
    found_issues = [
        spelling_issues(tables, systems),
        total_issues(system_total),
        note_issues(systems),
    ]
    if platforms is not None:
        found_issues.append(platform_issues(platforms, system_accelerator))
    return {
        **{f"identity.{kind}": table for kind, table in tables.items()},
        "identity.system_accelerator": system_accelerator,
        "identity.system_total": system_total,
        "identity.issue": pl.concat(found_issues),
    }


def total_issues(system_total: pl.DataFrame) -> pl.DataFrame:
    """Returns an issue for each system without an accelerator count or with a doubtful one."""
    missing = pl.col("count_missing_reason").is_not_null()
    return system_total.filter(missing | pl.col("is_low_confidence")).select(
        "round_id",
        pl.when(missing).then(pl.lit("warning")).otherwise(pl.lit("info")).alias("level"),
        pl.when(missing)
        .then(pl.lit("system_count_missing"))
        .otherwise(pl.lit("system_count_doubtful"))
        .alias("kind"),
        pl.coalesce("count_missing_reason", "explanation").alias("message"),
        pl.col("path").alias("source_file"),
    )


def note_issues(systems: pl.DataFrame) -> pl.DataFrame:
    """Returns an issue for each description whose accelerator's name contradicts itself."""
    records = []
    columns = ("round_id", "path", "accelerator_reported")
    for round_id, path, name in systems.select(columns).iter_rows():
        note = accelerators.identify_accelerator(name, round_id).note
        if note is not None:
            message = f"accelerator {name!r}: {note}"
            records.append((round_id, "info", "accelerator_contradiction", message, path))
    return pl.DataFrame(records, schema=_ISSUE_SCHEMA, orient="row")


def spelling_issues(tables: dict[str, pl.DataFrame], systems: pl.DataFrame) -> pl.DataFrame:
    """Returns an issue for each description and spelling of it that stays unresolved.

    Args:
        tables: spelling tables by kind.
        systems: raw.system with round_id.

    Returns:
        round_id, level, kind, message, source_file (the description).
    """
    records = set()
    for kind, table in tables.items():
        if kind in _KINDS_WITHOUT_ISSUES:
            continue
        unresolved = table.filter(pl.col("method") == "unresolved")
        level = "info" if kind in ("submitter", "framework") else "warning"
        for column in _COLUMNS[kind]:
            filed = systems.select("round_id", "path", pl.col(column).alias("reported"))
            for row in filed.join(unresolved, on=("round_id", "reported")).iter_rows(named=True):
                near = f"; the closest known one is {row['closest']!r}" if row["closest"] else ""
                message = f"{kind} {row['reported']!r} is not known{near}"
                records.add((row["round_id"], level, f"unresolved_{kind}", message, row["path"]))
    return pl.DataFrame(sorted(records), schema=_ISSUE_SCHEMA, orient="row")
