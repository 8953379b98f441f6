// Keys in the list: j and k, h and l go from page to page, Enter opens the one that is chosen.
"use strict";
{
  const rows = () => [...document.querySelectorAll("[data-row]")];
  const current = () => document.querySelector("[data-row].at");

  function choose(row) {
    if (!row) return;
    current()?.classList.remove("at");
    row.classList.add("at");
    row.querySelector("h2 a, th a").focus({preventScroll: true});
    row.scrollIntoView({block: "nearest"});
    if (row === rows().at(-1)) document.getElementById("further")?.click();
  }

  /** How many rows stand beside each other: one in a list or a table. */
  function across() {
    const all = rows(), top = all[0]?.offsetTop;
    return Math.max(1, all.findIndex(row => row.offsetTop !== top));
  }

  const steps = {j: across, k: () => -across(), l: () => 1, h: () => -1};

  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !steps[event.key] || document.querySelector("dialog[open]") ||
        event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    const all = rows(), at = all.indexOf(current());
    choose(at < 0 ? all[0] : all[at + steps[event.key]()]);
  });
}
