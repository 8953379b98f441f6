"""Owns articles whose text is known: pages of many shapes, in the midst of what surrounds articles on the web."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from tests.site.prose import LANGUAGES, Language, Prose
from tests.site.wire import Request, Response, Route, page


@dataclass(frozen=True)
class Known:
    """A page, and the text that a reader would call its article, headline left out."""

    html: str
    text: str


class Author(Prose):
    """Writes one page: what is `told` is the article's text, everything else is not."""

    def __init__(self, seed: str, language: Language) -> None:
        super().__init__(seed, language)
        self.title = self.phrase() + self.language.space + self.phrase()
        self._told: list[str] = []
        self.links_much = False
        """Whether most sentences have a link, as those of encyclopedias do."""

    @property
    def text(self) -> str:
        return "\n\n".join(self._told)

    def told(self, tag: str, text: str, attributes: str = "") -> str:
        self._told.append(text)
        return element(tag, html.escape(text, quote=False), attributes)

    def paragraph(self, least: int = 3, most: int = 6) -> str:
        """A paragraph of the article; some have a link inside."""
        text = self.sentences(least, most)
        self._told.append(text)
        space = self.language.space
        words = text.split(space) if space else list(text)
        if self.links_much or self.number(0, 2) == 0:
            for start in range(2, len(words) - 1, 8 if self.links_much else len(words)):
                words[start] = f'<a href="/tree/">{words[start]}'
                words[start + 1] += "</a>"
        return element("p", space.join(words))

    def paragraphs(self, least: int, most: int) -> str:
        return "\n".join(self.paragraph() for _ in range(self.number(least, most)))

    def section(self, tag: str = "h2") -> str:
        return self.told(tag, self.phrase()) + "\n" + self.paragraphs(2, 4)

    def links(self, count: int, kind: str = "") -> str:
        """A list of links to elsewhere."""
        items = "".join(f'<li><a href="/tree/?{number}">{self.phrase()}</a></li>' for number in range(count))
        return f"<ul{kind and f' class={kind!r}'}>{items}</ul>"

    def teasers(self, count: int) -> str:
        """Other articles with the beginning of their text."""
        return "".join(
            f'<div class="teaser"><h3><a href="/tree/?t{number}">{self.phrase()}</a></h3><p>{self.sentence()}</p></div>'
            for number in range(count)
        )

    def picture(self) -> str:
        caption = self.told("figcaption", self.sentence())
        return f'<figure><img src="/image.png?{self.number(1, 999)}" width="400" height="300" alt="">{caption}</figure>'


def element(tag: str, inside: str, attributes: str = "") -> str:
    return f"<{tag}{attributes and f' {attributes}'}>{inside}</{tag}>"


def header(author: Author) -> str:
    return f'<header class="site-header"><a href="/">{author.phrase()}</a><nav>{author.links(8, "menu")}</nav></header>'


def footer(author: Author) -> str:
    return f'<footer class="footer">{author.links(10)}<p>© 2026 {author.phrase()}. {author.sentence()}</p></footer>'


def comments(author: Author, count: int) -> str:
    """What readers wrote below."""
    each = "".join(
        f'<li class="comment"><b>{author.phrase()}</b> <p>{author.sentence()}</p></li>' for _ in range(count)
    )
    return f'<section id="comments" class="comments"><h3>Comments</h3><ol>{each}</ol></section>'


def framed(author: Author, main: str) -> str:
    return f"{header(author)}{main}{footer(author)}"


def share() -> str:
    return '<div class="share"><a href="/s/1">Share</a> <a href="/s/2">Tweet</a> <a href="/s/3">Mail</a></div>'


# --- shapes ---------------------------------------------------------------------------------------------------------


def news(author: Author) -> str:
    lead = author.told("p", author.sentences(2, 2), 'class="lead"')
    body = f"{author.picture()}{author.paragraphs(3, 5)}"
    related = f'<aside class="related"><h4>Read more</h4>{author.links(3)}</aside>'
    rest = f"{author.section()}{author.told('blockquote', author.sentence())}{author.paragraphs(2, 4)}"
    article = f"<article><h1>{author.title}</h1>{share()}{lead}{body}{related}{rest}{share()}</article>"
    aside = f'<aside class="sidebar"><h3>Most read</h3>{author.links(8)}{author.teasers(3)}</aside>'
    return f"{header(author)}<main>{article}{aside}</main>{comments(author, 4)}{author.teasers(6)}{footer(author)}"


def blog(author: Author) -> str:
    post = f'<div class="entry-content">{author.paragraphs(4, 7)}{author.picture()}{author.section()}</div>'
    meta = '<div class="meta">Posted on 3 May by <a href="/author">Ada</a> in <a href="/tag">Notes</a></div>'
    side = f'<div id="sidebar"><h3>Archive</h3>{author.links(12)}<h3>Links</h3>{author.links(6)}</div>'
    body = f'<div class="post"><h2 class="entry-title">{author.title}</h2>{meta}{post}</div>{comments(author, 6)}'
    return framed(author, f'<div id="content">{body}</div>{side}')


