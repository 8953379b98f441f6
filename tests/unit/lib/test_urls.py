"""URLs as browsers read them, and the folders they are kept in."""

import pytest

from archivebox.lib.urls import MAX_LENGTH, BadUrl, parse_url, path_domain, path_domain_of, without_credentials


@pytest.mark.parametrize(
    ("text", "href"),
    [
        ("https://example.com", "https://example.com/"),
        (" \n https://example.com/\t", "https://example.com/"),
        ("HTTP://EXAMPLE.com:80/A?q#f", "http://example.com/A?q#f"),
        ("https://bücher.example/ü ü", "https://xn--bcher-kva.example/%C3%BC%20%C3%BC"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0x7f.0.0.1/", "http://127.0.0.1/"),
        ("http://[0:0::1]:8000/", "http://[::1]:8000/"),
        ("http://example.com/a/../b/./c", "http://example.com/b/c"),
        ("http:\\\\example.com\\x", "http://example.com/x"),
        ("javascript:alert(1)", "javascript:alert(1)"),
    ],
)
def test_a_url_has_one_way_of_writing(text: str, href: str) -> None:
    url = parse_url(text)
    assert url.href == href
    assert parse_url(url.href) == url


def test_its_parts() -> None:
    url = parse_url("https://user:pass@Example.com:8443/a?b#c")
    assert (url.scheme, url.host, url.port, url.effective_port) == ("https", "example.com", 8443, 8443)
    assert (url.username, url.password) == ("user", "pass")
    assert (url.domain_key, url.origin) == ("example.com:8443", "https://example.com:8443")
    assert url.without_fragment == "https://user:pass@example.com:8443/a?b"
    plain = parse_url("http://example.com:80/")
    assert (plain.port, plain.effective_port, plain.domain_key) == (None, 80, "example.com")
    assert parse_url("about:blank").effective_port is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"), ("  \n", "empty"), ("--version", "begins with -"), ("-https://example.com/", "begins with -"),
        ("https://example.com/\0", "control"), ("https://exam\nple.com/", "control"),
        ("https://exam\tple.com/", "control"), ("https://example.com/\x1b[0m", "control"),
        ("https://example.com/\x85", "control"), ("https://example.com/" + "a" * MAX_LENGTH, "8,000 is the most"),
        ("https://example.com/" + "é" * 1_400, "written out"), ("example.com", "did you mean https://example.com"),
        ("example.com:8000/x", "did you mean https://example.com:8000/x"),
        ("localhost:8000", "did you mean https://localhost:8000"), ("foo bar", "looks like"),
        ("https://", "looks like"),
        ("https://exa mple.com/", "looks like"), ("https://[::1/", "looks like"),
        ("https://example.com:99999/", "looks like"), ("//example.com/", "looks like"), ("/etc/passwd", "looks like"),
        ("https://\ud800/", "looks like"), ("https://%00/", "looks like"), ("https://1.2.3.4.5/", "looks like"),
    ],
)  # fmt: skip
def test_what_is_none_is_refused_with_a_sentence(text: str, why: str) -> None:
    with pytest.raises(BadUrl) as caught:
        parse_url(text)
    assert why in str(caught.value)


def test_the_longest_url_is_kept() -> None:
    text = "https://example.com/".ljust(MAX_LENGTH, "a")
    assert parse_url(text).href == text


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("https://Example.COM/", "example.com"), ("https://example.com./", "example.com"),
        ("http://example.com:8000/", "example.com_8000"), ("https://bücher.example/", "xn--bcher-kva.example"),
        ("http://127.0.0.1:8000/", "127.0.0.1_8000"), ("http://[::1]:8000/", "0--1_8000"),
        ("http://[2001:db8::1]/", "2001-db8--1"), ("http://../", "http"), ("http://.git/", "_git"),
        ("http://-x.com/", "_x.com"), ("http://a_b.com/", "a_b.com"), ("file:///etc/passwd", "file"),
        ("data:text/html,x", "data"),
    ],
)  # fmt: skip
def test_a_host_is_a_safe_folder(text: str, folder: str) -> None:
    url = parse_url(text)
    assert path_domain(url) == path_domain_of(url.href) == folder


@pytest.mark.parametrize("char", [chr(code) for code in range(33, 127)])
def test_no_character_of_a_host_leaves_its_folder(char: str) -> None:
    for text in (f"http://{char}{char}/", f"http://a{char}b/", f"weird://{char}..{char}/"):
        try:
            folder = path_domain(parse_url(text))
        except BadUrl:
            continue
        assert folder not in ("", ".", "..")
        assert folder[0] not in ".-"
        assert not set(folder) - set("abcdefghijklmnopqrstuvwxyz0123456789._-")
        assert len(folder) < 256


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("http://me:hunter2@example.com/", "http://example.com/"),
        ("took http://me@example.com/a and ftp://a:b@c", "took http://example.com/a and ftp://c"),
        ("//me:hunter2@example.com/", "//example.com/"),
        ("me:hunter2@example.com", "example.com"),
        ("--url=me:hunter2@example.com", "--url=example.com"),
        ("https://example.com/@me", "https://example.com/@me"),
        ("https://example.com:8000/?mail=me@example.com", "https://example.com:8000/?mail=me@example.com"),
        ("mail me@example.com", "mail me@example.com"),
        ("mailto:me@example.com", "mailto:me@example.com"),
    ],
)
def test_credentials_are_left_out(text: str, kept: str) -> None:
    assert without_credentials(text) == kept
