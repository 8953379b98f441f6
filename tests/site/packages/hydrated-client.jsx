import { hydrate } from "preact";
import { Shop } from "./hydrated.jsx";

const { items } = JSON.parse(document.getElementById("data").textContent);
hydrate(<Shop items={items} />, document.getElementById("app"));
