// Solid with its templates as strings, and routes of its own.
import { createResource, createSignal, Show } from "solid-js";
import { render } from "solid-js/web";
import html from "solid-js/html";
import { askAbout, askItem, askItems, fetchAhead } from "./shop.js";

const ROOT = "/apps/solid";
const read = () => location.pathname.slice(ROOT.length);
const [path, setPath] = createSignal(read());
addEventListener("popstate", () => setPath(read()));
function go(event) {
  event.preventDefault();
  history.pushState({}, "", event.currentTarget.href);
  setPath(read());
}

function Items() {
  const [items] = createResource(askItems);
  const [details, setDetails] = createSignal(null);
  fetchAhead();
  const show = (id) => () => askItem(id).then(setDetails);
  const described = (id) => () => details()?.id === id && html`<p id="details">${details().description}</p>`;
  const row = (item) => html`<li><img src=${item.picture} alt="" width="80" height="60">
    <h2><a href=${`${ROOT}/items/${item.id}`} onClick=${go}>${item.name}</a></h2><p>${item.price} crowns</p>
    <button data-item=${item.id} onClick=${show(item.id)}>Details</button>${described(item.id)}</li>`;
  return html`<${Show} when=${() => items()} fallback=${html`<p>Loading items</p>`}>
    ${() => html`<ul id="items">${items().map(row)}</ul>`}<//>`;
}
function Item() {
  const [item] = createResource(() => path().split("/")[2], askItem);
  return () => item() ? html`<article id="item"><h2>${item().name}</h2>
    <img src=${item().picture} alt="" width="80" height="60"><p>${item().description}</p>
    <p>${item().price} crowns</p></article>` : html`<p>Loading the item</p>`;
}
function About() {
  const [about] = createResource(askAbout);
  return () => about() ? html`<article id="about"><h2>${about().title}</h2><p>${about().text}</p></article>`
    : html`<p>Loading</p>`;
}
const page = () => path() === "/about" ? About() : path().startsWith("/items/") ? Item() : Items();
const App = () => html`<header><h1>Harbour shop in Solid</h1><nav><a href=${`${ROOT}/`} onClick=${go}>Items</a>
  <a href=${`${ROOT}/about`} id="to-about" onClick=${go}>About</a></nav></header><main>${() => page()}</main>`;
render(App, document.getElementById("app"));
