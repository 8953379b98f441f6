"""A difference shows what came and went, word by word where a line only changed."""

from archivebox.core.versions.text_differences import MOST_LINES, DiffKind, DiffLine, DiffWords, compare


def signs(lines: tuple[DiffLine, ...]) -> str:
    return "".join({"same": "=", "gone": "-", "new": "+", "folded": "…"}[line.sign] for line in lines)


def test_equal_texts_do_not_differ() -> None:
    assert not compare("one\n\ntwo  ", "one\ntwo")


def test_a_line_that_changed_says_which_words_did() -> None:
    found = compare("Open from ten to six.", "Open from nine to six.")

    assert signs(found.lines) == "-+"
    assert found.lines[1].words == (
        DiffWords(DiffKind.SAME, "Open from "),
        DiffWords(DiffKind.NEW, "nine"),
        DiffWords(DiffKind.SAME, " to six."),
    )


def test_words_of_scripts_without_spaces_are_told_apart() -> None:
    found = compare("日本語のページ", "日本語の本")

    assert [words.text for words in found.lines[0].words if words.sign is DiffKind.GONE] == ["ページ"]
    assert [words.text for words in found.lines[1].words if words.sign is DiffKind.NEW] == ["本"]


def test_lines_far_from_a_difference_are_folded() -> None:
    same = [f"line {number}" for number in range(20)]
    found = compare("\n".join([*same, "old"]), "\n".join([*same, "new", "more"]))

    assert signs(found.lines) == "…==-++"
    assert (found.lines[0].count, found.gone, found.new) == (18, 1, 2)


def test_nothing_against_something_is_all_new() -> None:
    assert signs(compare("", "a\nb").lines) == "++"


def test_long_texts_are_cut_and_say_so() -> None:
    long = "\n".join(map(str, range(MOST_LINES + 5)))

    assert compare(long, long).is_cut
    assert not compare(long, long)


def test_a_long_line_and_one_that_is_there_a_thousand_times_do_not_take_long() -> None:
    """Nobody else is answered meanwhile."""
    words = [f"word{number % 50}" for number in range(30_000)]
    found = compare(" ".join(words), " ".join([*words, "more"]))
    assert signs(found.lines) == "-+"
    assert len(found.lines[0].words) == 1
    many = "again\n" * 3900
    assert signs(compare(f"{many}old", f"{many}new").lines)[-2:] == "-+"
