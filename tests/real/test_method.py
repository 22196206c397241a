"""The method on published rounds: acceptance values that were computed independently."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest

import tasks.method.benchmark
from gpurank.method.settings import MethodSettings

pytestmark = pytest.mark.real

# Rounds whose results the expected values were computed from.
ROUNDS = ("v0.6", "v0.7", "v1.0", "v2.0", "v3.0", "v4.0")
HISTORY = (
    "v0.5",
    *ROUNDS[:3],
    "v1.1",
    "v2.0",
    "v2.1",
    "v3.0",
    "v3.1",
    "v4.0",
    "v4.1",
    "v5.0",
    "v5.1",
)
# Probabilities and stability profiles are not what is checked here.
SETTINGS = MethodSettings(
    selection_bootstraps=100, cluster_bootstraps=10, cluster_counts=(5,), draws=50,
    importance_trees=2, gap_references=3, matched_permutations=300,
)  # fmt: skip


@pytest.fixture(scope="module")
def warehouse() -> Iterator[duckdb.DuckDBPyConnection]:
    """The warehouse of the rounds that the expected values were computed from."""
    with build(ROUNDS) as con:
        yield con


def build(rounds: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Returns an unpublished warehouse of shipped facts with the method's tables for ResNet-50."""
    from gpurank.store.versions import read_manifest
    from tasks.build.identity import load_identity
    from tasks.build.load import Version, load_raw
    from tasks.build.lookups import load_lookups
    from tasks.build.models import run_layer
    from tasks.ingest.shipped import shipped

    facts = shipped()
    if not set(rounds) <= set(facts):
        pytest.skip(f"the facts of {', '.join(rounds)} do not ship with this checkout")
    con = duckdb.connect()
    load_raw(con, [Version(r, read_manifest(facts[r]).version_id, facts[r]) for r in rounds])
    load_lookups(con)
    load_identity(con)
    for layer in ("staging", "core", "metrics"):
        run_layer(con, layer)
    con.execute("DELETE FROM metrics.configuration WHERE benchmark <> 'resnet'")
    tasks.method.benchmark.run_method(con, SETTINGS)
    return con


def test_clusters_of_the_full_history() -> None:
    """ResNet-50 of all rounds: sizes and medians (minutes) of an independent calculation."""
    query = (
        "SELECT member_count, median_score_min FROM analysis.cluster_profile ORDER BY cluster_label"
    )
    with build(HISTORY) as con:
        found = rows(con, query)
    assert [count for count, _ in found] == [28, 36, 57, 121, 48]
    medians = [minutes for _, minutes in found]
    assert medians == pytest.approx([0.61, 5.47, 13.6, 31.07, 61.9], rel=0.005)


