// Passkeys: a form that has the browser make or use one, and then sends the browser's answer.
"use strict";

const canMake = window.PublicKeyCredential?.parseCreationOptionsFromJSON !== undefined;

async function optionsOf(form) {
  if (form.dataset.options) return JSON.parse(form.dataset.options);
  const answer = await fetch(form.dataset.from, {headers: {"Accept": "application/json"}});
  if (!answer.ok) throw new Error("The server did not answer. Reload the page.");
  return answer.json();
}

/** What the browser says, as JSON. */
async function askBrowser(form) {
  const options = await optionsOf(form);
  const credential = form.dataset.passkey === "create"
    ? await navigator.credentials.create({publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options)})
    : await navigator.credentials.get({publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)});
  return JSON.stringify(credential.toJSON());
}

/** Why there is none, in words of ours where the browser's own are for programmers. */
function reason(error) {
  const known = {
    NotAllowedError: "No passkey was used. Try again.",
    InvalidStateError: "This device has a passkey for your account already.",
    SecurityError: "Passkeys do not work at this address.",
  };
  return known[error.name] ?? error.message;
}

for (const form of canMake ? document.querySelectorAll("form[data-passkey]") : []) {
  const problem = form.querySelector("[role=alert]"), button = form.querySelector("button");
  form.hidden = false;
  form.addEventListener("submit", async event => {
    event.preventDefault();
    problem.hidden = button.disabled = true;
    try {
      form.elements.credential.value = await askBrowser(form);
      form.submit();
    } catch (error) {
      problem.textContent = reason(error);
      problem.hidden = button.disabled = false;
    }
  });
}
