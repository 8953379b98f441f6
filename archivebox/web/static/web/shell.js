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

const make = (tag, more) => Object.assign(document.createElement(tag), more);

/** What a button with data-stays sends is sent from here: where that fails, the page stays with what was typed. */
document.addEventListener("submit", async event => {
  const {target: form, submitter: button} = event;
  if (!button?.matches("[data-stays]") || event.defaultPrevented) return;
  event.preventDefault();
  const body = new FormData(form), {name, value} = button;
  if (name) body.append(name, value);
  button.disabled = true;
  const answer = await fetch(form.action, {method: "POST", body, headers: {"X-Live": "form"}}).catch(() => null);
  button.disabled = false;
  const isLoggedOut = answer?.redirected && new URL(answer.url).pathname.endsWith("/login/");
  if (answer?.redirected && !isLoggedOut) {
    location.assign(answer.url);
  } else if (answer && !isLoggedOut && answer.status < 500) {  // the page that comes for it says what is wrong
    if (name) form.append(make("input", {type: "hidden", name, value}));
    form.submit();
  } else {
    const why = isLoggedOut ? "You are logged out: log in on another tab." :
      answer ? "The server has a problem." : "The server cannot be reached.";
    const said = form.querySelector(".unsent") ?? make("p", {className: "unsent error", role: "alert"});
    said.textContent = `Not sent. ${why} What you typed is still here.`;
    button.parentElement.after(said);
  }
});

document.addEventListener("keyup", event => {
  const menu = document.querySelector("details.menu[open]");
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
