// A form with data-pieces sends its file piece by piece: it may be larger than any request, and goes on after a break.
// Without this the browser sends the file at once, up to 64 MB.
"use strict";
const TRIES = 6;

/** Send a request, with how many bytes of its body have gone; its answer, or null where none came. */
function send(address, headers, body, onProgress = () => {}) {
  return new Promise(resolve => {
    const request = new XMLHttpRequest();
    request.upload.onprogress = ({loaded}) => onProgress(loaded);
    request.onloadend = () => {
      let answer = null;
      try { answer = JSON.parse(request.responseText); } catch { /* somebody before the server answered, or nobody */ }
      resolve(request.status === 0 || answer === null ? null : answer);
    };
    request.open("POST", address);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    request.send(body);
  });
}

/** The same again where nobody answers, after a while that doubles. */
async function sendAgain(...request) {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const answer = await send(...request);
    if (answer) return answer;
    await new Promise(resolve => { setTimeout(resolve, 1000 * 2 ** tries); });
  }
  return {problem: "The server does not answer. Try again: what has arrived is kept."};
}

/** Send all of a file from a byte on; what is wrong, or the page to go to. */
async function sendPieces(form, file, page, received, tell) {
  const headers = {"X-CSRFToken": form.elements.csrfmiddlewaretoken.value, "Content-Type": "application/octet-stream"};
  while (received < file.size) {
    const from = received, piece = file.slice(from, from + Number(form.dataset.pieces));
    const answer = await sendAgain(`${page}file/?offset=${from}`, headers, piece, sent => tell(from + sent));
    if (answer.problem) return answer;
    received = answer.received;
    tell(received);
  }
  return {page};
}

async function upload(form, file, tell) {
  if (form.dataset.page) {
    if (file.size !== Number(form.dataset.size)) return {problem: "This is another file: it has another size."};
    return sendPieces(form, file, form.dataset.page, Number(form.dataset.received), tell);
  }
  const announced = new FormData();
  announced.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  announced.set("name", file.name);
  announced.set("size", file.size);
  const answer = await send(location.pathname, {}, announced);
  if (!answer) return {problem: "The server does not answer. Try again."};
  return answer.problem ? answer : sendPieces(form, file, answer.page, answer.received, tell);
}

document.addEventListener("submit", async event => {
  const form = event.target, file = form.elements.file?.files[0];
  if (!form.matches("[data-pieces]") || !file) return;
  event.preventDefault();
  const progress = form.querySelector("[data-progress]"), bar = progress.querySelector("progress");
  const words = progress.querySelector("span");
  progress.hidden = false;
  form.inert = true;
  const result = await upload(form, file, sent => {
    bar.value = file.size ? sent / file.size : 1;
    words.textContent = `${Math.floor(100 * bar.value)} % of ${file.name}`;
  });
  if (result.page) { location.assign(result.page); return; }
  form.inert = false;
  words.textContent = result.problem;
  words.className = "bad";
});

// A file that is dropped on the form is chosen in it.
document.addEventListener("dragover", event => { if (event.target.closest?.("[data-pieces]")) event.preventDefault(); });
document.addEventListener("drop", event => {
  const form = event.target.closest?.("[data-pieces]");
  if (!form || !event.dataTransfer.files.length) return;
  event.preventDefault();
  event.stopImmediatePropagation();  // elsewhere a dropped file is a list of URLs
  form.elements.file.files = event.dataTransfer.files;
}, true);
