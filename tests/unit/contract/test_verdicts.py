"""A verdict says what came of a page, and never more."""

from dataclasses import dataclass, field

import pytest

from archivebox.contract.presentation import OutputPattern
from archivebox.contract.verdicts import State, Verdict, judge

OUTPUTS = {
    "picture": (OutputPattern("preview", "*.png"),),
    "article": (OutputPattern("text", "*.txt"), OutputPattern("reader", "*.html")),
    "mirror": (OutputPattern("files", "*/HEAD"),),
    "icon": (OutputPattern("icon", "favicon.*"),),
    "hashes": (OutputPattern("evidence", "hashes.json"),),
}


@dataclass
class Result:
    """What a verdict looks at, with the words of its reason made simple."""

    plugin: str
    status: str
    files: tuple[str, ...] = ()
    hook_name: str | None = "on_Snapshot__50_it.py"
    reason: str = ""
    sentence: str = ""
    action: str = ""
    output_files: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self.output_files = dict.fromkeys(self.files)


PICTURE = Result("picture", "succeeded", ("a.png",))
HASHES = Result("hashes", "succeeded", ("hashes.json",))


def verdict(*results: Result, status: str = "sealed", http_status: int = 200) -> Verdict:
    return judge(status, http_status, results, lambda plugin: OUTPUTS.get(plugin, ()))


def failed(plugin: str, step: int = 30, *, sentence: str = "", action: str = "") -> Result:
    hook_name = f"on_Snapshot__{step}_{plugin}.py"
    return Result(plugin, "failed", hook_name=hook_name, sentence=sentence, action=action)


def test_a_page_of_which_nothing_came_is_a_failure_that_names_what_went_wrong_first() -> None:
    first = failed("browser", 30, sentence="example.org cannot be reached", action="Try later.")
    said = verdict(failed("copy", 61, sentence="a later one"), first, HASHES, http_status=0)

    assert said.state is State.NOTHING
    assert said.sentence == "Nothing was archived: example.org cannot be reached."
    assert said.action == "Try later."


def test_a_failure_without_words_has_a_next_action_all_the_same() -> None:
    said = verdict(failed("browser"), Result("icon", "succeeded", ("favicon.ico",)))

    assert (said.state, bool(said.sentence), bool(said.action)) == (State.NOTHING, True, True)


def test_only_what_was_to_be_had_is_counted() -> None:
    said = verdict(
        PICTURE,
        HASHES,
        Result("media", "noresults"),
        Result("mirror", "skipped", reason="not_applicable:such URLs"),
        Result("ocr", "skipped", reason="disabled:OCR_ENABLED"),
        Result("article", "skipped", reason="not_chosen"),
        Result("sonic", "skipped", reason="other_engine:sonic"),
        Result("closer", "succeeded"),
        failed("copy"),
    )

    assert (said.kept, said.wanted, said.failed) == (2, 3, 1)
    assert (said.state, said.sentence, bool(said.action)) == (State.PARTLY, "Missing: copy.", True)


def test_a_plugin_of_several_hooks_counts_once_and_is_missed_if_one_failed() -> None:
    said = verdict(
        PICTURE,
        Result("browser", "succeeded", ("tab.json",), hook_name="on_Snapshot__20_tab.py"),
        failed("browser", 30, sentence="the first"),
        failed("browser", 49, sentence="the second"),
    )

    assert (said.kept, said.wanted) == (1, 2)


@pytest.mark.parametrize(
    ("result", "name"),
    [
        (Result("picture", "succeeded", ("a.png",)), "a picture"),
        (Result("article", "succeeded", ("a.txt",)), "a text"),
        (Result("mirror", "succeeded", ("x.git/HEAD",)), "a folder"),
        (Result("unknown", "succeeded", ("page.html",)), "a page of a plugin that declares nothing"),
    ],
)
def test_content_of_any_kind_is_something(result: Result, name: str) -> None:
    assert verdict(result).state is State.KEPT, name
    assert verdict(result, failed("copy")).state is State.PARTLY, name


def test_facts_alone_are_all_that_was_asked_for_where_nothing_failed() -> None:
    assert verdict(Result("icon", "succeeded", ("favicon.ico",))).state is State.KEPT
    assert verdict(Result("media", "noresults")).state is State.NOTHING
    assert verdict().state is State.NOTHING


