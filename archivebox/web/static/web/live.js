// Keeps what is shown of running work up to date, by the one stream of events that a page has.
//   [data-part="name"]   is replaced by the server's newer piece of it
//   [data-watch="id"]    shows a thing that runs: when it has changed, the page's [data-live] pieces are loaded anew
//   [data-done="name"]   is what a [data-live] piece becomes that changes no more
//   [data-watch=library] shows the newest pages or crawls: pages that come are put on top of its [data-row]s
//   #away                is shown while nothing is heard of the server
"use strict";
const SOONEST = 1000, LATEST = 2000, SHARE = 5, AGAIN = 5000, QUIET = 75000;
let waiting = 0, next = 0, silence = 0, isLeaving = false;

function replaceParts(parts) {
  for (const [name, html] of Object.entries(parts)) {
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    for (const old of document.querySelectorAll(`[data-part="${CSS.escape(name)}"]`)) {
      if (old.contains(document.activeElement) && old !== document.activeElement) continue;
      for (const menu of old.querySelectorAll("details[open][id]")) {
        fresh.content.querySelector(`#${menu.id}`)?.setAttribute("open", "");
      }
      old.replaceWith(fresh.content.cloneNode(true));
    }
  }
}

/** At most once a second, or once in two where the server takes long to answer. */
async function reload() {
  const began = Date.now();
  waiting = 0;
  next = began + LATEST;
  const answer = await fetch(location.href, {credentials: "same-origin", headers: {"X-Live": "1"}}).catch(() => null);
  next = began + Math.max(SOONEST, Math.min(LATEST, SHARE * (Date.now() - began)));
  if (!answer || !answer.ok || answer.redirected) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const name = CSS.escape(old.dataset.live);
    const now = fresh.querySelector(`[data-live="${name}"], [data-done="${name}"]`);
    if (!now || now.innerHTML === old.innerHTML || old.contains(document.activeElement)) continue;
    for (const box of now.querySelectorAll(".choose input")) box.checked = old.querySelector(".choose input").checked;
    old.replaceWith(now);
  }
  const {hue} = fresh.querySelector("main")?.dataset ?? {};
  if (hue) document.querySelector("main").dataset.hue = hue;
  insertNewest(fresh);
  window.htmx?.process(document.body);
}

/** Put the pages that are newer than all that the list has on top of it. */
function insertNewest(fresh) {
  if (!document.querySelector("[data-watch~=library]")) return;
  const first = document.querySelector("[data-row]"), rows = [...fresh.querySelectorAll("[data-row]")];
  if (!first && rows.length && !isLeaving) location.reload();  // there was no list yet
  const known = rows.findIndex(row => document.querySelector(`[data-row="${CSS.escape(row.dataset.row)}"]`));
  const newest = rows.slice(0, known < 0 ? rows.length : known);
  for (const row of newest) row.classList.add("arrives");
  first?.before(...newest);
}

function reloadSoon() {
  if (!waiting) waiting = setTimeout(reload, Math.max(0, next - Date.now()));
}

function take(event) {
  const {parts, changed, reload: all} = JSON.parse(event.data);
  replaceParts(parts);
  const shown = id => document.querySelector(`[data-watch~="${CSS.escape(id)}"]`);
  if (changed.some(shown) || (all && document.querySelector("[data-watch]"))) reloadSoon();
  const title = document.querySelector("[data-title]")?.dataset.title;
  if (title) document.title = title;
}

function hear(isThere) {
  const away = document.getElementById("away");
  if (!isThere) {
    silence ||= setTimeout(() => { away.hidden = false; }, AGAIN);
    return;
  }
  clearTimeout(silence);
  silence = 0;
  away.hidden = true;
}

/** A stream ends after a minute, and the next one begins: one of which nothing is heard for longer was cut off. */
function listen() {
  const source = new EventSource(document.querySelector("link[rel=events]").href);
  let quiet = 0;
  const leave = () => { clearTimeout(quiet); source.close(); };
  const expect = () => {
    clearTimeout(quiet);
    quiet = setTimeout(() => { hear(false); leave(); listen(); }, QUIET);
  };
  source.onopen = () => { hear(true); expect(); };
  source.onmessage = event => { expect(); take(event); };
  source.onerror = () => {
    clearTimeout(quiet);
    hear(false);
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, AGAIN);
  };
  addEventListener("pagehide", leave, {once: true});  // a page kept for going back to has none
}

setInterval(() => {
  for (const clock of document.querySelectorAll("[data-since]")) {
    const seconds = Math.max(0, Math.floor((Date.now() - Date.parse(clock.dataset.since)) / 1000));
    clock.textContent = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  }
}, 1000);
// A page loaded anew would not go where the form leads that was just sent.
document.addEventListener("submit", event => {
  isLeaving ||= !event.defaultPrevented || Boolean(event.submitter?.matches("[data-stays]"));
});
addEventListener("pageshow", event => {
  isLeaving = false;
  if (event.persisted) listen();
});
listen();
