"""The report's sentences: each says what the numbers say, in the singular where there is one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from gpurank.pages.report import words
from gpurank.pages.report.data import Page, PageKey

SPACE = "\u00a0"


def test_names() -> None:
    one, all_ = PageKey("resnet", "v4.0"), PageKey("resnet", None)
    assert words.list_name(one, ()) == "MLPerf® Training v4.0"
    assert words.list_name(all_, ("v4.0",)).endswith("v4.0, all comparable rounds")
    assert "v0.6 to v4.0" in words.list_name(all_, ("v0.6", "v2.0", "v4.0"))
    row = {"submitter": "Dell", "system_name": "Dell XE9680"}
    assert words.system_of(row) == "Dell XE9680"
    assert words.system_of({**row, "submitter": None}) == "unknown submitter Dell XE9680"
    chips = {"accelerator_count": 4096, "accelerator": None, "accelerator_reported": "Odd X1"}
    assert words.chips_of(chips) == "4,096 × Odd X1"
    assert words.chips_of({**chips, "accelerator_reported": None}) == "4,096 × accelerator"


FIRST = {
    "round_id": "v4.0", "submitter": "A", "system_name": "box", "accelerator_count": 8,
    "accelerator": "H100", "score_min": 12.0,
}  # fmt: skip


def test_the_answer_says_how_sure_it_is() -> None:
    alone = words.sentence(FIRST, 1, 8.0, 0, False)
    assert "the rental of 8 chips, A box is the only one: 8 × H100 train in 12.00 minutes." in alone
    tied = words.sentence(FIRST, 20, 8.0, 1, True)
    assert "A box (filed in v4.0) ranks first of 20" in tied
    assert tied.endswith("; statistically tied with 1 other.")
    assert words.sentence(FIRST, 20, 8.0, 3, False).endswith("with 3 others.")


PROFILE: dict[str, Any] = {
    "member_count": 12, "median_score_min": 30.0, "median_accelerator_count": 8.0,
    "accelerator_minutes_ratio": 2.5, "median_accelerator_minutes": 240.0, "share_4_to_16": 0.5,
    "is_small": False, "jaccard": 0.9,
}  # fmt: skip


def test_a_cluster_in_words() -> None:
    text = words.describe_cluster(PROFILE)
    assert "12 results. Half of them finish within 30.00 minutes" in text
    assert (
        "Typically 240.0 accelerator-minutes, 2.5 times as many as the most efficient cluster"
        in text
    )
    assert f"50{SPACE}% of them have 4 to 16" in text
    assert "Small" not in text and "Unstable" not in text
    odd = {
        **PROFILE, "member_count": 1, "accelerator_minutes_ratio": 1.0, "share_4_to_16": 0,
        "is_small": True, "jaccard": 0.4,
    }  # fmt: skip
    text = words.describe_cluster(odd)
    assert text.startswith("1 result. ") and "the fewest of all clusters" in text
    assert "None of them has 4 to 16" in text and "with care" in text
    assert f"Unstable: only 40{SPACE}% of its members recur in bootstrap resamples." in text
    assert "All of them have 4 to 16" in words.describe_cluster({**PROFILE, "share_4_to_16": 1})


def test_how_stable_clusters_are() -> None:
    describe = words.describe_stability
    assert describe([{"jaccard": None}]) == ""
    assert describe([{"jaccard": 0.8}, {"jaccard": 0.9}]) == (
        f"All 2 clusters are stable: at least 80{SPACE}% of each one's members recur in bootstrap "
        "resamples."
    )
    assert describe([{"jaccard": 0.8}]).startswith(f"The cluster is stable: 80{SPACE}% of its")
    assert describe([{"jaccard": 0.6}, {"jaccard": 0.9}]).startswith(
        f"1 of 2 clusters is unstable: less than 75{SPACE}% of the members recur in bootstrap "
        f"resamples (60{SPACE}% at the lowest)."
    )
    assert "2 of 2 clusters are unstable" in describe([{"jaccard": 0.6}, {"jaccard": 0.1}])


LAW: dict[str, Any] = {
    "row_count": 1200, "submitter_count": 30, "efficiency_64": 0.8, "efficiency_64_low": 0.7,
    "efficiency_64_high": 0.9, "efficiency_512": 0.5, "efficiency_512_low": None,
    "efficiency_512_high": None,
}  # fmt: skip


def test_the_law_in_words() -> None:
    marks = [
        {"fleet_efficiency": 0.8, "accelerator_count": 60.0, "count_low": 1, "count_high": 2},
        {
            "fleet_efficiency": 0.5,
            "accelerator_count": 512.4,
            "count_low": 400.0,
            "count_high": 900.0,
        },
    ]
    text = words.describe_law(LAW, marks)
    assert text.startswith("Fitted to 1,200 results of 30 submitters.")
    assert f"64 accelerators do 80{SPACE}% of the work" in text
    assert f"(90 % interval 70{SPACE}% to 90{SPACE}%)" in text
    assert "512 accelerators" in text and "(interval unknown)" in text
    assert (
        "Efficiency falls to one half at about 512 accelerators (90 % interval 400 to 900)." in text
    )
    unknown = {**LAW, "efficiency_64": None, "efficiency_512": None}
    assert words.describe_law(unknown, []) == "Fitted to 1,200 results of 30 submitters."


def progress(**values: float | None) -> str:
    return words.describe_progress(cast(Page, SimpleNamespace(progress=values or None)))


def test_progress_in_words() -> None:
    assert "progress cannot be estimated" in progress()
    both = progress(
        software_yearly_speedup=1.21, software_pair_count=1, hardware_generation_speedup=2.345,
        hardware_pair_count=4,
    )  # fmt: skip
    assert both.startswith("Over all rounds, software made the same submitter")
    assert f"21{SPACE}% faster per year (median of 1 pair)" in both
    assert "2.35 times as fast" in both or "2.34 times as fast" in both
    assert "(median of 4 pairs)" in both
