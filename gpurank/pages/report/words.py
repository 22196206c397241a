"""Numbers and findings in plain words. The browser says the same by templates/page.js."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpurank.pages.report.data import Page, PageKey, Row

_TASKS = {
    "bert": "BERT (language model)",
    "deepseekv3_671b": "DeepSeek-V3 671B (language model)",
    "dlrm": "DLRM (recommendation)",
    "dlrm_dcnv2": "DLRM DCNv2 (recommendation)",
    "flux1": "FLUX.1 (image generation)",
    "gnmt": "GNMT (translation)",
    "gpt3": "GPT-3 175B (language model)",
    "gpt_oss_20b": "GPT-OSS 20B (language model)",
    "llama2_70b_lora": "Llama 2 70B LoRA (fine-tuning)",
    "llama31_405b": "Llama 3.1 405B (language model)",
    "llama31_8b": "Llama 3.1 8B (language model)",
    "maskrcnn": "Mask R-CNN (object detection)",
    "minigo": "Minigo (reinforcement learning)",
    "ncf": "NCF (recommendation)",
    "resnet": "ResNet-50 (image classification)",
    "retinanet": "RetinaNet (object detection)",
    "rgat": "R-GAT (graph network)",
    "rnnt": "RNN-T (speech recognition)",
    "ssd": "SSD (object detection)",
    "stable_diffusion": "Stable Diffusion (image generation)",
    "transformer": "Transformer (translation)",
    "unet3d": "3D U-Net (medical imaging)",
}

# Share of a cluster that must come back in resamples (docs/method.md).
_FIRM = 0.75


def benchmark_name(benchmark: str) -> str:
    """``ResNet-50 (image classification)``; a benchmark of no known title keeps its own name."""
    return _TASKS.get(benchmark, benchmark)


def list_name(key: PageKey, rounds: Sequence[str]) -> str:
    """What the list is of: ``MLPerf® Training v4.0``, or its first and last comparable round."""
    if key.round_id:
        return f"MLPerf® Training {key.round_id}"
    if len(rounds) == 1:
        return f"MLPerf® Training {rounds[0]}, all comparable rounds"
    return f"MLPerf® Training {rounds[0]} to {rounds[-1]}, all comparable rounds"


def number(value: float | int | None) -> str:
    """Four figures or so, never an exponent: 0.600, 12.35, 179.5, 4,096."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    size = abs(value)
    digits = 3 if size < 10 else 2 if size < 100 else 1 if size < 10_000 else 0
    return f"{value:,.{digits}f}"


