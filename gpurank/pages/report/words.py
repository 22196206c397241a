"""Findings in sentences. assets/page.js says the headline in the same words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpurank.declared.rounds import declared_rounds
from gpurank.pages.numbers import count, number, percent, plural, share, short
from gpurank.pages.report.data import Page, PageKey, Row

# Mean Jaccard similarity in bootstrap resamples from which a cluster counts as stable
# (docs/method.md).
_STABLE_JACCARD = 0.75


def list_name(key: PageKey, rounds: Sequence[str]) -> str:
    """Returns ``MLPerf® Training v4.0``, or the first and last of the comparable rounds."""
    if key.round_id:
        return f"MLPerf® Training {key.round_id}"
    if len(rounds) == 1:
        return f"MLPerf® Training {rounds[0]}, all comparable rounds"
    return f"MLPerf® Training {rounds[0]} to {rounds[-1]}, all comparable rounds"


def system_of(entry: Row) -> str:
    """Returns ``Oracle 8xBM.GPU.H100.8``; a name that begins with its submitter is shown alone."""
    submitter, name = entry["submitter"] or "unknown submitter", str(entry["system_name"])
    return name if name.lower().startswith(f"{submitter.lower()} ") else f"{submitter} {name}"


def chips_of(entry: Row) -> str:
    """Returns ``64 × H100 SXM5 80GB``; the accelerator as filed where its model is unresolved.

    The note that a superchip is counted by its GPUs is dropped next to a count of accelerators.
    """
    model = str(entry["accelerator"] or entry.get("accelerator_reported") or "accelerator")
    return f"{count(entry['accelerator_count'])} × {model.replace(' (per GPU)', '')}"


def month_of(round_id: str) -> str:
    """Returns the month in which a round was published: ``November 2025``."""
    published_on = declared_rounds().get(round_id).published_on
    return f"{published_on:%B %Y}" if published_on else "date not known"


def site_of(entry: Row) -> str:
    """Returns ``on premises`` or ``cloud``; empty where it is unknown."""
    return {True: "on premises", False: "cloud"}.get(entry["is_on_premises"], "")


def headline(page: Page) -> str:
    """Returns the answer in a sentence, for the λ that the list was ranked with."""
    first = page.entries[0]
    tied = sum(entry["tie_group"] == first["tie_group"] for entry in page.entries) - 1
    return sentence(first, len(page.entries), page.lambda_chips, tied, page.key.round_id is None)


def sentence(first: Row, entry_count: int, chips: float, tied: int, is_pooled: bool) -> str:
    """Returns which of how many entries is first, and with how many others it is tied."""
    where = f" (filed in {first['round_id']})" if is_pooled else ""
    rank = "is the only one" if entry_count == 1 else f"ranks first of {count(entry_count)}"
    text = (
        f"If a minute of waiting is worth the rental of {short(chips)} chips, "
        f"{system_of(first)}{where} {rank}: {chips_of(first)} train in "
        f"{number(first['score_min'])} minutes"
    )
    return f"{text}; statistically tied with {plural(tied, 'other')}." if tied else f"{text}."


def describe_cluster(profile: Row) -> str:
    """Returns a cluster in two to four sentences."""
    text = (
        f"{plural(profile['member_count'], 'result')}. Half of them finish within "
        f"{number(profile['median_score_min'])} minutes; the typical size is "
        f"{count(profile['median_accelerator_count'])} accelerators. "
    )
    ratio = profile["accelerator_minutes_ratio"]
    text += f"Typically {number(profile['median_accelerator_minutes'])} accelerator-minutes, "
    if ratio is not None and ratio > 1:
        text += f"{ratio:.1f} times as many as the most efficient cluster. "
    else:
        text += "the fewest of all clusters. "
    text += _small_systems(profile["share_4_to_16"])
    if profile.get("is_small"):
        text += " Small: fewer than 10 members, so read its numbers with care."
    jaccard = profile.get("jaccard")
    if jaccard is not None and jaccard < _STABLE_JACCARD:
        text += f" Unstable: only {share(jaccard)} of its members recur in bootstrap resamples."
    return text


def _small_systems(share_4_to_16: float | None) -> str:
    if share_4_to_16 == 0:
        return "None of them has 4 to 16 accelerators."
    if share_4_to_16 == 1:
        return "All of them have 4 to 16 accelerators."
    return f"{share(share_4_to_16)} of them have 4 to 16 accelerators."


def describe_stability(profiles: Sequence[Row]) -> str:
    """Returns in a sentence or two how stable the clusters are; empty where not measured."""
    similarities = [row["jaccard"] for row in profiles if row.get("jaccard") is not None]
    if not similarities:
        return ""
    lowest = share(min(similarities))
    unstable = sum(value < _STABLE_JACCARD for value in similarities)
    if not unstable:
        return (
            f"All {plural(len(profiles), 'cluster')} are stable: at least {lowest} of each one's "
            "members recur in bootstrap resamples."
            if len(profiles) > 1
            else f"The cluster is stable: {lowest} of its members recur in bootstrap resamples."
        )
    return (
        f"{unstable} of {plural(len(profiles), 'cluster')} {'is' if unstable == 1 else 'are'} "
        f"unstable: less than {share(_STABLE_JACCARD)} of the members recur in bootstrap resamples "
        f"({lowest} at the lowest). Use the clusters to find your way, not as a finding."
    )


def describe_law(law: Row, marks: Sequence[Row]) -> str:
    """Returns what the fleet law says, with its intervals."""
    text = f"Fitted to {plural(law['row_count'], 'result')} of {law['submitter_count']} submitters."
    parts = []
    for size in (64, 512):
        value = law[f"efficiency_{size}"]
        if value is not None:
            interval = _interval(
                law[f"efficiency_{size}_low"], law[f"efficiency_{size}_high"], share
            )
            parts.append(
                f"{size} accelerators do {share(value)} of the work per chip that 8 do ({interval})"
            )
    if parts:
        text += " On the same hardware and software, " + "; ".join(parts) + "."
    half = next((mark for mark in marks if mark["fleet_efficiency"] == 0.5), None)
    if half is not None:
        text += (
            f" Efficiency falls to one half at about {count(half['accelerator_count'])}"
            f" accelerators ({_interval(half['count_low'], half['count_high'], count)})."
        )
    return text


def describe_progress(page: Page) -> str:
    """Returns what software and a hardware generation gained, or that nothing can be said."""
    progress = page.progress or {}
    parts = []
    if progress.get("software_yearly_speedup"):
        gain = percent(progress["software_yearly_speedup"] - 1)
        parts.append(
            f"software made the same submitter on the same hardware {gain} faster per year"
            f" (median of {plural(progress['software_pair_count'], 'pair')})"
        )
    if progress.get("hardware_generation_speedup"):
        parts.append(
            "a new accelerator generation trains "
            f"{progress['hardware_generation_speedup']:.2f} times as fast as the one before it in"
            " the same round, eight accelerators against eight (median of "
            f"{plural(progress['hardware_pair_count'], 'pair')})"
        )
    if parts:
        return f"Over all rounds, {'; '.join(parts)}."
    return (
        "No configuration of this benchmark was measured again in a later round, and no round "
        "has two accelerator generations with eight accelerators each, so progress cannot be "
        "estimated."
    )


def _interval(low: float | None, high: float | None, form: Callable[[float], str]) -> str:
    if low is None or high is None:
        return "interval unknown"
    return f"90 % interval {form(low)} to {form(high)}"