def rows(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> list[tuple[Any, ...]]:
    return con.execute(query, list(values)).fetchall()


def test_the_sample(warehouse: duckdb.DuckDBPyConnection) -> None:
    closed = """SELECT count(*), count(*) FILTER (is_in_analysis_set) FROM metrics.configuration
                WHERE division = 'closed' AND accelerator_count > 0"""
    assert rows(warehouse, closed) == [(216, 202)]
    share = """SELECT avg((accelerator_count BETWEEN 4 AND 16)::INT) FROM metrics.configuration
               WHERE is_in_analysis_set"""
    assert rows(warehouse, share)[0][0] == pytest.approx(0.73, abs=0.005)


@pytest.mark.parametrize(
    ("label", "size", "members", "time", "count", "minutes", "share", "family"),
    [
        (1, "massive", 22, 0.60, 1032, 813, 0.00, "TPU"),
        (2, "scale-out", 25, 4.50, 64, 327, 0.00, "A100"),
        (3, "best", 37, 13.60, 8, 108, 1.00, "H100 32"),
        (4, "single-server", 80, 30.71, 8, 245, 0.98, "A100 72"),
        (5, "single-server", 38, 64.63, 8, 550, 0.87, "V100"),
    ],
)
def test_clusters(
    warehouse: duckdb.DuckDBPyConnection, label: int, size: str, members: int, time: float,
    count: float, minutes: float, share: float, family: str,
) -> None:  # fmt: skip
    found = rows(
        warehouse,
        """SELECT name, member_count, median_score_min, median_accelerator_count,
                  median_accelerator_minutes, share_4_to_16, leading_families
           FROM analysis.cluster_profile WHERE cluster_label = ?""",
        label,
    )[0]
    assert size in found[0]
    assert found[1] == pytest.approx(members, abs=3)
    assert found[2:5] == pytest.approx((time, count, minutes), rel=0.03)
    assert found[5] == pytest.approx(share, abs=0.03)
    assert found[6].startswith(family)


def test_inertia(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(warehouse, "SELECT DISTINCT inertia FROM analysis.cluster_profile")
    assert found[0][0] == pytest.approx(84.7, abs=1)


@pytest.mark.parametrize(
    ("round_id", "length", "leaders"),
    [
        ("v2.0", 54, [("HLS-Gaudi2", 8, 18.362, 293.8), ("dgxa100_n8", 64, 4.503, 324.2),
                      ("_n8", 64, 4.587, 330.3)]),
        ("v3.0", 62, [("2xXE9680", 16, 7.847, 188.3), ("dgxh100_n8", 64, 2.664, 191.8),
                      ("XE9680", 8, 13.466, 215.5)]),
        ("v4.0", 33, [("8xBM.GPU.H100.8", 64, 2.494, 179.5), ("eos_n8", 64, 2.516, 181.2),
                      ("v4.0/smc/", 64, 2.554, 183.9)]),
    ],
)  # fmt: skip
def test_rankings(
    warehouse: duckdb.DuckDBPyConnection, round_id: str, length: int, leaders: list[Any]
) -> None:
    found = rows(
        warehouse,
        """SELECT rank, result_id, accelerator_count, score_min, delay_cost FROM analysis.ranking
           WHERE scope = 'round' AND round_id = ? ORDER BY rank, result_id""",
        round_id,
    )
    assert len(found) == length
    for place, (name, count, time, cost) in enumerate(leaders, start=1):
        rank, result_id, n, t, c = found[place - 1]
        assert (rank, n) == (place, count)
        assert name in result_id
        assert t == pytest.approx(time, abs=0.0006)
        assert c == pytest.approx(cost, abs=0.06)


def test_best_for_lambda(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        warehouse,
        """SELECT accelerator_count, best_for_lambda_low, best_for_lambda_high
           FROM analysis.ranking WHERE scope = 'round' AND round_id = 'v4.0'
           AND best_for_lambda_low IS NOT NULL ORDER BY best_for_lambda_low""",
    )
    assert [n for n, _, _ in found] == [8, 64, 2528, 3584]
    assert found[0][1] == 0.0 and found[-1][2] is None
    assert found[0][2] == pytest.approx(6.6, abs=0.05)
    # 183 in the specification is rounded down from 183.88.
    assert found[1][2] == pytest.approx(183.5, abs=0.5)


def test_site_noise(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(warehouse, "SELECT DISTINCT site_log_sd FROM analysis.ranking")
    assert found[0][0] == pytest.approx(0.010, abs=0.003)


def test_time_goes_with_count_then_link(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        warehouse,
        """SELECT variable, stability FROM analysis.selection
           WHERE target = 'score_min' AND is_selected ORDER BY selection_order""",
    )
    assert found[0] == ("accelerator_count", 1.0)
    assert found[1][0] in ("is_socketed", "link_rank")
    assert found[1][1] >= 0.99


def test_hosts_have_no_effect_of_their_own(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(warehouse, "SELECT p_value FROM analysis.matched_cpu WHERE cell_count > 0")
    assert found and all(p >= 0.35 for (p,) in found)


def test_refiled_results_stay_in_their_rounds_list(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        warehouse,
        """SELECT count(*) FILTER (cluster_label IS NULL), count(*)
           FROM analysis.ranking JOIN metrics.configuration USING (result_id)
           WHERE scope = 'round' AND NOT is_independent""",
    )
    # Refiled entries are ranked in the round and labelled by the nearest cluster.
    assert found[0][0] == 0 and found[0][1] > 0


def test_the_fleet_law(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        warehouse,
        """SELECT efficiency_64, efficiency_512, efficiency_64_low, efficiency_64_high
           FROM analysis.fleet_law""",
    )[0]
    assert found[0] == pytest.approx(0.74, abs=0.03)
    assert found[1] == pytest.approx(0.42, abs=0.04)
    assert found[2] < 0.74 < found[3]
    levels = dict(
        rows(warehouse, "SELECT fleet_efficiency, accelerator_count FROM analysis.break_even")
    )
    # The full history gives 43 [36-54] and 293 [242-383].
    assert 36 <= levels[0.8] <= 54
    assert 242 <= levels[0.5] <= 383


def test_the_law_predicts_what_it_has_not_seen(warehouse: duckdb.DuckDBPyConnection) -> None:
    error = "SELECT median(abs(exp(log_residual) - 1)) FROM analysis.fleet_result"
    assert rows(warehouse, error)[0][0] <= 0.07


def test_cells_left_out_are_predicted_and_held(warehouse: duckdb.DuckDBPyConnection) -> None:
    check = "SELECT median_error, coverage FROM analysis.prediction_check"
    error, coverage = rows(warehouse, check)[0]
    assert error <= 0.07
    assert 0.85 <= coverage <= 0.95


def test_five_classes_are_stable_and_it_says_so(warehouse: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        warehouse, "SELECT DISTINCT is_count_stable, count_note FROM analysis.cluster_profile"
    )
    assert len(found) == 1 and found[0][0] is True
    assert found[0][1].startswith("k = 5 is stable: ")
    agreement = "SELECT ward_ari, submitter_ari_low FROM analysis.cluster_count WHERE is_chosen"
    assert all(value > 0.9 for value in rows(warehouse, agreement)[0])


def test_other_methods_reverse_and_the_ranking_does_not(
    warehouse: duckdb.DuckDBPyConnection,
) -> None:
    rates = dict(
        rows(
            warehouse,
            "SELECT method, max(reversal_rate) FROM analysis.sensitivity GROUP BY method",
        )
    )
    assert rates["delay_cost"] == 0
    for method in ("topsis", "vikor", "sum_entropy", "sum_critic"):
        assert rates[method] > 0, method
