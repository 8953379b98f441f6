"""The version in what a program says of itself."""

import pytest

from archivebox.plugins.base.install import version_in


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("GNU Wget 1.21.3 built on linux-gnu.\n\n-cares +digest", "1.21.3"),
        ("git version 2.39.5", "2.39.5"),
        ("v20.20.2\n", "20.20.2"),
        ("Chromium 156.0.8078.79 built on Debian GNU/Linux 12 (bookworm)", "156.0.8078.79"),
        ("ffmpeg version 5.1.6-0+deb12u1 Copyright (c) 2000-2024 the FFmpeg developers", "5.1.6-0+deb12u1"),
        ("2025.10.14", "2025.10.14"),
        ("jq-1.6", "1.6"),
        ("less 590 (GNU regular expressions)\nCopyright (C) 1984-2021", "590"),
        ("ripgrep 13.0.0\n-SIMD -AVX (compiled)", "13.0.0"),
        ("\n\n  tool 7\n", "7"),
        ("no number here", ""),
        ("", ""),
    ],
)
def test_the_first_number_like_word_of_the_first_lines_is_the_version(said: str, version: str) -> None:
    assert version_in(said) == version