def short(value: float) -> str:
    """A setting as a person would write it: 8, 6.6, 184, 1,024."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def share(value: float | None) -> str:
    """A share as whole per cent; nearly none is not none."""
    if value is None:
        return "–"
    if 0 < value < 0.005:
        return "under 1\u00a0%"
    if 0.995 < value < 1:
        return "over 99\u00a0%"
    return f"{value * 100:.0f}\u00a0%"


def system_of(entry: Row) -> str:
    """``Oracle 8xBM.GPU.H100.8``; a name that begins with its submitter stands alone."""
    submitter, name = entry["submitter"] or "unknown submitter", str(entry["system_name"])
    return name if name.lower().startswith(f"{submitter.lower()} ") else f"{submitter} {name}"


def chips_of(entry: Row) -> str:
    """``64 × H100 SXM5 80GB``; what was filed where the model is not resolved.

    That a superchip is counted by its GPUs goes without saying beside a count of accelerators.
    """
    model = str(entry["accelerator"] or entry.get("accelerator_reported") or "accelerator")
    return f"{entry['accelerator_count']:,} × {model.replace(' (per GPU)', '')}"


def headline(page: Page) -> str:
    """The answer in a sentence, for the λ that the list was ranked with."""
    first = page.entries[0]
    tied = sum(entry["tie_group"] == first["tie_group"] for entry in page.entries) - 1
    return sentence(first, len(page.entries), page.lambda_chips, tied, page.key.round_id is None)


def sentence(first: Row, count: int, chips: float, tied: int, is_pooled: bool) -> str:
    """Who is first of how many, how sure that is. templates/page.js says the same."""
    where = f" (filed in {first['round_id']})" if is_pooled else ""
    many = "is the only one" if count == 1 else f"ranks first of {count:,}"
    text = (
        f"If a minute of waiting is worth the rental of {short(chips)} chips, "
        f"{system_of(first)}{where} {many}: {chips_of(first)} train in "
        f"{number(first['score_min'])} minutes"
    )
    if not tied:
        return text + "."
    others = "1 other" if tied == 1 else f"{tied:,} others"
    return f"{text}; the noise of runs cannot part it from {others}."


def cluster_card(profile: Row) -> str:
    """A cluster in two or three sentences."""
    count = profile["member_count"]
    text = (
        f"{count:,} result{'s' if count != 1 else ''}. Half of them finish within "
        f"{number(profile['median_score_min'])} minutes; the typical size is "
        f"{profile['median_accelerator_count']:,.0f} accelerators. "
    )
    ratio = profile["accelerator_minutes_ratio"]
    text += f"Typically {number(profile['median_accelerator_minutes'])} accelerator-minutes, "
    if ratio is not None and ratio > 1:
        text += f"{ratio:.1f} times what the thriftiest cluster needs. "
    else:
        text += "the fewest of all clusters. "
    text += _small_systems(profile["share_4_to_16"])
    if profile.get("is_small"):
        text += " Small: under 10 members, read with care."
    jaccard = profile.get("jaccard")
    if jaccard is not None and jaccard < _FIRM:
        text += f" Not firm: drawn anew, only {share(jaccard)} of it comes back."
    return text


def _small_systems(share_4_to_16: float | None) -> str:
    if share_4_to_16 == 0:
        return "None of them has 4 to 16 accelerators."
    if share_4_to_16 == 1:
        return "All of them have 4 to 16 accelerators."
    return f"{share(share_4_to_16)} of them have 4 to 16 accelerators."


def cluster_firmness(profiles: Sequence[Row]) -> str:
    """How far the clusters can be trusted as groups, in a sentence; empty where not measured."""
    found = [row["jaccard"] for row in profiles if row.get("jaccard") is not None]
    if not found:
        return ""
    count = f"{len(profiles)} groups" if len(profiles) > 1 else "1 group"
    if min(found) >= _FIRM:
        return f"The {count} are firm: drawn anew, each comes back by {share(min(found))} or more."
    weak = sum(value < _FIRM for value in found)
    which = "1 of them" if weak == 1 else f"{weak} of them"
    return (
        f"The {count} describe this data and are not all firm: drawn anew, {which} "
        f"comes back by less than {share(_FIRM)} (the weakest by {share(min(found))}). Use them to "
        "find your way, not as a finding."
    )


def law_words(law: Row, marks: Sequence[Row]) -> str:
    """What the fleet law says, with its intervals."""
    text = f"Fitted to {law['row_count']:,} results of {law['submitter_count']:,} submitters."
    parts = []
    for count in (64, 512):
        value = law[f"efficiency_{count}"]
        if value is not None:
            low, high = law[f"efficiency_{count}_low"], law[f"efficiency_{count}_high"]
            parts.append(
                f"{count} accelerators do {share(value)} of the work per chip that 8 do"
                f" (90 % interval {_span(low, high, share)})"
            )
    if parts:
        text += " On the same hardware and software, " + "; ".join(parts) + "."
    half = next((mark for mark in marks if mark["fleet_efficiency"] == 0.5), None)
    if half is not None:
        text += (
            f" Half of the efficiency is gone at about {half['accelerator_count']:,.0f}"
            f" accelerators ({_span(half['count_low'], half['count_high'], _whole)})."
        )
    return text


def progress_words(page: Page) -> str:
    """What software and what a hardware generation gained, or that nothing can be said."""
    found = page.progress or {}
    parts = []
    if found.get("software_yearly_speedup"):
        pairs = found["software_pair_count"]
        parts.append(
            f"the same submitter on the same hardware became {_times(found, 'software')} faster"
            f" a year by software (median of {pairs:,} pair{'s' if pairs != 1 else ''})"
        )
    if found.get("hardware_generation_speedup"):
        pairs = found["hardware_pair_count"]
        parts.append(
            "a new accelerator generation trains "
            f"{found['hardware_generation_speedup']:.2f} times as fast as the one before it in the"
            " same round, eight against eight (median of "
            f"{pairs:,} pair{'s' if pairs != 1 else ''})"
        )
    if not parts:
        return (
            "No configuration of this benchmark was measured anew in a later round, and no two "
            "generations of eight accelerators stand in one round, so nothing can be said here."
        )
    text = "; ".join(parts)
    return f"Over all rounds, {text}."


def _times(found: Row, kind: str) -> str:
    return f"{(found[f'{kind}_yearly_speedup'] - 1) * 100:.0f} %"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _span(low: float | None, high: float | None, form: Any) -> str:
    if low is None or high is None:
        return "no interval"
    return f"{form(low)} to {form(high)}"
