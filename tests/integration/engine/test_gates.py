"""A gate that fails lets nothing of its page start, whatever the crawl was asked for; what opens it lets all go on."""

import pytest

from tests.integration.engine.driver import Collection

NOTE = 'echo "$(basename "$PWD")" >> "$DATA_DIR/ledger"\n'
GATE = "on_Snapshot__00_gate.sh"
SHUT_ONCE = '[ -e asked ] || { touch asked; exit 3; }\necho \'{"type": "ArchiveResult", "status": "succeeded"}\'\n'


def plugins(made: Collection, **config: object) -> None:
    made.plugin("gate", {GATE: SHUT_ONCE}, config={"x-hooks": {GATE: {"gate": True}}, **config})
    made.plugin("early", {"on_Snapshot__11_early.bg.sh": NOTE})
    made.plugin("late", {"on_Snapshot__60_late.sh": NOTE})


@pytest.mark.default
def test_what_is_behind_a_gate_starts_when_that_opens(forked: Collection) -> None:
    plugins(forked)
    forked.run(forked.add(PLUGINS=["late"]))
    assert forked.ledger == []
    assert (forked.results()["late"]["status"], forked.results()["late"]["reason"]) == ("skipped", "kept_out:gate")
    assert forked.actor.ask("time_has_come") == 1
    forked.run_until("the second try", lambda: forked.results()["late"]["status"] == "noresults")
    assert forked.ledger == ["late"]


def test_a_gate_that_is_off_is_none(forked: Collection) -> None:
    plugins(forked, properties={"GATE_ENABLED": {"default": False}})
    forked.run(forked.add(PLUGINS=["early", "late"]))
    assert sorted(forked.ledger) == ["early", "late"]
