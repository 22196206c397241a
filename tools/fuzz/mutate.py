"""Mutated real files: ``python -m tools.fuzz.mutate --source MIRROR --count 10000 --seed 1``.

Result folders of published rounds, each with one file damaged (mutations.py), are read and
scored by the project's own path, many in one invented round. Judged is that nothing raises, that
no file takes long, and that a score stays as it was, comes with an issue that was not there
before, or is gone with a reason. What leaves a file whole and merely says otherwise (another digit
in a time that nothing contradicts) can be seen by no reader; it is counted apart, as ``unseeable``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from gpurank.declared.rounds import declared_rounds
from gpurank.logs.records import read_log
from gpurank.logs.round_tables import read_round
from gpurank.logs.source_files import SourceFile
from gpurank.store.versions import MANIFEST, Manifest
from tasks.build.identity import load_identity
from tasks.build.load import Version, load_raw
from tasks.build.lookups import load_lookups
from tasks.build.models import run_layer
from tasks.sources.snapshot import files, pin
from tools.fuzz.folders import Case, Subject, cases, subjects

#: A file may take this long, s of one core, and as long again for each MB.
SLOW_S = 2.0
#: Kinds that only say that a folder is a copy of another one, as here each is.
_COPIES = ("copy_inside_round", "refiled", "runs_partly_filed_before")
_BAD = ("crash", "slow", "wrong")

Issue = tuple[str, str, str]
Folder = tuple[str, dict[str, bytes]]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a folder: its score, min, its issues (kind, file, message), its slowest file."""

    score: float | None
    is_result: bool
    issues: Counter[Issue]
    seconds: float


@dataclass(slots=True)
class Tally:
    """What came of all: verdicts, verdicts by mutation, and lines about the telling ones."""

    verdicts: Counter[str] = field(default_factory=Counter)
    by_mutation: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    told: list[str] = field(default_factory=list)
    slowest_s: float = 0.0

    @property
    def is_clean(self) -> bool:
        """Whether nothing raised, took too long, or gave another score without a word."""
        return not any(self.verdicts[name] for name in _BAD)

    def add(self, case: Case, verdict: str, told: str = "") -> None:
        """Count one case; ``told`` says what happened."""
        self.verdicts[verdict] += 1
        self.by_mutation[case.mutation][verdict] += 1
        if verdict in (*_BAD, "unseeable"):
            where = f"{case.subject.round_id} {case.path}"
            self.told.append(f"{verdict}: {case.number} {case.mutation} {where}: {told}")


