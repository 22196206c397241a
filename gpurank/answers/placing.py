"""A person's own result set beside the published ones of its benchmark: unreviewed, never ranked
among them, only held against them. docs/method.md, section 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers import warehouse as reading
from gpurank.answers.own_runs import (
    OwnResult,
    OwnRunsError,
    benchmark_of,
    files_of,
    logs_of,
    own_result,
)
from gpurank.answers.warehouse import Answer, NoData
from gpurank.declared.rounds import round_order
from gpurank.settings import load

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LABEL = "own runs, unreviewed"


@dataclass(frozen=True, slots=True)
class Beside:
    """One published result and what it takes to equal it.

    ``needed_min`` is the time on the own accelerators at which the delay costs are equal, and
    ``needed_speedup`` the own time over it: above 1 one has to become that much faster.
    """

    target: str
    result_id: str
    round_id: str
    submitter: str | None
    system_name: str
    accelerator: str | None
    accelerator_count: int
    score_min: float
    accelerator_minutes: float
    delay_cost: float
    needed_min: float
    needed_speedup: float


@dataclass(frozen=True, slots=True)
class Mine:
    """Own runs and where they stand; all but the runs is None where there is no score.

    ``would_rank`` is the place it would take in ``round_id``'s list of ``list_count`` entries.
    ``fleet_efficiency`` is the law's e(N); ``expected_min`` its time for this accelerator and
    count, with ``expected_ratio`` the own time over it (1.1: a tenth slower than published systems
    of the kind).
    """

    result: OwnResult
    accelerator: str
    accelerator_count: int
    accelerator_minutes: float | None
    delay_cost: float | None
    lambda_chips: float
    would_rank: int | None
    list_count: int
    cluster_label: int | None
    cluster_name: str | None
    cluster_note: str | None
    fleet_efficiency: float | None
    expected_min: float | None
    expected_ratio: float | None
    beside: tuple[Beside, ...]
    label: str = LABEL

    def as_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return asdict(self)

    def answer(self) -> Answer:
        """The published results it is held against, one row each."""
        names = tuple(Beside.__dataclass_fields__)
        kinds = {"accelerator_count": "BIGINT"} | dict.fromkeys(names[7:], "DOUBLE")
        rows = tuple(tuple(getattr(one, name) for name in names) for one in self.beside)
        return Answer(names, rows, tuple(kinds.get(name, "VARCHAR") for name in names))


def mine(
    folder: str | Path,
    accelerators: int,
    accelerator: str,
    *,
    benchmark: str | None = None,
    round_id: str | None = None,
    lambda_chips: float = 8.0,
    home: str | Path | None = None,
) -> Mine:
    """Read, score and place one's own run logs.

    Args:
        folder: the logs (:::MLLOG lines), one run a file.
        accelerators: how many the runs used.
        accelerator: which, for example ``H100 SXM5 80GB``.
        benchmark: where the logs do not name it.
        round_id: whose rule and list to use; by default the benchmark's newest.
        lambda_chips: what a minute of waiting is worth, in chips.
        home: the data folder.

    Raises:
        OwnRunsError: logs or an accelerator that cannot be used.
        NoData: no warehouse, benchmark or round.
    """
    if accelerators < 1:
        raise OwnRunsError(f"the runs used 1 accelerator or more, not {accelerators}")
    model = known_accelerator(accelerator)
    logs, ignored, scaling = logs_of(files_of(Path(folder)))
    name = benchmark_of(logs, benchmark)
    con = reading.open_warehouse(load(home=home).warehouse_path)
    try:
        reading.require_benchmark(con, name)
        where = _round(con, name, round_id)
        result = own_result(logs, ignored, scaling, name, where)
        return place(con, result, model, accelerators, lambda_chips)
    finally:
        con.close()


def known_accelerator(text: str) -> str:
    """The canonical name of an accelerator.

    Raises:
        OwnRunsError: it is not known; names the closest.
    """
    from gpurank.systems.accelerators import identify_accelerator, models

    if text in models():
        return text
    match = identify_accelerator(text)
    if match.method in ("unresolved", "blank"):
        near = f"; did you mean {match.closest}?" if match.closest else ""
        raise OwnRunsError(f"accelerator {text!r} is not known{near}")
    return str(match.values["accelerator"])


def place(
    con: DuckDBPyConnection, result: OwnResult, accelerator: str, count: int, lambda_chips: float
) -> Mine:
    """Hold a scored set against the published list of its round."""
    time = result.score_min
    published = _published(con, result, lambda_chips)
    if time is None:
        return Mine(
            result, accelerator, count, None, None, lambda_chips, None, len(published),
            None, None, None, None, None, None, (),
        )  # fmt: skip
    cost = time * (count + lambda_chips)
    better = sum((one["delay_cost"], one["accelerator_count"]) < (cost, count) for one in published)
    label, name, note = _cluster(con, result.benchmark, time, count)
    efficiency, expected = _fleet(con, result.benchmark, accelerator, count)
    return Mine(
        result=result,
        accelerator=accelerator,
        accelerator_count=count,
        accelerator_minutes=time * count,
        delay_cost=cost,
        lambda_chips=lambda_chips,
        would_rank=better + 1,
        list_count=len(published),
        cluster_label=label,
        cluster_name=name,
        cluster_note=note,
        fleet_efficiency=efficiency,
        expected_min=expected,
        expected_ratio=time / expected if expected else None,
        beside=tuple(_targets(published, accelerator, count, time, lambda_chips)),
    )


def _targets(
    published: Sequence[dict[str, Any]], accelerator: str, count: int, time: float, chips: float
) -> list[Beside]:
    """The best of the list, of the accelerator, and of both accelerator and count."""
    alike = [one for one in published if one["accelerator"] == accelerator]
    found = []
    for target, rows in (
        ("best of the list", published),
        (f"best with {accelerator}", alike),
        (f"best with {count} x {accelerator}",
         [one for one in alike if one["accelerator_count"] == count]),
    ):  # fmt: skip
        if rows:
            best = rows[0]
            needed = best["delay_cost"] / (count + chips)
            found.append(
                Beside(target=target, needed_min=needed, needed_speedup=time / needed, **best)
            )
    return found


def _round(con: DuckDBPyConnection, benchmark: str, round_id: str | None) -> str:
    found = reading.ask(
        con,
        "select distinct round_id from marts.ranking where benchmark = ? and scope = 'round'",
        [benchmark],
    )
    known = sorted(found.column("round_id"), key=round_order)
    if not known or (round_id is not None and round_id not in known):
        raise NoData(
            f"nothing of {benchmark} is ranked in {round_id or 'any round'}; "
            f"{reading.nearest_round(round_id or '', known)}"
        )
    return round_id or known[-1]


def _published(
    con: DuckDBPyConnection, result: OwnResult, lambda_chips: float
) -> list[dict[str, Any]]:
    """The round's list, cheapest first, with the delay cost of this lambda."""
    found = reading.ask(
        con,
        "select result_id, round_id, submitter, system_name, accelerator, accelerator_count, "
        "score_min, accelerator_minutes, score_min * (accelerator_count + ?) as delay_cost "
        "from marts.ranking where benchmark = ? and scope = 'round' and round_id = ? "
        "order by delay_cost, accelerator_count, result_id",
        [lambda_chips, result.benchmark, result.round_id],
    )
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def _cluster(
    con: DuckDBPyConnection, benchmark: str, time: float, count: int
) -> tuple[int | None, str | None, str | None]:
    """The nearest cluster's label and name, and how far the clusters may be relied on."""
    import polars as pl

    from gpurank.method.clustering import restore
    from gpurank.method.settings import MethodSettings

    found = reading.ask(
        con,
        "select result_id, score_min, accelerator_count, accelerator_minutes, cluster_label "
        "from analysis.cluster join metrics.configuration using (benchmark, result_id) "
        "where benchmark = ? order by result_id",
        [benchmark],
    )
    members = pl.DataFrame(list(found.rows), schema=list(found.columns), orient="row")
    own = pl.DataFrame(
        {"score_min": [time], "accelerator_count": [count], "accelerator_minutes": [time * count]}
    )
    label = restore(members, benchmark, MethodSettings()).label(own)[0]
    told = reading.ask(
        con,
        "select name, count_note, reason from marts.cluster_profile "
        "where benchmark = ? and cluster_label is not distinct from ?",
        [benchmark, label],
    ).rows
    name, note, reason = told[0] if told else (None, None, None)
    return label, name, note or reason


def _fleet(
    con: DuckDBPyConnection, benchmark: str, accelerator: str, count: int
) -> tuple[float | None, float | None]:
    """The law's efficiency at a count, and its time for this accelerator there."""
    law = reading.ask(
        con,
        "select half_count, exponent from marts.fleet_law where benchmark = ?",
        [benchmark],
    ).rows
    if not law or law[0][0] is None:
        return None, None
    half, power = law[0]

    def work(n: int) -> float:
        return 1.0 + float((n / half) ** power)

    known = reading.ask(
        con,
        "select accelerator_count, accelerator_minutes from marts.prediction "
        "where benchmark = ? and accelerator = ? order by accelerator_count limit 1",
        [benchmark, accelerator],
    ).rows
    # Nc and g are shared, so that one predicted count of an accelerator gives all others.
    expected = known[0][1] * work(count) / work(known[0][0]) / count if known else None
    return work(8) / work(count), expected
