// The list by keys, and choosing in it: j k h l go from page to page, x chooses, Shift chooses all in between.
"use strict";
{
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const current = () => document.querySelector("[data-row].at");
  const box = row => row?.querySelector(".choose input");
  const boxes = () => [...document.querySelectorAll(".choose input")];
  const bulk = document.getElementById("bulk");
  let last = null;

  function go(row) {
    if (!row) return;
    current()?.classList.remove("at");
    row.classList.add("at");
    row.querySelector("h2 a, th a").focus({preventScroll: true});
    row.scrollIntoView({block: "nearest"});
    if (row === rows().at(-1)) document.getElementById("further")?.click();
  }

  /** How many rows stand beside each other: one in a list or a table. */
  function across() {
    const all = rows(), top = all[0]?.offsetTop, next = all.findIndex(row => row.offsetTop !== top);
    return next < 0 ? all.length : next;
  }

  function count() {
    const chosen = boxes().filter(one => one.checked).length;
    if (bulk) document.getElementById("chosen").textContent = bulk.elements.all?.checked ? "All matches" : `${chosen} selected`;
  }

  /** Choose a row, or no more; with all from the last one to it. */
  function choose(one, checked, range) {
    const all = boxes(), from = all.indexOf(last), to = all.indexOf(one);
    const those = range && from >= 0 ? all.slice(Math.min(from, to), Math.max(from, to) + 1) : [one];
    for (const each of those) each.checked = checked;
    last = one;
    count();
  }

  /** What a key does to what is chosen, or else to the row one is at. */
  function act(action) {
    const here = box(current());
    if (here && !boxes().some(one => one.checked)) choose(here, true, false);
    if (boxes().some(one => one.checked)) action();
  }

  /** An export is of some format: the menu shows which, and its button begins it. */
  function askFormat() {
    bulk.querySelector("details").open = true;
    document.getElementById("bulk-format").focus();
  }

  const press = kind => () => act(() => bulk.querySelector(`[value="${kind}"]`).click());
  const shortcuts = {
    j: () => step(across()), k: () => step(-across()), l: () => step(1), h: () => step(-1),
    x: event => { const one = box(current()); if (one) choose(one, !one.checked, event.shiftKey); },
    t: () => act(() => document.getElementById("bulk-tags").focus()),
    r: press("recapture"), e: () => act(askFormat), "#": press("remove"),
  };

  function step(by) {
    const all = rows(), at = all.indexOf(current());
    go(at < 0 ? all[0] : all[at + by]);
  }

  document.addEventListener("keydown", event => {
    const action = shortcuts[event.key] || (event.key === "X" && shortcuts.x);
    if (!action || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") ||
        event.target.closest("input:not([type=checkbox]), textarea, select")) return;
    event.preventDefault();
    action(event);
  });
  document.addEventListener("click", event => {
    if (event.target.matches(".choose input")) choose(event.target, event.target.checked, event.shiftKey);
  });
  bulk?.elements.all?.addEventListener("change", count);
  bulk?.addEventListener("reset", () => setTimeout(count));
  addEventListener("pageshow", count);

  // A list that has grown is shown as long again by Back, whose place in it the browser knows.
  document.addEventListener("htmx:afterSwap", event => {
    if (event.target.id !== "shown") return;
    const here = new URL(location);
    here.searchParams.set("rows", rows().length);
    history.replaceState(history.state, "", here);
  });
}
