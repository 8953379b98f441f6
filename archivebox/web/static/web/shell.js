// Keys that work on every page, dialogs, and menus that close when one looks elsewhere.
"use strict";

/** Whether a key belongs to what has the focus: a field takes letters. */
const isTyping = target => target.closest("input, textarea, select, [contenteditable]") !== null;

function open(id) {
  const dialog = document.getElementById(id);
  if (dialog && !dialog.open) dialog.showModal();
}

const deeds = {
  "/": () => { const box = document.getElementById("q"); box?.focus(); box?.select(); },
  "n": () => document.getElementById("add")?.click(),
  "?": () => open("keys"),
};

document.addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "e") {
    event.preventDefault();
    deeds.n();
  } else if (!event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target) && deeds[event.key] &&
             !document.querySelector("dialog[open]")) {
    event.preventDefault();
    deeds[event.key]();
  }
});

document.addEventListener("click", event => {
  const opener = event.target.closest("[data-opens]");
  if (opener) open(opener.dataset.opens);
  if (event.target.matches("dialog")) event.target.close();  // its backdrop
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (opener || !menu.contains(event.target)) menu.open = false;
  }
});

document.addEventListener("keyup", event => {
  const menu = document.querySelector("details.menu[open]");
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
