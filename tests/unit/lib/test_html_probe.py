"""HTML that would hold up a parser for minutes, or fill the memory with its tree, is told before it is read."""

import pytest

from archivebox.lib.html_probe import LARGE, ParserLimitError, check

DEEP = "<div>" * 100_000
TANGLED = {
    "elements in each other": DEEP,
    "attributes of one element": f"<p {' '.join(f'a{number}' for number in range(100_000))}>",
    "formatting that goes on in each paragraph": "".join(f"<p><b id={number}></p>" for number in range(8_000)),
}
PLAIN = "<section><p>One <a href=/two>two</a><ul><li>three<li>four</ul></section>\n"


@pytest.mark.parametrize("text", TANGLED.values(), ids=TANGLED.keys())
def test_what_grows_with_the_square_of_its_length_is_refused(text: str) -> None:
    with pytest.raises(ParserLimitError):
        check(text)
    check(PLAIN * 1_000)


def test_what_is_only_long_is_read() -> None:
    check(PLAIN * (LARGE // len(PLAIN) + 1))
    check(PLAIN)
