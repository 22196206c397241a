"""Every output that shows a result says what it must: the footnote linter on all of them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

import gpurank
from gpurank.cli import main as cli
from gpurank.pages.check import footnote_gaps, page_faults
from gpurank.settings import load

pytestmark = pytest.mark.flow

BEST = "v4.0/Zeta/zeta_n4/resnet"
# Each command that shows results of a benchmark.
SHOWING = [
    ["top", "-b", "resnet"],
    ["top", "-b", "resnet", "--pooled"],
    ["why", BEST],
    ["why", "-b", "resnet", "--rank", "2"],
    ["choose", "-b", "resnet", "--within", "1h"],
    ["compare", "v4.0/Acme/acme_n1/resnet", BEST],
    ["mine", "{logs}", "--accelerators", "8", "--accelerator", "A100 SXM4 80GB"],
]
Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def home(
    orchestrator: None,
    invented_round: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A warehouse of two invented rounds."""
    from flows.backfill import backfill

    folder = tmp_path_factory.mktemp("outputs")
    invented_round(folder / "mirror", "v3.0")
    invented_round(folder / "mirror", "v4.0", shift_min=1.0)
    backfill("all", str(folder / "mirror"), str(folder / "home"))
    return folder / "home"


def call(patch: Patch, capture: Capture, home: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    patch.setenv("GPURANK_HOME", str(home))
    patch.setattr(sys, "argv", ["gpurank", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    shown = capture.readouterr()
    return int(ended.value.code or 0), shown.out, shown.err


@pytest.fixture
def arguments(request: pytest.FixtureRequest, home: Path) -> list[str]:
    """A command, with the folder of somebody's own runs in place."""
    logs = home.parent / "mirror/training_results_v4.0/Acme/results/acme_n1/resnet"
    return [word.format(logs=logs) for word in request.param]


@pytest.mark.parametrize("arguments", SHOWING, ids=" ".join, indirect=True)
def test_tables_carry_their_footnote(
    home: Path, monkeypatch: Patch, capsys: Capture, arguments: list[str]
) -> None:
    code, out, err = call(monkeypatch, capsys, home, *arguments)
    assert code == 0, err
    assert footnote_gaps(out) == ()
    # Nothing but the table and its footnotes: quiet takes neither away, and nothing is coloured.
    code, quiet, err = call(monkeypatch, capsys, home, *arguments, "--quiet")
    assert (code, quiet, err) == (0, out, "") and "\x1b" not in out


@pytest.mark.parametrize("arguments", SHOWING, ids=" ".join, indirect=True)
def test_files_carry_it_beside_their_rows(
    home: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path, arguments: list[str]
) -> None:
    code, out, err = call(monkeypatch, capsys, home, *arguments, "-f", "csv")
    assert code == 0 and out
    assert footnote_gaps(err) == ()
    target = tmp_path / "x.parquet"
    code, _, err = call(monkeypatch, capsys, home, *arguments, "-f", "parquet", "-o", str(target))
    assert code == 0, err
    assert footnote_gaps(pq.read_schema(target).metadata[b"notes"].decode()) == ()
    code, out, err = call(monkeypatch, capsys, home, *arguments, "--json")
    assert code == 0 and json.loads(out)
    assert footnote_gaps(out + err) == ()


def test_clusters_carry_it_too(
    home: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path
) -> None:
    """Two invented rounds have too few results for clusters: told, or rows with their footnote."""
    code, out, err = call(monkeypatch, capsys, home, "clusters", "-b", "resnet")
    assert (code, out) == (6, "") and "has no clusters" in err
    shutil.copytree(home, tmp_path / "home")
    with duckdb.connect(str(tmp_path / "home" / "warehouse.duckdb")) as con:
        con.execute(
            "create or replace table marts.cluster as select 'resnet' as benchmark, result_id, "
            "1 as cluster_label, round_id from marts.result; "
            "update analysis.cluster_profile set cluster_label = 1, name = 'a', member_count = 4, "
            "median_score_min = 20, median_accelerator_count = 16, "
            "median_accelerator_minutes = 300, share_4_to_16 = 0.5, count_note = 'told'"
        )
    code, out, err = call(monkeypatch, capsys, tmp_path / "home", "clusters", "-b", "resnet")
    assert code == 0, err
    assert footnote_gaps(out) == ()
    code, out, err = call(
        monkeypatch, capsys, tmp_path / "home", "clusters", "-b", "resnet", "--json"
    )
    assert json.loads(out)[0]["median_score_min"] == 20 and footnote_gaps(err) == ()


def test_the_report_is_written_checked_and_found(
    home: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path
) -> None:
    out = tmp_path / "pages"
    code, _, err = call(monkeypatch, capsys, home, "open", "--out", str(out))
    assert code == 6 and "gpurank report" in err
    code, shown, err = call(monkeypatch, capsys, home, "report", "--out", str(out))
    assert code == 0, err
    assert shown.strip() == str(out / "index.html")
    names = sorted(path.name for path in out.iterdir())
    assert names == ["index.html", "resnet-pooled.html", "resnet-v3.0.html", "resnet-v4.0.html"]
    first = {name: (out / name).read_bytes() for name in names}
    assert not [fault for text in first.values() for fault in page_faults(text.decode())]
    page = first["resnet-v4.0.html"].decode()
    # 11 minutes on 32 chips: 11 x (32 + 8) = 440, before 33 minutes on 8: 33 x 16 = 528.
    assert "Zeta zeta_n4 ranks first of 2: 32 × A100 SXM4 80GB train in 11.00 minutes" in page
    assert page.index("<td>440.0</td>") < page.index("<td>528.0</td>")
    call(monkeypatch, capsys, home, "report", "--out", str(out))
    assert {name: (out / name).read_bytes() for name in names} == first
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    code, shown, err = call(monkeypatch, capsys, home, "open", "--out", str(out))
    assert (code, shown.strip()) == (0, str(out / "index.html")) and "no browser" in err


def test_the_export_names_its_rounds(
    home: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path
) -> None:
    out = tmp_path / "data"
    code, _, err = call(monkeypatch, capsys, home, "export", "--out", str(out))
    assert code == 0, err
    assert footnote_gaps((out / "README.md").read_text(encoding="utf-8")) == ()
    origins = json.loads((out / "origins.json").read_text(encoding="utf-8"))
    assert [item["round_id"] for item in origins] == ["v3.0", "v4.0"]
    table = pq.read_table(out / "parquet" / "marts_ranking.parquet")
    assert sorted(set(table["round_id"].to_pylist())) == ["v3.0", "v4.0"]
    header = (out / "csv" / "marts_ranking.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header.split(",") == table.column_names


def test_the_notebook_runs(home: Path, monkeypatch: Patch, capsys: Capture) -> None:
    """Every code cell of docs/tour.ipynb, in order, in one namespace."""
    book = Path(__file__).resolve().parents[2] / "docs" / "tour.ipynb"
    cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
    monkeypatch.setenv("GPURANK_HOME", str(home))
    space: dict[str, object] = {}
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for number, code in enumerate(codes):
        exec(compile(code, f"cell {number}", "exec"), space)
    shown = capsys.readouterr().out
    assert len(codes) >= 6 and "result_" in shown
    assert footnote_gaps(shown) == ()


# A piece of the footnote that somebody forgot, and what the linter says is lacking.
FORGOTTEN = {
    "TRADEMARK": "the trademark sentence",
    "UNVERIFIED": "that MLCommons has not verified it",
    "DERIVED": "that figures are derived",
}


@pytest.mark.parametrize("piece", FORGOTTEN)
def test_a_planted_omission_is_noticed_in_every_output(
    home: Path, monkeypatch: Patch, capsys: Capture, tmp_path: Path, piece: str
) -> None:
    """Each kind of output is made without a piece of its footnote; none gets by."""
    from gpurank.answers import notes
    from tasks.outputs.export import ExportError, export
    from tasks.outputs.report import ReportError, write_report

    monkeypatch.setattr(notes, piece, "")
    lack = FORGOTTEN[piece]
    logs = home.parent / "mirror/training_results_v4.0/Acme/results/acme_n1/resnet"
    for arguments in SHOWING:
        words = [word.format(logs=logs) for word in arguments]
        for form in ("table", "csv", "json"):
            _, out, err = call(monkeypatch, capsys, home, *words, "-f", form)
            assert lack in footnote_gaps(out + err), (words, form)
        target = tmp_path / "x.parquet"
        call(monkeypatch, capsys, home, *words, "-f", "parquet", "-o", str(target))
        assert lack in footnote_gaps(pq.read_schema(target).metadata[b"notes"].decode()), words
    assert lack in footnote_gaps("\n".join(gpurank.footnotes("resnet", home=home)))
    settings = load(home=home, environ={})
    # These two do not even write.
    with pytest.raises(ReportError, match="footnote lacks"):
        write_report(settings, tmp_path / "pages")
    with pytest.raises(ExportError, match=f"lacks {lack}"):
        export(settings, tmp_path / "data")
    assert [path.name for path in tmp_path.iterdir()] == ["x.parquet"]


def test_the_prefect_artifact_carries_it(home: Path, monkeypatch: Patch) -> None:
    from flows import artifacts

    made: dict[str, str] = {}
    monkeypatch.setattr(
        artifacts,
        "create_table_artifact",
        lambda rows, key, description: made.update({key: description}),
    )
    artifacts.create_ranking(load(home=home, environ={}))
    # Its marks of markup are escaped; what is said is whole.
    assert footnote_gaps(made["ranking"].replace("\\", "")) == ()
