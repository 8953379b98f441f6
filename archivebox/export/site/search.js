// Owns the search of the site: texts come in scripts, since a page that was opened as a file may fetch nothing.
"use strict";
const words = document.getElementById("words");
const found_line = document.getElementById("found");
const results = document.getElementById("results");
const MOST = 200;
const pages = [];
let loading = null;

function found(some) {
  for (const page of some) {
    page.head = [page.title, page.url, ...page.tags.map((tag) => "#" + tag)].join(" ").toLowerCase();
    page.body = page.text.toLowerCase();
    pages.push(page);
  }
}

function script(address) {
  return new Promise((resolve) => {
    const element = document.createElement("script");
    element.src = address;
    element.onload = element.onerror = resolve;
    document.head.append(element);
  });
}

async function load() {
  for (let number = 1; number <= Number(words.dataset.shards); number += 1) {
    await script(`site/pages-${number}.js`);
    show();
  }
}

function matches() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
  const all = pages.filter((page) => wanted.every((word) => page.head.includes(word) || page.body.includes(word)));
  const first = (page) => wanted.every((word) => page.head.includes(word));
  return [...all.filter(first), ...all.filter((page) => !first(page))].map((page) => [page, wanted]);
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function excerpt(page, wanted) {
  const at = Math.max(0, ...wanted.map((word) => page.body.indexOf(word)));
  return (at > 60 ? "…" : "") + page.text.slice(Math.max(0, at - 60), at + 180);
}

function item([page, wanted]) {
  const line = element("li"), thumb = element("a", "thumb"), text = element("div", "words");
  const link = element("a", "", page.title), title = element("h2");
  const where = element("p", "where", `${page.host} · ${page.date}`);
  link.href = thumb.href = `pages/${page.folder}/index.html`;
  thumb.tabIndex = -1;
  thumb.setAttribute("aria-hidden", "true");
  if (page.thumbnail) {
    const picture = element("img");
    picture.src = `pages/${page.folder}/${page.thumbnail}`;
    picture.alt = "";
    picture.loading = "lazy";
    thumb.append(picture);
  } else thumb.append(element("span", "", page.host.slice(0, 1).toUpperCase()));
  title.append(link);
  for (const tag of page.tags) where.append(" ", element("bdi", "tag", "#" + tag));
  const words_around = element("p", "excerpt", excerpt(page, wanted));
  link.dir = words_around.dir = "auto";
  text.append(title, where, words_around);
  line.append(thumb, text);
  return line;
}

function show() {
  const is_search = words.value.trim() !== "";
  for (const id of ["listed", "turning"]) document.getElementById(id)?.toggleAttribute("hidden", is_search);
  found_line.hidden = results.hidden = !is_search;
  if (!is_search) return;
  const all = matches();
  found_line.textContent = `${all.length.toLocaleString("en")} page${all.length === 1 ? "" : "s"} found` + (all.length > MOST ? `, the first ${MOST} are shown` : "");
  results.replaceChildren(...all.slice(0, MOST).map(item));
}

words.form.addEventListener("submit", (event) => event.preventDefault());
words.addEventListener("input", () => {
  loading ??= load();
  show();
});
