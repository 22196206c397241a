"""Compares a user's own result with the published ones: unreviewed, never ranked among them.

docs/method.md, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpurank.answers.own_runs import (
    OwnResult,
    OwnRunsError,
    find_benchmark,
    read_files,
    read_logs,
    score_runs,
)
from gpurank.answers.warehouse import (
    Answer,
    NoData,
    ask,
    nearest_round,
    open_warehouse,
    require_benchmark,
)
from gpurank.declared.rounds import round_order
from gpurank.method.fleet_law import efficiency
from gpurank.settings import DEFAULT_LAMBDA, load

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LABEL = "own runs, unreviewed"


@dataclass(frozen=True, slots=True)
class Beside:
    """One published result, and the own time that would equal its delay cost.

    ``needed_min`` is that time, on the own accelerators, and ``needed_speedup`` the own time
    divided by it: above 1 the own runs are slower than needed.
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
    """Own runs compared with published results; without a score most values are None.

    ``would_rank`` is the rank the result would have in ``round_id``'s list of ``list_count``
    entries. ``fleet_efficiency`` is the law's e(N), ``expected_min`` its time for this accelerator
    and count, and ``expected_ratio`` the own time divided by it (1.1: a tenth slower than published
    systems of the kind).
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
        """Returns everything as plain values, for JSON."""
        return asdict(self)

    def answer(self) -> Answer:
        """Returns the published results it is compared with, one row each."""
        names = tuple(Beside.__dataclass_fields__)
        types = {"accelerator_count": "BIGINT"} | dict.fromkeys(names[7:], "DOUBLE")
        rows = tuple(tuple(getattr(row, name) for name in names) for row in self.beside)
        return Answer(names, rows, tuple(types.get(name, "VARCHAR") for name in names))


def mine(
    folder: str | Path,
    accelerators: int,
    accelerator: str,
    *,
    benchmark: str | None = None,
    round_id: str | None = None,
    lambda_chips: float = DEFAULT_LAMBDA,
    home: str | Path | None = None,
) -> Mine:
    """Reads and scores your own run logs and compares them with published results.

    Args:
        folder: the logs (:::MLLOG lines), one file per run.
        accelerators: how many the runs used.
        accelerator: which, for example ``H100 SXM5 80GB``.
        benchmark: needed only if the logs do not name it.
        round_id: whose rule and list to use; by default the benchmark's newest.
        lambda_chips: what a minute of waiting is worth, in chips.
        home: the data folder.

    Raises:
        OwnRunsError: logs or an accelerator that cannot be used.
        NoData: no warehouse, benchmark or round.
    """
    if accelerators < 1:
        raise OwnRunsError(f"the runs used 1 accelerator or more, not {accelerators}")
    model = _canonical_accelerator(accelerator)
    logs, ignored, scaling = read_logs(read_files(Path(folder)))
    name = find_benchmark(logs, benchmark)
    with open_warehouse(load(home=home).warehouse_path) as con:
        require_benchmark(con, name)
        rule_round = _ranked_round(con, name, round_id)
        result = score_runs(logs, ignored, scaling, name, rule_round)
        return place(con, result, model, accelerators, lambda_chips)


def _canonical_accelerator(text: str) -> str:
    # Imported here because it imports polars, which answers without own runs do not need.
    from gpurank.systems.accelerators import UnknownAcceleratorError, canonical_accelerator

    try:
        return canonical_accelerator(text)
    except UnknownAcceleratorError as error:
        raise OwnRunsError(str(error)) from None


def place(
    con: DuckDBPyConnection, result: OwnResult, accelerator: str, count: int, lambda_chips: float
) -> Mine:
    """Compares a scored result with the published list of its round."""
    time = result.score_min
    published = _published(con, result, lambda_chips)
    cost = None if time is None else time * (count + lambda_chips)
    label, name, note = (None, None, None)
    fleet_efficiency, expected = (None, None)
    if time is not None:
        label, name, note = _cluster(con, result.benchmark, time, count)
        fleet_efficiency, expected = _fleet(con, result.benchmark, accelerator, count)
    return Mine(
        result=result,
        accelerator=accelerator,
        accelerator_count=count,
        accelerator_minutes=None if time is None else time * count,
        delay_cost=cost,
        lambda_chips=lambda_chips,
        would_rank=None if cost is None else _rank(published, cost, count),
        list_count=len(published),
        cluster_label=label,
        cluster_name=name,
        cluster_note=note,
        fleet_efficiency=fleet_efficiency,
        expected_min=expected,
        expected_ratio=time / expected if time is not None and expected else None,
        beside=() if time is None else _targets(published, accelerator, count, time, lambda_chips),
    )


def _rank(published: Sequence[dict[str, Any]], cost: float, count: int) -> int:
    """Returns the rank of a delay cost in the list; equal costs by lower count."""
    keys = [(row["delay_cost"], row["accelerator_count"]) for row in published]
    return 1 + sum(key < (cost, count) for key in keys)


def _targets(
    published: Sequence[dict[str, Any]],
    accelerator: str,
    count: int,
    time: float,
    lambda_chips: float,
) -> tuple[Beside, ...]:
    """Returns the best of the list, of the accelerator, and of both accelerator and count."""
    same_accelerator = [row for row in published if row["accelerator"] == accelerator]
    same_count = [row for row in same_accelerator if row["accelerator_count"] == count]
    targets = []
    for target, rows in (
        ("best of the list", published),
        (f"best with {accelerator}", same_accelerator),
        (f"best with {count} x {accelerator}", same_count),
    ):
        if rows:
            best = rows[0]
            needed = best["delay_cost"] / (count + lambda_chips)
            targets.append(
                Beside(target=target, needed_min=needed, needed_speedup=time / needed, **best)
            )
    return tuple(targets)


def _ranked_round(con: DuckDBPyConnection, benchmark: str, round_id: str | None) -> str:
    """Returns the round, or the newest in which the benchmark is ranked.

    Raises:
        NoData: it is not ranked there.
    """
    sql = "select distinct round_id from marts.ranking where benchmark = ? and scope = 'round'"
    rounds = sorted(ask(con, sql, [benchmark]).column("round_id"), key=round_order)
    if not rounds or (round_id is not None and round_id not in rounds):
        raise NoData(
            f"nothing of {benchmark} is ranked in {round_id or 'any round'}; "
            f"{nearest_round(round_id or '', rounds)}"
        )
    return round_id or rounds[-1]


def _published(
    con: DuckDBPyConnection, result: OwnResult, lambda_chips: float
) -> list[dict[str, Any]]:
    """Returns the round's list, cheapest first, with the delay cost at this lambda."""
    return ask(
        con,
        "select result_id, round_id, submitter, system_name, accelerator, accelerator_count, "
        "score_min, accelerator_minutes, score_min * (accelerator_count + ?) as delay_cost "
        "from marts.ranking where benchmark = ? and scope = 'round' and round_id = ? "
        "order by delay_cost, accelerator_count, result_id",
        [lambda_chips, result.benchmark, result.round_id],
    ).dicts()


