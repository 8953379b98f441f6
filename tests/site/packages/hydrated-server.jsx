import { renderToString } from "preact-render-to-string";
import { Shop } from "./hydrated.jsx";

export const rendered = (items) => renderToString(<Shop items={items} />);