def documentation(author: Author) -> str:
    contents = f'<div class="toc sidebar" role="navigation">{author.links(30)}</div>'
    code = author.told("pre", "for page in pages:\n    keep(page)", 'class="highlight"')
    points = "".join(author.told("li", author.sentence()) for _ in range(4))
    cells = "".join(
        f"<tr>{author.told('td', author.phrase())}{author.told('td', author.sentence())}</tr>" for _ in "abc"
    )
    body = f"{author.paragraphs(1, 2)}{code}{author.section()}<ul>{points}</ul>{author.section()}<table>{cells}</table>"
    around = f'<div class="prev-next"><a href="/p">{author.phrase()}</a> <a href="/n">{author.phrase()}</a></div>'
    main = f'<div class="body" role="main"><h1>{author.title}</h1>{body}{around}</div>'
    return framed(author, contents + main)


def forum(author: Author) -> str:
    posts = "".join(
        f'<div class="post" id="p{number}"><div class="author"><a href="/u/{number}">{author.phrase()}</a>'
        f'<span>Posts: {author.number(1, 999)}</span></div><div class="postbody">{author.paragraphs(1, 3)}</div></div>'
        for number in range(6)
    )
    return framed(author, f'<div id="thread"><h2>{author.title}</h2>{posts}</div>{author.links(6)}')


def gallery(author: Author) -> str:
    pictures = "".join(author.picture() for _ in range(9))
    grid = f'{author.paragraphs(1, 1)}<div class="grid">{pictures}</div>'
    return framed(author, f"<main><h1>{author.title}</h1>{grid}</main>")


def encyclopedia(author: Author) -> str:
    author.links_much = True
    facts = "".join(f"<tr><th>{author.phrase()}</th><td>{author.number(1, 999)}</td></tr>" for _ in range(6))
    box = f'<table class="infobox">{facts}</table>'
    sources = "".join(f'<li id="r{number}"><a href="/r">{author.phrase()}</a></li>' for number in range(8))
    body = f"{box}{author.paragraphs(2, 3)}{''.join(author.section() for _ in range(4))}"
    tail = f'<ol class="references">{sources}</ol><div class="navbox">{author.links(20)}</div>'
    main = f'<h1 id="firstHeading">{author.title}</h1><div id="bodyContent">{body}{tail}</div>'
    return f'<div id="content">{main}</div>{author.links(25)}{footer(author)}'


def recipe(author: Author) -> str:
    things = "".join(author.told("li", f"{author.number(1, 9)} g {author.phrase()}") for _ in range(9))
    steps = "".join(author.told("li", author.sentences(1, 2)) for _ in range(6))
    body = f"{author.paragraphs(1, 2)}{author.picture()}<ul>{things}</ul><ol>{steps}</ol>"
    article = f'<article class="recipe"><h1>{author.title}</h1>{share()}{body}</article>'
    return framed(author, article + author.teasers(8))


def question(author: Author) -> str:
    answers = "".join(
        f'<div class="answer"><div class="votes">{author.number(0, 99)}</div>'
        f'<div class="post-text">{author.paragraphs(1, 3)}</div></div>'
        for _ in range(3)
    )
    asked = f'<div class="question"><div class="post-text">{author.paragraphs(1, 2)}</div></div>'
    side = f'<div id="sidebar"><h4>Related</h4>{author.links(10)}</div>'
    return framed(author, f'<div id="mainbar"><h1>{author.title}</h1>{asked}{answers}</div>{side}')


def mailing_list(author: Author) -> str:
    lines = "<br><br>\n".join(author.told("span", author.sentences(2, 4)) for _ in range(6))
    links = f'<a href="/p">Previous</a> <a href="/n">Next</a> <a href="/t">{author.phrase()}</a>'
    return f"<h1>{author.title}</h1><b>Ada Keeper</b><br><i>Mon May 3</i><hr>{links}<hr>{lines}<hr>{links}"


def table_layout(author: Author) -> str:
    menu = "<br>".join(f'<a href="/m">{author.phrase()}</a>' for _ in range(10))
    main = f'<font size="5"><b>{author.title}</b></font>{author.paragraphs(5, 8)}'
    rows = f'<tr><td colspan="2">{author.phrase()}</td></tr><tr><td width="150">{menu}</td><td>{main}</td></tr>'
    return f'<table width="760" border="0">{rows}</table>{author.links(5)}'


def short_note(author: Author) -> str:
    note = f"<h1>{author.title}</h1>{author.paragraph(2, 2)}{author.paragraph(1, 2)}"
    return framed(author, f"<main><article>{note}</article></main>{author.teasers(9)}")


def essay(author: Author) -> str:
    return f"<h1>{author.title}</h1>{''.join(author.section() for _ in range(6))}"


