"""Reading system descriptions: every dialect, and everything that may be wrong with one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpurank.systems.descriptions import Description, read_description, reported_columns

MODERN = {
    "submitter": "Acme",
    "division": "closed",
    "status": "onprem",
    "system_name": "box",
    "number_of_nodes": "2",
    "accelerators_per_node": "8",
    "accelerator_model_name": "Chip",
    "host_processors_per_node": "2",
    "host_processor_model_name": "CPU",
    "host_processor_core_count": "64",
    "host_memory_capacity": "1 TB",
    "framework": "F 1.0",
}
NODE = {
    "num_nodes": 16,
    "cpu": "2x CPU",
    "num_cores": 40,
    "accelerator": "Chip",
    "num_accelerators": 4,
    "sys_mem_size": 512,
}
ENTRY = {"division": "open", "status": "research", "framework": "F", "hardware": "box"}


def read(text: str | bytes) -> Description:
    return read_description(text.encode() if isinstance(text, str) else text, "S/systems/x.json")


def kinds(description: Description) -> list[str]:
    return [issue.kind for issue in description.issues]


def test_plain_json_fills_every_column_without_issues() -> None:
    description = read(json.dumps(MODERN))
    assert description.parse_dialect == "json"
    assert description.issues == ()
    assert set(description.reported) == set(reported_columns())
    assert description.reported["accelerator_reported"] == "Chip"
    assert description.reported["host_networking_reported"] is None
    assert json.loads(description.fields_json or "") == MODERN


@pytest.mark.parametrize(
    ("filed", "text"), [("1.0", "1.0"), ("1", "1"), ('"1"', "1"), ("null", None), ("1.50", "1.50")]
)
def test_a_number_keeps_its_text(filed: str, text: str | None) -> None:
    source = json.dumps(MODERN).replace('"number_of_nodes": "2"', f'"number_of_nodes": {filed}')
    assert read(source).reported["node_count_reported"] == text


def test_trailing_comma_is_read_and_flagged_with_its_line() -> None:
    source = '{\n "a": "x,}",\n "division": "closed",\n}'
    description = read(source)
    assert description.parse_dialect == "json_trailing_comma"
    assert description.fields == {"a": "x,}", "division": "closed"}
    (issue,) = [i for i in description.issues if i.kind == "system_trailing_comma"]
    assert issue.line_number == 3


def test_lines_of_python_literals() -> None:
    inner = str({"num_nodes": "96", "accelerator": "Chip", "num_accelerators": "16", "cpu": "2x C"})
    entry = str({"os": "OS", "framework": "F", "nodes": inner})
    lines = {"org": "Acme", "division": "closed", "status": "onprem", "platform": "96xBox"}
    text = "\n".join(f"{k}: {json.dumps({'value': v, 'metadata': {}})}" for k, v in lines.items())
    text += f'\nentry: {json.dumps({"value": entry})}\npoc_name: {{"value": "Jo Doe"}}\n'
    description = read(text)
    assert description.parse_dialect == "v06_kv"
    assert description.reported["submitter_reported"] == "Acme"
    assert description.reported["node_count_reported"] == "96"
    assert description.reported["accelerators_per_node_reported"] == "16"
    assert description.reported["operating_system_reported"] == "OS"
    assert "Doe" not in (description.fields_json or "")


def test_single_quoted_lines_are_read_and_one_that_would_run_code_is_not() -> None:
    description = read("division: {'value': 'open'}\nentry: {'value': __import__('os').getcwd()}")
    assert description.parse_dialect == "v06_kv"
    assert description.reported["division_reported"] == "open"
    assert [i.line_number for i in description.issues if i.kind == "system_line_unread"] == [2]


def test_entry_shape() -> None:
    description = read(json.dumps({**ENTRY, "interconnect": "IB", "nodes": [NODE]}))
    assert description.parse_dialect == "v05_entry"
    assert description.reported["node_count_reported"] == "16"
    assert description.reported["host_cpu_core_count_reported"] == "40"
    assert description.reported["system_name_reported"] == "box"
    assert description.reported["host_networking_reported"] == "IB"
    assert description.issues == ()


def test_several_kinds_of_nodes_are_joined_and_flagged() -> None:
    description = read(json.dumps({**ENTRY, "nodes": [NODE, {**NODE, "num_accelerators": 0}]}))
    assert description.reported["accelerators_per_node_reported"] == "4 + 0"
    assert description.reported["node_count_reported"] == "16 + 16"
    assert description.reported["accelerator_reported"] == "Chip"
    assert "system_node_kinds" in kinds(description)


def test_both_shapes_in_one_file_do_not_mix_core_counts() -> None:
    source = {k: v for k, v in MODERN.items() if k not in ("accelerators_per_node",)}
    del source["host_processor_core_count"]
    description = read(json.dumps({**source, "nodes": [NODE]}))
    assert description.parse_dialect == "json"
    assert description.reported["accelerators_per_node_reported"] == "4"
    assert description.reported["host_cpu_core_count_reported"] is None


def test_conflicting_duplicate_names_both_values_and_the_last_counts() -> None:
    description = read('{"division": "open",\n "status": "onprem",\n "division": "closed"}')
    assert description.reported["division_reported"] == "closed"
    (issue,) = [i for i in description.issues if i.kind == "system_duplicate_key"]
    assert "'open'" in issue.message and "'closed'" in issue.message
    assert issue.line_number == 3
    assert "system_duplicate_key" not in kinds(read('{"division": "x", "division": "x"}'))


@pytest.mark.parametrize(
    ("filed", "meant"),
    [
        ("divison", "division_reported"),
        ("sumitter", "submitter_reported"),
        ("number of nodes", "node_count_reported"),
        ("host_processors_core_count", "host_cpu_core_count_reported"),
        ("system-type", "system_type_reported"),
    ],
)
def test_misspelt_names(filed: str, meant: str) -> None:
    description = read(json.dumps({filed: "value"}))
    assert description.reported[meant] == "value"
    assert "system_field_misnamed" in kinds(description)


def test_the_right_name_wins_over_a_misspelt_one() -> None:
    description = read('{"divison": "open", "division": "closed"}')
    assert description.reported["division_reported"] == "closed"
    assert "system_duplicate_key" in kinds(description)


def test_an_unknown_field_is_an_issue_and_not_guessed() -> None:
    description = read(json.dumps({**MODERN, "acelerator_modell": "Other"}))
    (issue,) = description.issues
    assert (issue.level, issue.kind) == ("info", "unknown_system_field")
    assert "accelerator_model_name" in issue.message
    assert description.reported["accelerator_reported"] == "Chip"


def test_missing_and_empty_required_fields_are_warnings() -> None:
    description = read(json.dumps({**MODERN, "division": "", "status": None}))
    assert kinds(description) == ["system_field_missing"] * 2
    assert description.reported["division_reported"] == ""


@pytest.mark.parametrize("key", ["poc_name", "submission_poc_email", "contact", "author-email"])
def test_contact_persons_are_left_out(key: str) -> None:
    source = {**MODERN, key: "Jo Doe", "hw_notes": "ask jo.doe@acme.example.com, 2 CPU @ 2.20GHz"}
    text = read(json.dumps(source)).fields_json or ""
    assert "Doe" not in text and "jo.doe" not in text
    assert "2 CPU @ 2.20GHz" in text


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(MODERN).encode("utf-8-sig"),
        json.dumps(MODERN, indent=1).replace("\n", "\r\n").encode(),
        json.dumps(MODERN).encode("utf-16"),
        json.dumps(MODERN, indent=1).replace("\n", "\r").encode(),
    ],
)
def test_encodings_and_line_ends_change_nothing(data: bytes) -> None:
    assert read(data).reported == read(json.dumps(MODERN)).reported


def test_bytes_that_are_not_utf8_keep_the_rest() -> None:
    data = json.dumps({**MODERN, "sw_notes": "é"}, ensure_ascii=False).encode()
    description = read(data.replace(b"CPU", b"Xeon\xae CPU"))
    assert description.reported["host_cpu_reported"] == "Xeon® CPU"
    assert description.fields["sw_notes"] == "é"
    assert "non_utf8_bytes" in kinds(description)


@pytest.mark.parametrize(
    "data",
    [
        # More of them stand in tests/cases/test_hostile.py.
        b" \n",
        b'"text"',
        b"# Notes\nsome words: more",
        b'{"a":' * 70 + b"1" + b"}" * 70,
        b"entry: " + b"(" * 60_000,
        b" " * (5 << 20),
        b'{"a": "' + b'\\"' * 100_000 + b"\\",
    ],
)
def test_what_cannot_be_read_is_an_issue(data: bytes) -> None:
    description = read(data)
    assert description.parse_dialect == "unreadable"
    assert description.issues[-1].level == "error"
    assert description.fields_json is None
    assert set(description.reported.values()) == {None}


@pytest.mark.parametrize(
    "value", ["NaN", "1e999", "-Infinity", "9" * 5000, '"\\ud800"', "[[1]]", '{"a": {"b": []}}']
)
def test_odd_values_still_give_valid_json(value: str) -> None:
    text = read('{"division": ' + value + "}").fields_json
    assert text is not None
    json.loads(text.encode("utf-8"))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_give_a_description(data: bytes) -> None:
    description = read(data)
    assert set(description.reported) == set(reported_columns())


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=8,
    ),
    st.sampled_from([*MODERN, "nodes", "entry"]),
)
def test_any_json_value_in_any_field(value: object, name: str) -> None:
    description = read(json.dumps({**MODERN, name: value}))
    json.loads((description.fields_json or "").encode())
    for text in description.reported.values():
        assert text is None or isinstance(text, str)
