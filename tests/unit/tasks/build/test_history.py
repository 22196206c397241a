"""What counts as a change of a round, and as how many."""

from __future__ import annotations

from dataclasses import replace

from gpurank.store.changes import Change, Result, State, changes

A = Result("v5.1/A/one/bert", "bert", "A/systems/one.json", 2.0, 1, "logs-a")
B = Result("v5.1/B/two/bert", "bert", "B/systems/two.json", 4.0, 2, "logs-b")
SYSTEMS = {
    "A/systems/one.json": '{"cpu":"Xeon 8570","nodes":"1"}',
    "B/systems/two.json": '{"cpu":"EPYC","nodes":2}',
}
BASE = State((A, B), SYSTEMS, {})


def test_the_same_version_twice_has_no_change() -> None:
    assert changes(BASE, BASE) == ()


def test_an_edited_cpu_is_exactly_one_change() -> None:
    edited = SYSTEMS | {"A/systems/one.json": '{"nodes":"1","cpu":"Neoverse-V2"}'}
    assert changes(BASE, replace(BASE, systems=edited)) == (
        Change("system_edited", "A/systems/one.json", None, "cpu", "Xeon 8570", "Neoverse-V2"),
    )


def test_fields_that_come_go_or_change_their_type_are_told() -> None:
    edited = SYSTEMS | {"B/systems/two.json": '{"cpu":null,"nodes":"2","new":["x"]}'}
    found = changes(BASE, replace(BASE, systems=edited))
    assert [(c.field_name, c.old_value, c.new_value) for c in found] == [
        ("cpu", "EPYC", "null"), ("new", None, '["x"]'), ("nodes", "2", "2"),
    ]  # fmt: skip


def test_a_withdrawn_result_takes_its_description_along_and_moves_ranks() -> None:
    after = State((replace(B, rank=1),), {"B/systems/two.json": SYSTEMS["B/systems/two.json"]}, {})
    assert changes(BASE, after) == (
        Change("result_withdrawn", A.result_id, "bert", None, "2.0", None),
        Change("rank_moved", B.result_id, "bert", "rank", "2", "1"),
    )
    back = changes(after, BASE)
    assert [c.kind for c in back] == ["result_added", "rank_moved"]


def test_a_folder_that_became_unreadable_is_set_aside_and_not_withdrawn() -> None:
    after = State((B,), SYSTEMS, {A.result_id: "no log"})
    (found,) = changes(BASE, after)
    assert (found.kind, found.new_value) == ("result_set_aside", "no log")


def test_a_renamed_submitter_is_a_renamed_result_and_its_edited_fields() -> None:
    path, new = "Verda/systems/one.json", "v5.1/Verda/one/bert"
    after = State(
        (replace(A, result_id=new, system_path=path), B),
        {path: '{"cpu":"Xeon 8570","nodes":"4"}', "B/systems/two.json": '{"cpu":"EPYC","nodes":2}'},
        {},
    )
    assert changes(BASE, after) == (
        Change("system_edited", path, None, "nodes", "1", "4"),
        Change("result_renamed", new, "bert", None, A.result_id, new),
    )


def test_views_of_one_measurement_are_renamed_each_to_its_like() -> None:
    plain = replace(A, result_id="v5.1/smc/one/bert")
    power = replace(A, result_id="v5.1/smc/one-power/bert")
    moved = [replace(i, result_id=i.result_id.replace("smc", "Firmus")) for i in (power, plain)]
    found = changes(State((plain, power), {}, {}), State(tuple(moved), {}, {}))
    assert [(c.old_value, c.new_value) for c in found] == [
        ("v5.1/smc/one-power/bert", "v5.1/Firmus/one-power/bert"),
        ("v5.1/smc/one/bert", "v5.1/Firmus/one/bert"),
    ]


def test_scores_logs_and_descriptions_by_themselves() -> None:
    after = State(
        (replace(A, score_min=2.5, logs="other"), replace(B, logs="other")),
        {"B/systems/two.json": SYSTEMS["B/systems/two.json"], "C/systems/c.json": "{}"}, {},
    )  # fmt: skip
    assert changes(BASE, after) == (
        Change("system_added", "C/systems/c.json"),
        Change("system_withdrawn", "A/systems/one.json"),
        Change("score_changed", A.result_id, "bert", "score_min", "2.0", "2.5"),
        Change("logs_changed", B.result_id, "bert"),
    )
    lost = State((replace(A, score_min=None, rank=None), B), SYSTEMS, {})
    assert [c.new_value for c in changes(BASE, lost)] == [None, None]
    unreadable = replace(BASE, systems=SYSTEMS | {"A/systems/one.json": None})
    assert [c.new_value for c in changes(BASE, unreadable)] == ["unreadable"]
