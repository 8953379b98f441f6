// A form with data-uploads says how much of its file has gone; without this the browser sends it all the same.
"use strict";
document.addEventListener("submit", event => {
  const form = event.target;
  if (!form.matches("[data-uploads]") || !form.elements.file.files.length) return;
  event.preventDefault();
  const progress = form.querySelector("[data-progress]"), bar = progress.querySelector("progress");
  const sending = new XMLHttpRequest();

  /** How far it is, from 0 to 1; without a number, something goes on that takes its time. */
  function tell(words, value) {
    progress.querySelector("span").textContent = words;
    if (value === undefined) bar.removeAttribute("value");
    else bar.value = value;
  }

  sending.upload.onprogress = ({loaded, total}) => tell("Uploading…", loaded / total);
  sending.upload.onload = () => tell("Uploaded. Reading the list…");
  sending.onerror = () => tell(`Upload failed. ${form.dataset.uploads}`, 0);
  sending.onload = () => {
    const said = new DOMParser().parseFromString(sending.responseText, "text/html").querySelector("main");
    if (sending.responseURL !== location.href) location.assign(sending.responseURL);
    else if (said) document.querySelector("main").replaceWith(said);
    else sending.onerror();  // somebody before the server said no
  };
  sending.onloadend = () => { form.inert = false; };
  sending.open("POST", location.href);
  sending.setRequestHeader("Accept", "text/html");
  sending.send(new FormData(form));
  form.inert = true;
  progress.hidden = false;
});
