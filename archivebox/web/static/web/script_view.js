// Keeps a view of an archived page with its scripts open while it is looked at, and says what its policy refused.
"use strict";
{
  const form = document.querySelector("[data-script-view]"), shown = form?.querySelector("[data-refused]");
  const FIRST = 3000, NEXT = 20000;  // milliseconds

  async function renew() {
    const body = new FormData(form);
    body.set("do", "renew");
    const answer = await fetch(form.action, {method: "POST", body}).catch(() => null);
    const said = answer?.ok ? await answer.json().catch(() => null) : null;
    if (said?.refused) {
      shown.textContent = `${said.refused} refused`;
      shown.hidden = false;
    }
    setTimeout(renew, NEXT);
  }
  if (form) setTimeout(renew, FIRST);
}
