// Keeps a page that shows running work up to date; it is loaded only while something runs.
"use strict";
const EVERY = 2000;
async function look() {
  if (document.hidden) return setTimeout(look, EVERY);
  const answer = await fetch(location.href, {credentials: "same-origin"}).catch(() => null);
  if (!answer || !answer.ok || answer.redirected) return setTimeout(look, EVERY * 5);
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-live]")) {
    const now = fresh.querySelector(`[data-live="${old.dataset.live}"]`);
    if (now && now.innerHTML !== old.innerHTML && !old.contains(document.activeElement)) old.replaceWith(now);
  }
  if (fresh.querySelector('script[src*="live.js"]')) setTimeout(look, EVERY);
  else location.replace(location.pathname + location.search);  // never sends a form again
}
setTimeout(look, EVERY);
