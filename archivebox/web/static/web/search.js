// Completes the query in a box with data-help, and says below it how the query reads. Without it, Enter searches.
"use strict";  // else its functions would become the window's, in place of open() of another script
const WAIT = 120; // ms of silence before the server is asked

for (const box of document.querySelectorAll("input[data-help]")) {
  const list = document.createElement("ul");
  let chosen = -1, shown = [], timer = 0, asked = 0;

  list.id = `${box.id}-suggestions`;
  list.className = "suggestions";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Suggestions");
  list.hidden = true;
  document.body.append(list);
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", list.id]]) box.setAttribute(name, value);
  box.setAttribute("aria-expanded", "false");

  function open(suggestions) {
    shown = suggestions;
    chosen = -1;
    list.replaceChildren(...shown.map(line));
    list.hidden = !shown.length || document.activeElement !== box;
    box.setAttribute("aria-expanded", String(!list.hidden));
    box.removeAttribute("aria-activedescendant");
    place();
  }

  function line(suggestion, index) {
    const item = document.createElement("li"), text = document.createElement("b"), meaning = document.createElement("span");
    item.id = `${list.id}-${index}`;
    item.setAttribute("role", "option");
    text.textContent = suggestion.text;
    meaning.textContent = suggestion.meaning;
    item.append(text, meaning);
    item.addEventListener("pointerdown", (event) => { event.preventDefault(); take(index); });
    return item;
  }

  function place() {
    const at = box.getBoundingClientRect();
    list.style.left = `${at.left + scrollX}px`;
    list.style.top = `${at.bottom + scrollY}px`;
    list.style.width = `${at.width}px`;
  }

  function take(index) {
    const { start, end, text } = shown[index], isKey = text.endsWith(":") || text === "#";
    if (!box.value.trim()) {  // a whole search
      box.value = text;
      open([]);
      if (box.form) return box.form.requestSubmit();
    }
    box.setRangeText(text + (isKey ? "" : " "), start, end, "end");
    isKey ? ask() : open([]);
    box.focus();
  }

  function choose(index) {
    list.children[chosen]?.removeAttribute("aria-selected");
    chosen = (index + shown.length) % shown.length;
    list.children[chosen].setAttribute("aria-selected", "true");
    list.children[chosen].scrollIntoView({ block: "nearest" });
    box.setAttribute("aria-activedescendant", list.children[chosen].id);
  }

  async function ask() {
    const number = ++asked;
    const query = new URLSearchParams({ q: box.value, at: box.selectionStart });
    const answer = await fetch(`${box.dataset.help}?${query}`).catch(() => null);
    if (!answer?.ok || number !== asked) return;
    const help = await answer.json();
    open(help.suggestions);
    const reading = document.getElementById("reading");
    if (reading) {
      const words = document.createElement("span"); // a line without an element is not shown on phones
      words.textContent = help.problem || help.phrase.replace(/^./, (letter) => letter.toUpperCase());
      reading.replaceChildren(...(words.textContent ? [words] : []));
      reading.classList.toggle("bad", Boolean(help.problem));
    }
  }

  box.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, WAIT); });
  for (const begin of ["focus", "click"]) box.addEventListener(begin, () => { if (!box.value && list.hidden) ask(); });
  box.addEventListener("blur", () => open([]));
  box.addEventListener("keydown", (event) => {
    if (list.hidden) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") choose(chosen + (event.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1));
    else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) take(chosen);
    else if (event.key === "Escape") open([]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  addEventListener("resize", place);
}