def _cluster(
    con: DuckDBPyConnection, benchmark: str, time: float, count: int
) -> tuple[int | None, str | None, str | None]:
    """Returns the nearest cluster's label and name, and a note on how stable the clusters are."""
    # Imported here because scikit-learn takes a second to import.
    import polars as pl

    from gpurank.method.clustering import restore
    from gpurank.method.settings import MethodSettings

    members = ask(
        con,
        "select result_id, score_min, accelerator_count, accelerator_minutes, cluster_label "
        "from analysis.cluster join metrics.configuration using (benchmark, result_id) "
        "where benchmark = ? order by result_id",
        [benchmark],
    ).frame()
    own = pl.DataFrame(
        {"score_min": [time], "accelerator_count": [count], "accelerator_minutes": [time * count]}
    )
    label = restore(members, benchmark, MethodSettings()).label(own)[0]
    profiles = ask(
        con,
        "select name, count_note, reason from marts.cluster_profile "
        "where benchmark = ? and cluster_label is not distinct from ?",
        [benchmark, label],
    ).rows
    name, note, reason = profiles[0] if profiles else (None, None, None)
    return label, name, note or reason


def _fleet(
    con: DuckDBPyConnection, benchmark: str, accelerator: str, count: int
) -> tuple[float | None, float | None]:
    """Returns the law's efficiency at a count, and its time for this accelerator there."""
    laws = ask(
        con,
        "select half_count, exponent from marts.fleet_law where benchmark = ?",
        [benchmark],
    ).rows
    if not laws or laws[0][0] is None:
        return None, None
    half_count, exponent = laws[0]
    own_efficiency = efficiency(count, half_count, exponent)
    predicted = ask(
        con,
        "select accelerator_count, accelerator_minutes from marts.prediction "
        "where benchmark = ? and accelerator = ? order by accelerator_count limit 1",
        [benchmark, accelerator],
    ).rows
    if not predicted:
        return own_efficiency, None
    # Nc and g are shared, so one predicted count of an accelerator determines all others.
    other_count, other_minutes = predicted[0]
    minutes = other_minutes * efficiency(other_count, half_count, exponent) / own_efficiency
    return own_efficiency, minutes / count
