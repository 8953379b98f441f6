#!/usr/bin/env python3
"""Keep the article that Postlight Parser, formerly Mercury, finds in the live page."""

from __future__ import annotations

from archivebox.plugins.base.article import keep_article, read_page
from archivebox.plugins.base.html_text import html_to_text
from archivebox.plugins.base.inject import read_package

# It parses HTML into the document that is there, where pictures would load once more and their handlers run. So it is
# given a document that is in no window, where neither happens, and of the window what it asks for: its functions bound,
# as Chromium calls none of them as those of another object.
ENCLOSED = """
globalThis.Mercury = (document => {
const window = {
    document, location, addEventListener() {},
    getComputedStyle: getComputedStyle.bind(globalThis), setTimeout: setTimeout.bind(globalThis),
};
%s
return Mercury;
})(document.implementation.createHTMLDocument(""));
"""
READ = """() => Mercury.parse(location.href, {
    html: shown.copy().documentElement.outerHTML, fetchAllPages: false, contentType: "html",
})"""


def main() -> None:
    library = ENCLOSED % read_package("@postlight/parser", "dist/mercury.web.js")
    article = read_page("Mercury", library, READ)
    content = article.pop("content", None) or ""
    keep_article(content, html_to_text(content), article)


if __name__ == "__main__":
    main()