@pytest.mark.parametrize("outputs", [OUTPUTS, {}], ids=["ours", "of a plugin that declares nothing"])
def test_words_about_other_outputs_alone_archive_nothing(outputs: dict[str, tuple[OutputPattern, ...]]) -> None:
    stamp = Result("timestamp", "succeeded", ("hashes.tsr",))
    assert judge("sealed", 200, [HASHES, stamp], lambda name: outputs.get(name, ())).state is State.NOTHING
    assert verdict(HASHES, PICTURE).state is State.KEPT


def test_a_page_that_lacks_files_of_its_own_is_partly_archived_and_says_how_many() -> None:
    said = "106 files of the page did not come"
    recorded = Result("responses", "succeeded", ("index.jsonl",), reason="files_missing", sentence=said, action="Do.")
    found = verdict(PICTURE, recorded)
    assert (found.state, found.sentence, found.action) == (State.PARTLY, f"{said}.", "Do.")
    assert verdict(PICTURE, recorded, failed("copy")).sentence == f"Missing: copy. {said}."


def test_what_a_missing_browser_left_out_was_to_be_had() -> None:
    said = verdict(HASHES, Result("picture", "skipped", reason="no_session", sentence="There was no browser."))

    assert (said.state, said.failed) == (State.NOTHING, 1)


@pytest.mark.parametrize("reason", ["no_session", "page_gone", "nothing_came", "kept_out:robots"])
def test_a_page_that_never_loaded_gives_the_true_reason(reason: str) -> None:
    early = Result(
        "shot", "failed", hook_name="on_Snapshot__25_shot.bg.py", reason=reason, sentence="There was no page."
    )
    navigation = Result(
        "chrome",
        "failed",
        hook_name="on_Snapshot__30_navigate.py",
        reason="no_such_host",
        sentence="There is no such host.",
    )
    said = verdict(early, navigation)

    assert said.sentence == "Nothing was archived: There is no such host."
    assert "There was no page." in verdict(early).sentence, "where nothing else says why"


def test_an_error_page_is_kept_and_called_so() -> None:
    said = verdict(PICTURE, http_status=404)

    assert said.state is State.PARTLY
    assert said.sentence == "The server answered 404 (Not Found): the archived page is its error page."
    assert said.action
    assert "599:" in verdict(PICTURE, http_status=599).sentence


def test_what_is_tried_again_is_not_final() -> None:
    said = verdict(PICTURE, Result("copy", "backoff"))

    assert (said.failed, said.retrying, said.wanted) == (0, 1, 2)
    assert said.sentence == "Missing: copy. Retries by itself."


def test_a_page_that_asks_for_a_log_in_is_not_advised_to_be_captured_as_before() -> None:
    assert "persona" in verdict(PICTURE, http_status=401).action
    assert "persona" not in verdict(PICTURE, http_status=404).action


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("queued", State.WAITING),
        ("started", State.RUNNING),
        ("paused", State.PAUSED),
        ("cancelled", State.KEPT),
        ("sealed", State.KEPT),
    ],
)
def test_every_life_has_a_word_and_a_sentence(status: str, state: State) -> None:
    said = verdict(PICTURE, status=status)

    assert (said.state, bool(said.sentence)) == (state, True)
    assert said.is_final == (status in {"cancelled", "sealed"})


def test_a_stopped_page_is_what_was_archived_of_it_and_cancelled_if_nothing() -> None:
    assert verdict(PICTURE, Result("copy", "skipped", reason="cancelled"), status="cancelled").state is State.PARTLY
    assert verdict(Result("copy", "skipped", reason="cancelled"), status="cancelled").state is State.CANCELLED


def test_what_has_yet_to_end_is_counted_apart() -> None:
    said = verdict(PICTURE, Result("copy", "queued"), Result("article", "started"), status="started")

    assert (said.kept, said.wanted, said.unfinished) == (1, 1, 2)


@pytest.mark.parametrize(
    ("status", "rest"),
    [
        ("failed", "The answer 503 (Service Unavailable) was archived instead of the page."),
        ("backoff", "Retries by itself."),
    ],
)
def test_what_came_instead_of_the_page_is_not_the_page_archived(status: str, rest: str) -> None:
    sentence, reason = "the server answered 503", "server_busy"
    hook = "on_Snapshot__30_it.py"
    refused = Result("browser", status, hook_name=hook, reason=reason, sentence=sentence, action="Wait.")
    said = verdict(PICTURE, HASHES, refused, http_status=503)
    assert (said.state, said.is_archived, said.is_final) == (State.REFUSED, False, True)
    assert (said.sentence, said.action) == (f"The server answered 503. {rest}", "Wait.")
