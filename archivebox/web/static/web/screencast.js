// Shows what the crawl's browser sees, while pages are at work and somebody looks: the server takes no picture else.
//   [data-only="id"] shows the tab of this page alone
//   .now, [data-busy] say that pages are at work; what was kept of a page, in .stage > .body, is shown instead
"use strict";
{
  const screens = document.querySelector(".screens"), strip = screens.querySelector("ul"), choice = screens.querySelector("button");
  const blank = screens.querySelector("template"), moves = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  let isWanted = (localStorage.getItem("screencast") ?? (moves ? "on" : "off")) === "on", source = null;

  function screenOf(page) {
    let screen = strip.querySelector(`[data-page="${CSS.escape(page)}"]`);
    if (!screen) {
      screen = blank.content.firstElementChild.cloneNode(true);
      screen.dataset.page = page;
      strip.append(screen);
    }
    const row = document.querySelector(`[data-part="page-${CSS.escape(page)}"] .what a`), link = screen.querySelector("a");
    if (row) [link.href, link.lastElementChild.textContent] = [row.href, row.textContent.replace(/^https?:\/\//, "")];
    return screen;
  }

  function show(event) {
    const {open: all, pictures} = JSON.parse(event.data), {only} = screens.dataset;
    const open = all.filter(page => !only || page === only);
    for (const screen of [...strip.children]) if (!open.includes(screen.dataset.page)) screen.remove();
    for (const page of open) {
      const screen = screenOf(page);
      if (pictures[page]) screen.querySelector("img").src = `data:image/jpeg;base64,${pictures[page]}`;
    }
    if (open.length) screens.hidden = strip.hidden = false;
  }

  function leave() {
    source?.close();
    source = null;
  }

  function look() {
    source = new EventSource(screens.dataset.from);
    source.onmessage = show;
    source.onerror = () => { if (source?.readyState === EventSource.CLOSED) leave(); };
  }

  /** Begin or end to look, as it has become. */
  function decide() {
    const isBusy = document.querySelector(".now:not([hidden]), [data-busy]") && !document.querySelector(".stage > .body");
    choice.textContent = isWanted ? "Stop watching" : "Watch";
    if (!isBusy || !isWanted) {
      strip.replaceChildren();
      strip.hidden = true;
    }
    for (const screen of strip.children) screenOf(screen.dataset.page);  // its title may have come
    screens.hidden = !isBusy || (isWanted && strip.hidden);
    if (!(isBusy && isWanted && document.visibilityState === "visible")) leave();
    else if (!source) look();
  }

  choice.addEventListener("click", () => {
    isWanted = !isWanted;
    localStorage.setItem("screencast", isWanted ? "on" : "off");
    decide();
  });
  document.addEventListener("visibilitychange", decide);
  addEventListener("pagehide", leave);
  addEventListener("pageshow", decide);
  const changes = new MutationObserver(decide);
  changes.observe(document.querySelector("main"), {childList: true});
  changes.observe(document.querySelector("main .head"), {childList: true, subtree: true});
  decide();
}
