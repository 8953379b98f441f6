// Keys that work on every page, dialogs, and menus that close when one looks elsewhere.
"use strict";

const FADES = 8000;  // ms

/** Whether a key belongs to what has the focus: a field takes letters. */
const isTyping = target => target.closest("input, textarea, select, [contenteditable]") !== null;

function open(id) {
  const dialog = document.getElementById(id);
  if (dialog && !dialog.open) dialog.showModal();
}

const shortcuts = {
  "/": () => { const box = document.getElementById("q"); box?.focus(); box?.select(); },
  "n": () => document.getElementById("add")?.click(),
  "?": () => open("keys"),
};

document.addEventListener("keydown", event => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "e") {
    event.preventDefault();
    shortcuts.n();
  } else if (!event.ctrlKey && !event.metaKey && !event.altKey && !isTyping(event.target) && shortcuts[event.key] &&
             !document.querySelector("dialog[open]")) {
    event.preventDefault();
    shortcuts[event.key]();
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

/** That something was done is said for a while; what went wrong, or can be undone, stays. */
function removeMessage(message) {
  if (message.matches(":hover, :focus-within")) setTimeout(removeMessage, FADES, message);
  else message.remove();
}

function removeMessagesLater() {
  for (const message of document.querySelectorAll("#messages > .success:not(:has(form), .passing)")) {
    message.classList.add("passing");
    setTimeout(removeMessage, FADES, message);
  }
}

removeMessagesLater();
document.addEventListener("htmx:afterSettle", removeMessagesLater);

document.addEventListener("keyup", event => {
  const menu = document.querySelector("details.menu[open]");
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