def outcomes(round_id: str, folders: Sequence[Folder]) -> list[Outcome]:
    """What came of folders (result folder, its files), read and scored as one round."""
    rounds = declared_rounds()
    top = f"{rounds.get(round_id).top_folder}/" if rounds.get(round_id).top_folder else ""
    seconds = [0.0] * len(folders)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for table, batch in read_round(_timed(folders, top, seconds), rounds.get(round_id), rounds):
            if table == "event":
                batch.validate(full=True)
            else:
                pq.write_table(pa.Table.from_batches([batch]), root / f"{table}.parquet")
        manifest = Manifest(
            round_id=round_id, version_id="mutated", state="complete", form="full",
            source_kind="tree", source_uri="mutated", source_commit=None, fingerprint="mutated",
            content_hash="", code_hash="", taken_at="2030-01-01T00:00:00+00:00", file_count=0,
            byte_count=0,
        )  # fmt: skip
        (root / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
        with duckdb.connect(config={"threads": 1}) as con:
            load_raw(con, [Version(round_id, "mutated", root)])
            load_lookups(con, corrections=False)
            load_identity(con)
            for layer in ("staging", "core", "metrics"):
                run_layer(con, layer)
            scores, issues = _scores(con), _issues(con, top)
    ids = [_renamed(name, number, top) for number, (name, _) in enumerate(folders)]
    return [
        Outcome(scores.get(ids[n]), ids[n] in scores, issues[n], seconds[n])
        for n in range(len(ids))
    ]


def _renamed(path: str, number: int, top: str) -> str:
    """A path below a submitter of its own."""
    return f"{top}m{number:06d}_{path.removeprefix(top)}"


def _timed(folders: Sequence[Folder], top: str, seconds: list[float]) -> Iterator[SourceFile]:
    """All files, one folder after another; notes the longest time that one of each took."""
    for number, (_, contents) in enumerate(folders):
        for path, data in sorted(contents.items()):
            file = SourceFile(_renamed(path, number, top), data)
            start = time.process_time()
            yield file
            taken_s = (time.process_time() - start) / (1 + len(data) / 1e6)
            seconds[number] = max(seconds[number], taken_s)


def _scores(con: duckdb.DuckDBPyConnection) -> dict[str, float | None]:
    sql = "select folder_id, score_min from core.result join metrics.score using (result_id)"
    return dict(con.execute(sql).fetchall())


def _issues(con: duckdb.DuckDBPyConnection, top: str) -> dict[int, Counter[Issue]]:
    found: dict[int, Counter[Issue]] = defaultdict(Counter)
    rows = con.execute(
        "select kind, source_file, message from core.issue union all "
        "select kind, source_file, message from metrics.issue where not list_contains(?, kind)",
        [list(_COPIES)],
    ).fetchall()
    for kind, file, message in rows:
        own = (file or "").removeprefix(top)
        if own[:1] == "m" and own[1:7].isdigit():
            found[int(own[1:7])][kind, own[8:], message.replace(own[:8], "")] += 1
    return found


def judge(case: Case, before: Outcome, after: Outcome) -> tuple[str, str]:
    """(verdict, what to tell) of one case."""
    if after.seconds > SLOW_S:
        return "slow", f"{after.seconds:.1f} s a file and MB"
    if not after.is_result:
        return "quarantined", ""
    if after.score is None:
        return ("same" if before.score is None else "no_score"), ""
    if before.score is not None and abs(after.score - before.score) <= 1e-12 * before.score:
        return "same", ""
    told = f"{before.score} -> {after.score}"
    if after.issues - before.issues:
        return "issue", told
    return ("unseeable" if is_whole(case) else "wrong"), told


def is_whole(case: Case) -> bool:
    """Whether a change left a file with the same records, or a description, that says otherwise."""
    if case.data is None or case.added:
        return not case.added
    old, new = read_log(case.subject.contents()[case.path]), read_log(case.data)
    if not len(old):
        return case.path.endswith(".json")
    return Counter(old.key) == Counter(new.key)


def run(pool: Sequence[Subject], count: int, seed: int, batch: int = 200) -> Tally:
    """Judge ``count`` cases made of a pool of folders."""
    tally = Tally()
    ordered = sorted(pool, key=lambda one: one.round_id)
    before: dict[Subject, Outcome] = {}
    for round_id, group in groupby(ordered, key=lambda one: one.round_id):
        some = list(group)
        found = outcomes(round_id, [(one.folder, one.contents()) for one in some])
        before.update(zip(some, found, strict=True))
    waiting: dict[str, list[Case]] = defaultdict(list)
    for case in cases(ordered, count, seed):
        mine = waiting[case.subject.round_id]
        mine.append(case)
        if len(mine) == batch:
            _judge_all(waiting.pop(case.subject.round_id), before, tally)
    for left in waiting.values():
        _judge_all(left, before, tally)
    return tally


def _judge_all(some: Sequence[Case], before: dict[Subject, Outcome], tally: Tally) -> None:
    """Judge cases of one round together; where that raises, by halves down to the one at fault."""
    try:
        found = outcomes(
            some[0].subject.round_id, [(one.subject.folder, one.contents()) for one in some]
        )
    except Exception:
        if len(some) > 1:
            _judge_all(some[: len(some) // 2], before, tally)
            _judge_all(some[len(some) // 2 :], before, tally)
        else:
            tally.add(some[0], "crash", traceback.format_exc(limit=-3))
        return
    for case, after in zip(some, found, strict=True):
        tally.slowest_s = max(tally.slowest_s, after.seconds)
        tally.add(case, *judge(case, before[case.subject], after))


def main() -> int:
    """Read, mutate, judge, tell; 1 where anything crashed, hung or went wrong."""
    parser = argparse.ArgumentParser(prog="tools.fuzz.mutate", description=__doc__)
    parser.add_argument("--source", type=Path, required=True, help="mirror folder of the rounds")
    parser.add_argument("--rounds", default="all")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder-mb", type=float, default=4)
    parser.add_argument("--per-benchmark", type=int, default=4)
    parser.add_argument("--show", type=int, default=40, help="lines about telling cases")
    args = parser.parse_args()
    rounds = declared_rounds()
    pool: list[Subject] = []
    with tempfile.TemporaryDirectory() as cache:
        for round_id in rounds.select(args.rounds):
            try:
                taken = files(pin(round_id, args.source), Path(cache))
                contents = ((file.path, file.data) for file in taken if not file.withheld_reason)
                pool += subjects(
                    contents, rounds.get(round_id), int(args.folder_mb * 1e6), args.per_benchmark,
                    args.seed,
                )  # fmt: skip
            except ValueError as error:
                print(f"{round_id} left out: {error}", file=sys.stderr)
    print(f"{len(pool)} folders of {len({one.round_id for one in pool})} rounds", flush=True)
    start = time.perf_counter()
    tally = run(pool, args.count, args.seed)
    for line in islice(sorted(tally.told), args.show):
        print(line)
    for name, counts in sorted(tally.by_mutation.items()):
        print(f"{name:18s} " + ", ".join(f"{verdict} {n}" for verdict, n in counts.most_common()))
    print(f"{sum(tally.verdicts.values())} mutated files in {time.perf_counter() - start:.0f} s: "
          + ", ".join(f"{verdict} {n}" for verdict, n in tally.verdicts.most_common())
          + f"; slowest {tally.slowest_s:.2f} s a file and MB")  # fmt: skip
    return 0 if tally.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
