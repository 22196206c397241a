"""Console options: from the user's environment, until a command sets its own."""

from __future__ import annotations

import contextvars

from flows.console import Console, current_console, set_console


def test_the_environment_is_honoured() -> None:
    asked = {"GPURANK_QUIET": "1", "GPURANK_LOG_FORMAT": "json", "GPURANK_DEBUG": "yes"}
    assert Console.from_environment(asked) == Console(is_quiet=True, is_json=True, is_debug=True)
    refused = {"GPURANK_QUIET": "0", "GPURANK_LOG_FORMAT": "text", "GPURANK_DEBUG": ""}
    assert Console.from_environment(refused) == Console()
    assert Console.from_environment({"GPURANK_RUN_ID": "nightly"}).run_id == "nightly"


def test_a_command_sets_its_own_for_its_context_alone() -> None:
    def set_and_read() -> Console:
        set_console(Console(is_json=True))
        return contextvars.copy_context().run(current_console)

    before = current_console()
    assert contextvars.copy_context().run(set_and_read) == Console(is_json=True)
    assert current_console() == before
