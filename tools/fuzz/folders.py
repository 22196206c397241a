"""Result folders of published rounds, and the same folders with one file damaged."""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from gpurank.declared.rounds import Round
from gpurank.logs.layout import classify, system_paths
from tools.fuzz.mutations import MUTATIONS

_FILE_MUTATIONS = ("file_dropped", "file_copied", "file_renamed", "file_swapped")


@dataclass(frozen=True, slots=True)
class Subject:
    """A result folder with its system's description: paths and packed bytes."""

    round_id: str
    folder: str
    packed: tuple[tuple[str, bytes], ...]

    def contents(self) -> dict[str, bytes]:
        """Its files."""
        return {path: zlib.decompress(data) for path, data in self.packed}


@dataclass(frozen=True, slots=True)
class Case:
    """One subject with one file changed; ``data`` None: the file is not there."""

    number: int
    subject: Subject
    mutation: str
    path: str
    data: bytes | None
    added: tuple[tuple[str, bytes], ...] = ()

    def contents(self) -> dict[str, bytes]:
        """The folder's files after the change."""
        found = self.subject.contents()
        found.pop(self.path)
        if self.data is not None:
            found[self.path] = self.data
        return found | dict(self.added)


def subjects(
    contents: Iterable[tuple[str, bytes]],
    round_: Round,
    limit_b: int,
    per_benchmark: int,
    seed: int,
) -> list[Subject]:
    """Result folders of at most ``limit_b``, some of each benchmark; scaled ones first.

    ``contents`` are a round's files.
    """
    sizes: Counter[str] = Counter()
    kept: dict[str, list[tuple[str, bytes]]] = defaultdict(list)
    systems: dict[str, bytes] = {}
    wanted: dict[str, tuple[str, ...]] = {}
    benchmarks: dict[str, str] = {}
    for path, data in contents:
        place = classify(path, round_)
        if place.kind == "system_description":
            systems[path] = zlib.compress(data, 1)
        if place.folder_id is None or place.benchmark_folder is None or place.is_nested:
            continue
        wanted[place.folder_id] = system_paths(place)
        benchmarks[place.folder_id] = place.benchmark_folder
        sizes[place.folder_id] += len(data)
        if sizes[place.folder_id] <= limit_b:
            kept[place.folder_id].append((path, zlib.compress(data, 1)))
        else:
            kept.pop(place.folder_id, None)
    random = Random(f"{seed} {round_.round_id}")  # noqa: S311
    chosen: list[Subject] = []
    for benchmark in sorted(set(benchmarks.values())):
        of_it = sorted(name for name in kept if benchmarks[name] == benchmark)
        random.shuffle(of_it)
        of_it.sort(key=lambda name: -_variety(path for path, _ in kept[name]))
        half = per_benchmark // 2
        for name in dict.fromkeys([*of_it[:half], *random.sample(of_it, len(of_it))]):
            described = [(path, systems[path]) for path in wanted[name] if path in systems]
            chosen.append(Subject(round_.round_id, name, (*kept[name], *described[:1])))
            if sum(f"/{benchmark}" in one.folder for one in chosen) >= per_benchmark:
                break
    return chosen


def _variety(paths: Iterable[str]) -> int:
    names = list(paths)
    return any(n.endswith("scaling.json") for n in names) + any("/power/" in n for n in names)


def cases(pool: Sequence[Subject], count: int, seed: int) -> Iterator[Case]:
    """Changed folders; the same seed gives the same ones."""
    names = [*MUTATIONS, *_FILE_MUTATIONS]
    for number in range(count):
        random = Random(f"{seed} {number}")  # noqa: S311
        subject = random.choice(pool)
        found = subject.contents()
        # Every second time anything but a log, where the folder has something else.
        others = [path for path in found if not path.rpartition("/")[2].startswith("result_")]
        path = random.choice(others if others and random.random() < 0.3 else list(found))
        name = names[number % len(names)]
        if name in _FILE_MUTATIONS:
            yield _file_case(number, random, pool, subject, path, name)
            continue
        data, before = found[path], found[path]
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            data = MUTATIONS[name](random, data)
        if data == before:
            name, data = "bit_flipped", MUTATIONS["bit_flipped"](random, data)
        yield Case(number, subject, name, path, data)


def _file_case(
    number: int, random: Random, pool: Sequence[Subject], subject: Subject, path: str, name: str
) -> Case:
    data = subject.contents()[path]
    folder, _, file = path.rpartition("/")
    if name == "file_copied":
        return Case(number, subject, name, path, data, ((f"{folder}/result_77.txt", data),))
    if name == "file_renamed":
        other = random.choice((file.upper(), f"old_{file}", f"{file}.txt", file + " "))
        return Case(number, subject, name, path, None, ((f"{folder}/{other}", data),))
    if name == "file_swapped":
        # By a file of another benchmark: one of the same may be a run of the result as well.
        benchmark = subject.folder.rpartition("/")[2]
        others = random.choice(
            [one for one in pool if one.folder.rpartition("/")[2] != benchmark]
        ).contents()
        return Case(number, subject, name, path, others[random.choice(sorted(others))])
    return Case(number, subject, name, path, None)
