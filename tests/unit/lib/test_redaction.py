"""No secret of a command line is shown, and what is none stays as it is."""

import pytest

from archivebox.lib.urls import redacted


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["wget", "--proxy=http://eve:hunter2@proxy:3128"], ["wget", "--proxy=http://proxy:3128"]),
        (["tool", "--password=hunter2", "x"], ["tool", "--password=***", "x"]),
        (["tool", "--video-password", "hunter2", "x"], ["tool", "--video-password", "***", "x"]),
        (["tool", "--api-key", "k", "--token=t"], ["tool", "--api-key", "***", "--token=***"]),
        (["tool", "--token", "--verbose"], ["tool", "--token", "***"]),
        (["curl", "-H", "Authorization: Bearer abx_1"], ["curl", "-H", "Authorization: ***"]),
        (["curl", "-H", "Cookie: session=1; b=2"], ["curl", "-H", "Cookie: ***"]),
        (["git", "clone", "https://example.com/a b?token=no"], ["git", "clone", "https://example.com/a b?token=no"]),
        (["wget", "--load-cookies", "/tmp/cookies.txt"], ["wget", "--load-cookies", "/tmp/cookies.txt"]),
    ],
)
def test_only_secrets_are_hidden(argv: list[str], shown: list[str]) -> None:
    assert redacted(argv) == shown
