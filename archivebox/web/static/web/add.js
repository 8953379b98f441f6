// Adding from anywhere: the button, what is pasted outside of fields, and what is dropped open the form.
"use strict";
{
  const dialog = document.getElementById("adder"), place = dialog?.querySelector("[hx-get]");
  const form = () => document.getElementById("add-form");
  const isTaken = target => isTyping(target) || document.querySelector("dialog[open]:not(#adder)");
  let isOurs = false, given = null;  // isOurs: what is dragged began on this page

  function fill() {
    if (!form() || !given) return;
    const {files, text} = given, field = form().elements[files ? "file" : "urls"];
    given = null;
    if (files) field.files = files;
    else field.value = [field.value.trimEnd(), text].filter(Boolean).join("\n");
    field.dispatchEvent(new Event("input", {bubbles: true}));
  }

  /** Show the form that is on the page, or the dialog, whose form comes when it is first opened. */
  function show() {
    if (dialog && (!form() || dialog.contains(form()))) {
      if (!dialog.open) dialog.showModal();
      if (!form()) htmx.trigger(place, "opened");
    }
    form()?.elements.urls.focus();
    fill();
  }

  place?.addEventListener("htmx:afterSettle", event => { if (event.target === place) show(); });
  document.addEventListener("click", event => {
    const wants = event.target.closest("#add");
    if (!wants || (!dialog && !form()) || event.ctrlKey || event.metaKey || event.shiftKey) {
      if (event.target.closest("#bookmark")) event.preventDefault();  // it is for another bar
      return;
    }
    event.preventDefault();
    show();
  });
  document.addEventListener("paste", event => {
    const {files} = event.clipboardData, text = event.clipboardData.getData("text");
    if (isTaken(event.target) || !(dialog || form()) || !(files.length || /https?:\/\//i.test(text))) return;
    event.preventDefault();
    given = files.length ? {files} : {text};
    show();
  });

  /** Whether what is dragged is for the form: not what began here, nor what is over another field. */
  function isForUs(event) {
    const {types} = event.dataTransfer, field = event.target.closest?.("input, textarea");
    return (dialog || form()) && !isOurs && !(field && !form()?.contains(field)) &&
      (types.includes("Files") || (!field && (types.includes("text/uri-list") || types.includes("text/plain"))));
  }

  document.addEventListener("dragstart", () => { isOurs = true; });
  document.addEventListener("dragend", () => { isOurs = false; });
  document.addEventListener("dragover", event => {
    if (!isForUs(event)) return;
    event.preventDefault();
    document.body.classList.add("dropping");
  });
  document.addEventListener("dragleave", event => { if (!event.relatedTarget) document.body.classList.remove("dropping"); });
  document.addEventListener("drop", event => {
    document.body.classList.remove("dropping");
    if (!isForUs(event)) return;
    event.preventDefault();
    const {files} = event.dataTransfer, text = event.dataTransfer.getData("text");
    given = files.length ? {files} : text && {text};
    if (given) show();
  });
}
