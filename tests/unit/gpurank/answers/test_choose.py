"""Choosing from a warehouse: spans, rounds, copies, predictions, and the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cases.miniature import Mini, Warehouse, build, rank

from gpurank.answers.choose import Chosen, choose_from, cost_of, limits_of
from gpurank.answers.warehouse import NoData
from gpurank.cli.choose import write_choice
from gpurank.cli.output.answer import Format
from gpurank.method.choice import ChoiceError

FIVE = (30.0, 31.0, 32.0, 33.0, 90.0)  # olympic mean 32


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """v0.5 stands in a span of its own; v4.0 files one result of v3.0 again."""
    old, three, four = Mini(1_400_000_000_000), Mini(), Mini(1_700_000_000_000)
    three.result("A/m8/resnet", FIVE, described={})
    three.result("B/open/resnet", (5.0,) * 5, described={"division": "open"}, division="open")
    for name, data in list(three.items()):
        if name.startswith("A/"):
            four[name] = data
    four.result("B/m64/resnet", (5, 6, 6, 6, 7), described={"number_of_nodes": "8"})
    four.result("C/cloud/resnet", (40,) * 5, described={"status": "Available cloud"})
    four.result("D/soon/resnet", (20,) * 5, described={"status": "Preview"})
    four.result("E/few/resnet", (20,), described={}, status="aborted")
    old.result("A/m8/resnet", (1.0,) * 5, described={}, quality=0.76)
    made = build(tmp_path_factory.mktemp("w"), {"v0.5": old, "v3.0": three, "v4.0": four})
    rank(made)
    return made


def ask(warehouse: Warehouse, round_id: str | None = None, **limits: Any) -> Chosen:
    return choose_from(warehouse.con, "resnet", round_id, limits_of(**limits), cost_of())


def kinds(found: Chosen) -> dict[str, str | None]:
    return {row.candidate.result_id: row.kind for row in found.choice.rows}


def test_all_rounds_of_the_newest_span_each_measurement_once(warehouse: Warehouse) -> None:
    found = ask(warehouse)
    assert found.rounds == ("v3.0", "v4.0")
    assert kinds(found) == {
        "v3.0/A/m8/resnet": None,
        "v3.0/B/open/resnet": "division",
        "v4.0/A/m8/resnet": "copy",
        "v4.0/B/m64/resnet": None,
        "v4.0/C/cloud/resnet": None,
        "v4.0/D/soon/resnet": None,
        "v4.0/E/few/resnet": "no_score",
    }
    reasons = {r.candidate.result_id: r.reason for r in found.choice.rows}
    assert reasons["v4.0/A/m8/resnet"] == "the same measurement as v3.0/A/m8/resnet"
    best = found.choice.recommended
    # 8 chips in 20 min are 160 accelerator-minutes; 32 min 256; 64 in 6 min 384.
    assert best is not None and best.candidate.result_id == "v4.0/D/soon/resnet"
    assert best.cost == pytest.approx(160)


def test_a_round_of_its_own_keeps_what_was_filed_again(warehouse: Warehouse) -> None:
    found = ask(warehouse, "v4.0", availability="available", site="on_premises")
    assert found.rounds == ("v4.0",)
    assert kinds(found)["v4.0/A/m8/resnet"] is None
    assert kinds(found)["v4.0/C/cloud/resnet"] == "site"
    assert kinds(found)["v4.0/D/soon/resnet"] == "availability"
    with pytest.raises(NoData, match=r"in v1\.0; it is in v0\.5, v3\.0, v4\.0"):
        ask(warehouse, "v1.0")
    with pytest.raises(NoData, match="no benchmark is called 'resnot'; did you mean resnet"):
        choose_from(warehouse.con, "resnot", None, limits_of(), cost_of())


def test_words_that_are_no_limits() -> None:
    with pytest.raises(ChoiceError, match="availability is available or preview or research"):
        limits_of(availability="avail")
    with pytest.raises(ChoiceError, match="site is on_premises or cloud"):
        limits_of(site="moon")
    assert limits_of(within="2h").within_min == 120


PREDICTION = """
insert into analysis.prediction by name select * from (values
    ('A100 SXM4 80GB', 16, 10.0, 9.0, 11.0, false, false),
    ('A100 SXM4 80GB', 32, 5.5, 5.0, 6.2, false, false),
    ('A100 SXM4 80GB', 64, 3.0, 2.5, 3.5, true, false),
    ('A100 SXM4 80GB', 128, 1.6, 1.4, 1.8, false, true),
    ('H100 SXM5 80GB', 8, 1.0, 0.9, 1.1, false, false)
) as rows (accelerator, accelerator_count, score_min, score_low_min, score_high_min, is_filed,
    is_extrapolated), (select 'resnet' as benchmark, 'v4.0' as software_round_id)
