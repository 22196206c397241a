"""Comparability, convergence and claims of the published rounds against what is known of them."""

from __future__ import annotations

import duckdb
import pytest

pytestmark = pytest.mark.real


def test_every_disagreeing_claim_is_explained_by_an_issue(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT result_id, explanation FROM marts.crosscheck WHERE disagreeing_run_count > 0"
    ).fetchall()
    told = con.execute(
        "SELECT result_id FROM marts.issue WHERE kind = 'logged_throughput_disagrees'"
    ).fetchall()
    assert {name for name, _ in rows} == {name for (name,) in told}
    explained = dict(rows)
    # Known from the descriptions of the rounds: 7.4 times, and half of what was processed.
    for name in ("NVIDIA/dgxa100_n527_ngc22.04_mxnet/resnet", "Nettrix/X640G40_8xA30_hugectr/dlrm"):
        assert explained[f"v2.0/{name}"].startswith("the same factor in every run")
    (compared,) = con.execute(
        "SELECT sum(compared_run_count) FROM marts.crosscheck "
        "WHERE quantity = 'energy' AND disagreeing_run_count = 0"
    ).fetchone() or (None,)
    assert compared == 26


@pytest.mark.parametrize(
    ("benchmark", "one", "other", "is_comparable"),
    [
        ("resnet", "v0.5", "v0.6", False),
        ("resnet", "v0.6", "v4.0", True),
        ("ssd", "v0.5", "v1.0", False),
        ("ssd", "v0.6", "v1.0", True),
        ("bert", "v0.7", "v1.0", False),
        ("bert", "v1.0", "v5.0", True),
        ("gnmt", "v0.5", "v0.6", False),
        ("gnmt", "v0.6", "v0.7", True),
        ("minigo", "v0.6", "v0.7", False),
        ("minigo", "v0.7", "v2.0", True),
        ("transformer", "v0.5", "v0.7", True),
        ("maskrcnn", "v0.6", "v3.0", True),
        ("rnnt", "v1.0", "v2.0", False),
        ("rnnt", "v2.0", "v3.0", True),
        ("retinanet", "v2.0", "v5.0", True),
        ("unet3d", "v1.0", "v4.0", True),
        ("gpt3", "v3.0", "v4.1", True),
        ("rgat", "v4.0", "v5.0", True),
        ("dlrm", "v0.7", "v2.0", True),
    ],
)
def test_the_official_spans_and_their_overrides(
    con: duckdb.DuckDBPyConnection, benchmark: str, one: str, other: str, is_comparable: bool
) -> None:
    for pair in ((one, other), (other, one)):
        row = con.execute(
            "SELECT is_comparable, reason, warning FROM marts.comparison "
            "WHERE benchmark = ? AND round_id = ? AND other_round_id = ?",
            [benchmark, *pair],
        ).fetchone()
        assert row is not None
        assert row[0] is is_comparable
        assert (row[1] is None) is is_comparable
        assert row[2] is None


def test_convergence_facts(con: duckdb.DuckDBPyConnection) -> None:
    bypassed = con.execute(
        "SELECT result_id FROM marts.convergence WHERE is_reference_check_bypassed"
    ).fetchall()
    # The folders in which a file package_checker_params holds rcp-bypass.
    assert {name for (name,) in bypassed} == {
        "v4.0/NVIDIA/eos_n128_ngc24.04_nemo/llama2_70b_lora",
        "v4.0/NVIDIA/eos_n316_ngc24.04_pytorch/ssd",
        "v4.0/NVIDIA/eos_n64_ngc24.04_dgl/gnn",
        "v4.0/NVIDIA/l40s_n96_ngc24.04_nemo/llama2_70b_lora",
        "v4.1/GigaComputing/G593-ZD1_pytorch/stable_diffusion",
    }
    short = con.execute(
        "SELECT result_id FROM marts.convergence WHERE quality_worst IS NOT NULL AND "
        "CASE direction WHEN 'higher' THEN quality_worst < target * (1 - 1e-6) "
        "ELSE quality_worst > target * (1 + 1e-6) END"
    ).fetchall()
    assert not short
    row = con.execute(
        "SELECT global_batch_size, samples_to_converge, steps_to_converge, target, direction "
        "FROM marts.convergence "
        "WHERE result_id = 'v5.0/NVIDIA/tyche_ngpu512_ngc25.04_nemo/llama31_405b'"
    ).fetchone()
    assert row is not None
    assert row[0] == 896
    assert row[1] / row[0] == pytest.approx(row[2])
    assert row[3:] == (5.6, "lower")


def test_what_became_of_the_previews_of_v4_1(con: duckdb.DuckDBPyConnection) -> None:
    rows = con.execute(
        "SELECT result_id, preview_outcome FROM marts.convergence "
        "WHERE round_id = 'v4.1' AND availability = 'preview'"
    ).fetchall()
    outcomes = {name.split("/")[2]: outcome for name, outcome in rows}
    assert outcomes.pop("TEST.H100.8.nvidia_impl") == "not_seen"
    scaled = {name for name, outcome in outcomes.items() if outcome == "other_scale"}
    # v5.0 has the one accelerator at 256 only and the other in servers of eight only.
    assert scaled == {
        "b200_n8_preview_nemo",
        *(f"cloud-tpu-trillium-{count}-maxtext" for count in (512, 1024, 2048, 3072)),
    }
    assert {outcomes[name] for name in outcomes.keys() - scaled} == {"returned"}