def nameless(author: Author) -> str:
    """Elements without a meaning and classes without a word, as compilers of style sheets write them."""
    blocks = "".join(f'<div class="css-1x{number}"><div>{author.paragraph()}</div></div>' for number in range(7))
    side = "".join(
        f'<div class="css-9q{n}"><a href="/q">{author.phrase()}</a><div>{author.sentence()}</div></div>'
        for n in range(5)
    )
    main = f'<div class="css-2"><div>{author.title}</div>{blocks}</div>'
    return f'<div class="css-0"><div>{author.links(7)}</div>{main}<div>{side}</div></div>'


def banners(author: Author) -> str:
    """Consent, newsletter and app banners are in the document, hidden or not."""
    asked = f"<p>{author.sentences(3, 4)}</p><button>OK</button>"
    consent = f'<div id="cookie-consent" class="consent" style="position:fixed;bottom:0">{asked}</div>'
    letter = f'<div class="modal" style="display:none"><h2>{author.phrase()}</h2><p>{author.sentences(2, 3)}</p></div>'
    wall = f'<div class="promo"><p><a href="/subscribe">{author.phrase()}</a> {author.phrase()}</p></div>'
    body = f"{author.paragraphs(2, 3)}{wall}{author.paragraphs(3, 4)}{author.section()}"
    return consent + framed(author, f"<main><h1>{author.title}</h1>{body}</main>{letter}")


def magazine(author: Author) -> str:
    """What is sold stands between the paragraphs, in their own container."""
    letter = f'<div class="newsletter-signup"><p>{author.sentence()}</p><input type="email"></div>'
    also = f'<p><strong>Read also:</strong> <a href="/also">{author.phrase()}</a></p>'
    biography = f'<div class="author-bio"><p>{author.sentences(2, 2)}</p></div>'
    tags = f'<div class="tags">{author.links(5)}</div>'
    parts = [author.paragraphs(2, 3), letter, author.section(), also, author.section("h3"), biography, tags]
    return framed(
        author, f'<article class="story"><h1>{author.title}</h1>{"".join(parts)}</article>{author.teasers(4)}'
    )


def live_report(author: Author) -> str:
    entries = "".join(
        f'<div class="entry"><time>12:05</time>{author.told("h3", author.phrase())}{author.paragraph()}</div>'
        for _ in range(8)
    )
    return framed(author, f'<main><h1>{author.title}</h1><div class="live">{entries}</div></main>{author.links(9)}')


def discussion(author: Author) -> str:
    """A post that is shorter than what was said about it."""
    post = f'<div class="post"><h1>{author.title}</h1>{author.paragraphs(2, 2)}</div>'
    return framed(author, f"<main>{post}{comments(author, 25)}</main>")


def poem(author: Author) -> str:
    verses = "".join(f"<p>{'<br>'.join(author.told('span', author.phrase()) for _ in range(4))}</p>" for _ in range(6))
    side = f"<aside>{author.links(6)}</aside>"
    return framed(author, f'<div class="poem"><h1>{author.title}</h1>{verses}</div>{side}')


def glossary(author: Author) -> str:
    terms = "".join(author.told("dt", author.phrase()) + author.told("dd", author.sentences(1, 2)) for _ in range(12))
    return framed(author, f"<main><h1>{author.title}</h1>{author.paragraph()}<dl>{terms}</dl></main>{author.links(12)}")


SHAPES: tuple[Callable[[Author], str], ...] = (
    news, blog, documentation, forum, gallery, encyclopedia, recipe, question, mailing_list, table_layout, short_note,
    essay, nameless, banners, magazine, live_report, discussion, poem, glossary,
)  # fmt: skip
PAGES = {f"/known/{shape.__name__}-en-{number}": (shape, "en") for shape in SHAPES for number in (1, 2)} | {
    f"/known/{shape.__name__}-{code}-1": (shape, code)
    for code in LANGUAGES
    for shape in (news, blog, documentation)
    if code != "en"
}
"""Path → shape and code of the language."""


@cache
def known(path: str) -> Known:
    """The page at one of the paths of `PAGES`; KeyError for others."""
    shape, code = PAGES[path]
    language = LANGUAGES[code]
    author = Author(path, language)
    body = shape(author)
    head = f'<meta charset="utf-8"><title>{author.title} - {author.phrase()}</title>'
    root = f'<html lang="{language.code}" dir="{language.direction}">'
    return Known(f"<!doctype html>\n{root}\n<head>{head}</head>\n<body>\n{body}\n</body>\n</html>\n", author.text)


def article(request: Request) -> Response:
    """One of them, or the list of all."""
    if request.path in PAGES:
        return Response(known(request.path).html.encode())
    links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in PAGES)
    return Response(page("Known", f"<ul>{links}</ul>"), status=200 if request.path == "/known/" else 404)


ROUTES = (Route("/known/*", "articles of many shapes, whose text is known", article, sample="/known/"),)
