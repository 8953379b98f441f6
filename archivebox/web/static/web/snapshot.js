// Keys of a snapshot's page: digits choose a format, [ and ] a version, f shows the format alone. Its links say which.
// The chosen format is brought into view where the formats are a row that scrolls.
"use strict";

{
  const row = document.querySelector(".formats"), chosen = row?.querySelector("[aria-current]");
  if (chosen) row.scrollLeft = chosen.offsetLeft - row.offsetLeft - (row.clientWidth - chosen.offsetWidth) / 2;
}

document.addEventListener("keydown", event => {
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});
