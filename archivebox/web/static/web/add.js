// The Add page takes what is dropped on it: a file into its field, text into the box. Its bookmark is for another bar.
"use strict";
const form = document.getElementById("add-form");

document.addEventListener("dragover", event => { event.preventDefault(); form.classList.add("over"); });
document.addEventListener("dragleave", () => form.classList.remove("over"));
document.addEventListener("drop", event => {
  event.preventDefault();
  form.classList.remove("over");
  const {files} = event.dataTransfer, text = event.dataTransfer.getData("text");
  const field = form.elements[files.length ? "file" : "urls"];
  if (files.length) field.files = files;
  else if (text && !text.startsWith("javascript:")) field.value = [field.value.trimEnd(), text].filter(Boolean).join("\n");
  field.dispatchEvent(new Event("input", {bubbles: true}));
});
document.getElementById("bookmark").addEventListener("click", event => event.preventDefault());