"""


def test_a_prediction_where_nothing_filed_fits(warehouse: Warehouse) -> None:
    con = warehouse.con
    # Four results of one's own are no law, and it says so.
    assert ask(warehouse, within="5min").prediction_missing_reason == (
        "resnet has no fleet law: 4 rows, 30 needed"
    )
    con.execute("BEGIN")
    try:
        con.execute("delete from analysis.fleet_law")
        assert ask(warehouse, within="5min").prediction_missing_reason == (
            "resnet has no fleet law: not fitted"
        )
        con.execute(
            "insert into analysis.fleet_law by name select 'resnet' benchmark, 64 half_count"
        )
        con.execute(PREDICTION)
        # 6 min on 64 are filed and not allowed; 32 are predicted at 5.5, 6.2 at the most.
        likely = ask(warehouse, within="6.5min", max_accelerators=32).prediction
        assert likely is not None
        assert (likely.accelerator_count, likely.is_likely, likely.is_extrapolated) == (
            32, True, False
        )  # fmt: skip
        assert likely.cost == pytest.approx(176)
        assert likely.label == "derived prediction, not a result"
        tight = ask(warehouse, within="5.8min", max_accelerators=32).prediction
        assert tight is not None and not tight.is_likely
        far = ask(warehouse, within="2min").prediction
        assert far is not None and (far.accelerator_count, far.is_extrapolated) == (128, True)
        # H100 was filed by nobody here, so that it is not offered; nor what nothing reaches.
        nothing = ask(warehouse, within="0.5min")
        assert nothing.prediction is None
        assert nothing.prediction_missing_reason == (
            "not predicted for any count inside the limits either"
        )
        cloud = ask(warehouse, within="2min", availability="research")
        assert cloud.prediction_missing_reason == "no accelerator was filed as the limits ask"
        assert ask(warehouse).prediction is None
    finally:
        con.execute("ROLLBACK")


def test_answers_for_machines(warehouse: Warehouse, tmp_path: Path) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text(
        "accelerator,provider,region,per_hour,currency,date,source\n"
        "A100 SXM4 80GB,P,eu,6,EUR,2026-11-01,quote\n"
    )
    cost = cost_of(None, prices, 3.0)
    found = choose_from(warehouse.con, "resnet", None, limits_of(within="30min"), cost)
    frame = found.frame()
    assert isinstance(frame, pl.DataFrame) and frame["status"][0] == "recommended"
    # 64 chips at 0.1 a minute and 3 a minute: 6 x 9.4; 8 chips: 20 x 3.8.
    assert frame["cost"][:2].to_list() == [pytest.approx(56.4), pytest.approx(76)]
    assert frame["cost_unit"][0] == "EUR"
    assert frame["price_basis"][0] == ("6 EUR an hour per accelerator on 2026-11-01, P, eu (quote)")
    told = found.as_dict()
    assert told["recommended"]["result_id"] == "v4.0/B/m64/resnet"
    assert {row["excluded_by"] for row in told["excluded"]} == {
        "division", "copy", "no_score", "too_slow"
    }  # fmt: skip
    json.dumps(told, default=str)


def test_the_page_for_people(
    warehouse: Warehouse, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = ask(warehouse, within="10min")
    write_choice(found, Format.table, None, ("note",))
    shown = capsys.readouterr().out
    assert "B mini (v4.0), 64 x A100 SXM4 80GB: 6.00 min, 384.0 chip-min (derived)" in shown
    assert "With 20.00 min allowed, D mini" in shown and "saves 224.0 chip-min (58.3%)" in shown
    assert "takes 32.00 min, 10 allowed" in shown and shown.endswith("note\n")
    write_choice(found, Format.table, tmp_path / "page.txt", ("note",))
    assert "no score: " in (tmp_path / "page.txt").read_text()
    assert capsys.readouterr().out == ""
    write_choice(ask(warehouse, within="0.1min"), Format.table, None, ())
    nothing = capsys.readouterr().out
    assert "no published system is within these limits" in nothing
    assert "No prediction: resnet has no fleet law" in nothing


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["choose", "-b", "resnet", "--within", "soon"], 2, "'soon' is not a duration"),
        (["choose", "-b", "resnet", "--availability", "yes"], 2, "availability is available or"),
        (["choose", "-b", "resnet", "--minute-value", "3"], 2, "give prices with it"),
        (["choose", "-b", "resnet", "--prices", "none.csv"], 2, "cannot be read as a price list"),
        (["choose", "-b", "resnet", "--budget", "-3"], 2, "is a number above 0"),
        (["choose", "-b", "resnet"], 6, "gpurank run"),
        (["mine", "none", "--accelerators", "8", "--accelerator", "H1000"], 2, "is not known"),
        (["mine", "none", "--accelerators", "8", "--accelerator", "H100 SXM5 80GB"], 2,
         "does not exist; give a folder of run logs"),
        (["mine", ".", "--accelerators", "0", "--accelerator", "H100 SXM5 80GB"], 2,
         "--accelerators"),
    ],
)  # fmt: skip
def test_each_mistake_has_one_message(
    call: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.setenv("GPURANK_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    exit_code, out, err = call(*arguments)
    assert (exit_code, out) == (code, "") and words in err
    assert "Traceback" not in err
