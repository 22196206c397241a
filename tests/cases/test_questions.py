"""Every question of the Python interface, asked of an invented warehouse in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases.miniature import Mini, build, rank

import gpurank
from gpurank import api
from gpurank.answers import warehouse as reading
from gpurank.operations import health
from gpurank.pages.data_quality import quality_page, read_quality
from gpurank.settings import load
from tasks.outputs.report import write_report
from tools.docs.method_tables import blocks, rewrite_tables

HOSTILE = "<script>alert(7)</script><img src=x onerror=alert(7)>"
MINUTES = (30.0, 31.0, 32.0, 33.0, 90.0)  # olympic mean 32


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    mini = Mini()
    for number, system in enumerate(("box", "crate", "shelf")):
        minutes = [minute * (1 + number) for minute in MINUTES]
        mini.result(f"Sub{number}/{system}/resnet", minutes, {"system_name": HOSTILE})
    built = build(folder / "rounds", {"v2.0": mini})
    rank(built)
    path = str(folder / "warehouse.duckdb")
    built.con.execute(f"attach '{path}' as kept")
    built.con.execute("copy from database memory to kept")
    built.con.execute("detach kept")
    return folder


def test_ranks_scores_and_walks(home: Path) -> None:
    ranked = api.rank("resnet", home=home)
    assert ranked["score_min"].to_list() == [32.0, 64.0, 96.0]
    assert api.rank("resnet", round_id="v2.0", limit=1, home=home).height == 1
    first, second = ranked["result_id"].to_list()[:2]
    walked = api.why(first, home=home)
    assert len(walked.runs.rows) == 5
    assert gpurank.answers.explain.text(walked)
    assert api.compare(first, second, home=home)
    assert api.check_comparable("resnet", "v2.0", "v2.0", home=home) is None
    assert api.table("marts.result", home=home).height == 3
    assert api.rounds(home=home)["result_count"].to_list() == [3]


@pytest.mark.parametrize(
    "question",
    [
        lambda home: api.rank("resnet50", home=home),
        lambda home: api.rank("resnet", round_id="v9.9", home=home),
        lambda home: api.clusters("resnet", home=home),
        lambda home: api.why("v2.0/Nobody/box/resnet", home=home),
        lambda home: api.table("marts.nothing", home=home),
        lambda home: api.check_comparable("resnet", "v2.0", "v9.9", home=home),
    ],
)
def test_what_is_not_there_is_told_with_what_is(home: Path, question: object) -> None:
    with pytest.raises(reading.NoData, match=r"\w"):
        question(home)  # type: ignore[operator]


def test_pages_and_health_of_it(home: Path) -> None:
    with reading.open_warehouse(home / "warehouse.duckdb") as con:
        page = quality_page(read_quality(con))
    assert "v2.0" in page and "Every folder is accounted for." in page
    with pytest.raises(reading.NoData, match="no round has been ingested"):
        health.rounds(load(home=home))
    assert api.rank("resnet", pooled=True, home=home).height == 3


def test_the_report_of_it_holds_filed_markup_as_text(home: Path, tmp_path: Path) -> None:
    written = write_report(load(home=home), tmp_path)
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.html")]
    assert len(texts) == written.page_count >= 3
    for text in texts:
        assert HOSTILE not in text and "<img src=x" not in text
    assert any("&lt;script&gt;alert(7)" in text for text in texts)


def test_the_tables_of_the_method_page_are_filled(home: Path) -> None:
    page = Path(__file__).parents[2].joinpath("docs", "method.md").read_text(encoding="utf-8")
    with reading.open_warehouse(home / "warehouse.duckdb") as con:
        made = rewrite_tables(page, con)
    assert len(blocks(made)) == len(blocks(page)) > 3
