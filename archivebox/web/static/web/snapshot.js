// Keys of a snapshot's page: digits choose a format, [ and ] a version, f shows the format alone. Its links say which.
"use strict";

document.addEventListener("keydown", event => {
  const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!link) return;
  event.preventDefault();
  link.click();
});
