"""Whether a run's start and stop agree with the records around them.

A time that was written by hand, or damaged, does not show it. Only the records before and after
it do, which the same program wrote in the same second or minute.
"""

from __future__ import annotations

from gpurank.logs.records import Records

_NEIGHBOURS = 3
# In published logs a record is either in order to the millisecond or minutes out of it, and the
# nearest other record is never more than 20 s away.
_DISORDER_MS = 10.0
_GAP_MS = 60_000.0
# Times this small are placeholders (0, 123).
_PLACEHOLDER_MS = 1e6


def clock_doubt(records: Records, number: int) -> str | None:
    """Returns what is implausible about a record's time among its neighbours in the file, or None.

    Either the time contradicts them: it is more than 10 ms earlier than the record before it or
    than all of the nearest before it, or later than the one after it. Or the record stands alone:
    no neighbour is within a minute, so nothing confirms its time.
    Evaluations before it prove nothing: some are made after the run and logged before its run_stop.
    """
    time_ms = records.time_ms[number]
    if time_ms is None:
        return None
    before = range(max(0, number - _NEIGHBOURS), number)
    earlier = _times(records, before)
    later = _times(records, range(number + 1, min(len(records), number + 1 + _NEIGHBOURS)))
    only_evaluations = all(_is_evaluation(records, n) for n in before)
    is_after_evaluation = bool(before) and _is_evaluation(records, before[-1])
    if (
        (later and time_ms > later[0] + _DISORDER_MS)
        or (earlier and not only_evaluations and time_ms < min(earlier) - _DISORDER_MS)
        or (earlier and not is_after_evaluation and time_ms < earlier[-1] - _DISORDER_MS)
    ):
        return f"the time of {records.key[number]} contradicts the records around it"
    if only_evaluations and earlier and time_ms < min(earlier):
        return None
    neighbours = earlier + later
    gap_ms = min((abs(time_ms - other) for other in neighbours), default=0.0)
    if gap_ms > _GAP_MS:
        return (
            f"no other record confirms the time of {records.key[number]}: "
            f"the nearest one is {gap_ms / 1000:,.0f} s away"
        )
    return None


def _is_evaluation(records: Records, number: int) -> bool:
    return (records.key[number] or "").startswith("eval")


def _times(records: Records, numbers: range) -> list[float]:
    times = (records.time_ms[number] for number in numbers)
    return [time for time in times if time is not None and time > _PLACEHOLDER_MS]
