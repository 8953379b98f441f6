"""Owns the small tree of 13 pages in three depths that recursive crawls walk through."""

from __future__ import annotations

from tests.site.wire import Request, Response, Route, page, redirect

BRANCHES = ("a", "b", "c")
LEAVES = tuple(f"{branch}{number}" for branch in BRANCHES for number in (1, 2, 3))
PAGES = (
    "/tree/",
    *(f"/tree/{branch}/" for branch in BRANCHES),
    *(f"/tree/{leaf[0]}/{leaf}" for leaf in LEAVES),
)
"""Every page once: depth 0, the three of depth 1, the nine of depth 2."""

EXTRAS = {
    "/tree/": """
<ul>
<li><a href="a/#part">a again, with a fragment</a></li>
<li><a href="/tree/a/?utm_source=tree&amp;utm_medium=link">a again, with tracking parameters</a></li>
<li><a href="#here">a fragment of this page</a></li>
<li><a href="mailto:web@example.org">a mail address</a></li>
<li><a href="tel:+10000000">a telephone number</a></li>
<li><a href="javascript:void(0)">a script</a></li>
<li><a href="data:text/plain,hello">a data URL</a></li>
<li><a>an anchor without href</a></li>
</ul>
<p id="here"><img src="/image.png?tree" alt="picture" width="40" height="30"></p>""",
    "/tree/a/": '<p><a href="../b/">next: b, written with ../</a> <a href="../">up</a></p>',
    "/tree/b/": """<p><a href="%OTHER%/article">an article on another origin</a>
<a href="%OTHER%/tree/">the same tree on another origin</a> <a href="//example.org/">without a scheme</a></p>""",
    "/tree/c/": '<p><a href="./c1">c1 again, with ./</a> <a href="../../tree/c/../c/c2">c2, by a detour</a></p>',
    "/tree/a/a1": '<p><a href="/tree/b/b1">across to b1</a> <a rel="nofollow" href="/tree/c/c1">nofollow to c1</a></p>',
    "/tree/a/a2": '<p><a href="a1">a neighbour, a1</a> <a href=" a3 ">a3, with spaces around</a></p>',
    "/tree/b/b1": '<p><a href="../../tree/a/a1">back to a1</a></p>',
    "/tree/c/c3": '<p><a href="a1">a1, relative to the base href of this page</a></p>',
}
BASE_HREF = {"/tree/c/c3": '<base href="/tree/a/">'}


def _children(path: str) -> tuple[str, ...]:
    if path == "/tree/":
        return tuple(f"{branch}/" for branch in BRANCHES)
    return tuple(leaf for leaf in LEAVES if path == f"/tree/{leaf[0]}/")


def _name(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def tree(request: Request) -> Response:
    """A page of the tree: its children, then the odd links of EXTRAS."""
    path = request.path
    if path not in PAGES:
        if f"{path}/" in PAGES:
            return redirect(301, f"{path}/")
        return Response(page("Not in the tree", "<h1>Not in the tree</h1>"), status=404)
    links = "".join(f'<li><a href="{child}">{_name(child)}</a></li>' for child in _children(path))
    body = (
        f'<h1>Page {_name(path)}</h1>\n<ul>{links}</ul>\n{EXTRAS.get(path, "")}\n<p><a href="/tree/">the root</a></p>'
    )
    return Response(request.fill_in(page(f"Tree: {_name(path)}", body, head=BASE_HREF.get(path, ""))))


ROUTES = (
    Route(
        "/tree/*", "13 pages in three depths for recursive crawls, with every odd kind of link", tree, sample="/tree/"
    ),
)
