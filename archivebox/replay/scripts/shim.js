// What scripts of an archived page find instead of the live web. It runs before them, in documents and in workers.
//
// URLs that they ask for become addresses of the view: those of the page's own host keep their path, all others follow
// "/~/". It is here for fidelity alone: what it misses, the Content-Security-Policy of the view refuses.
(() => {
"use strict";

const element = self.document?.currentScript;
const page = self.__archivedPage ?? JSON.parse(element.dataset.page);  // url, main, clock, seed: replay/scripts/place.py
delete self.__archivedPage;
element?.remove();

const here = self.origin, FOREIGN = "/~/";
const frame = self.document && /^\/~\/\d+~(?=https?:)/.exec(self.location.pathname);
if (frame) {  // which frame it is stands in its address, and is no part of its URL
  const there = self.location.href.slice(here.length + frame[0].length), path = there.slice(page.main.length);
  const isPlain = there.startsWith(`${page.main}/`) && !path.startsWith("//") && !path.startsWith(FOREIGN);
  self.history.replaceState(null, "", isPlain ? path : FOREIGN + there);
}
const native = {
  fetch: self.fetch.bind(self), setTimeout: self.setTimeout.bind(self), open: self.XMLHttpRequest?.prototype.open,
};
const documentName = [...crypto.getRandomValues(new Uint32Array(4))].join("-");
const base = () => self.document?.baseURI ?? (self.location.protocol === "blob:" ? here : self.location.href);

// --- addresses -----------------------------------------------------------------------------------------------------

/** The recorded URL of an address of the view; any other URL as it is. */
function recorded(address) {
  if (!address.startsWith(`${here}/`)) return address;
  const path = address.slice(here.length);
  return path.startsWith(FOREIGN) ? path.slice(FOREIGN.length) : page.main + path;
}

/** Where what this document or worker names by a path alone was recorded. */
const ownURL = () => self.document ? recorded(base()) : page.url;
const ownHost = () => {
  try { return new URL(ownURL()).origin; } catch { return page.main; }
};

/** The address of the view for a URL that a script names; what is none of the web's stays as it is. */
function mapped(value) {
  const text = String(value).trim();
  if (!text || text.startsWith("#")) return value;
  let url;
  try {
    url = new URL(text.startsWith("//") ? new URL(ownURL()).protocol + text : text, base());
  } catch { return value; }
  if (!/^https?:$/.test(url.protocol)) return value;
  if (url.origin === here) {
    const isAddress = url.pathname.startsWith(FOREIGN) || ownHost() === page.main;
    return isAddress ? value : FOREIGN + ownHost() + url.href.slice(here.length);
  }
  const path = url.href.slice(url.origin.length);
  const isPlain = url.origin === page.main && ownHost() === page.main && !path.startsWith("//") && !path.startsWith(FOREIGN);
  return isPlain ? path : FOREIGN + url.href;
}

const mappedSet = value => String(value).replace(/([^\s,]\S*)((?:\s+[\d.]+[wx])?\s*(?:,|$))/g, (_, url, rest) => {
  const bare = url.replace(/,+$/, "");
  return mapped(bare) + url.slice(bare.length) + rest;
});
const mappedStyle = value => String(value).replace(/url\(\s*(["']?)([^"')]+)\1\s*\)/gi, (whole, quote, url) =>
  mapped(url) === url ? whole : `url("${mapped(url)}")`);

/** Replace the setter of a property by one that changes the value first. */
function setting(kind, name, change) {
  const old = kind && Object.getOwnPropertyDescriptor(kind.prototype, name);
  if (!old?.set) return;
  Object.defineProperty(kind.prototype, name, {...old, set(value) { old.set.call(this, change(value, this)); }});
}

/** Replace a method by one that is given the old one. */
function method(target, name, make) {
  if (target && typeof target[name] === "function") target[name] = make(target[name]);
}

// --- time and chance -----------------------------------------------------------------------------------------------

if (page.clock) {
  const Real = self.Date, now = Real.now.bind(Real), began = now(), current = () => page.clock + now() - began;
  self.Date = new Proxy(Real, {
    apply: () => new Real(current()).toString(),
    construct: (target, given, newTarget) => Reflect.construct(target, given.length ? given : [current()], newTarget),
    get: (target, name, receiver) => name === "now" ? current : Reflect.get(target, name, receiver),
  });
  Real.prototype.constructor = self.Date;
  Object.defineProperty(Performance.prototype, "timeOrigin", {configurable: true, get: () => page.clock});
}
// Random names begin alike, by which an address is told that was made anew (MADE_HERE in replay/index.py).
method(Crypto.prototype, "randomUUID", make => function () { return `a5c41fe5${make.call(this).slice(8)}`; });
method(Crypto.prototype, "getRandomValues", fill => function (array) {
  fill.call(this, array);
  if (array.byteLength >= 16) new Uint8Array(array.buffer, array.byteOffset).set([0xa5, 0xc4, 0x1f, 0xe5]);
  return array;
});
{
  let state = page.seed >>> 0;  // mulberry32
  Math.random = () => {
    state = (state + 0x6D2B79F5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

// --- requests ------------------------------------------------------------------------------------------------------

const MISSING = "archived-missing", DOCUMENT = "archived-document";

/** What was not recorded is to a script as if the network were gone. */
async function fetchRecorded(input, init) {
  const request = input instanceof Request ? input : null;
  const address = mapped(request ? request.url : input);
  const url = new URL(address, base());
  if (url.origin !== here) return native.fetch(input, init);  // data: and blob:
  const options = {...init};
  delete options.integrity;  // of another host's answer, which was checked when it was recorded
  if (["no-cors", "navigate"].includes(options.mode)) delete options.mode;
  const method = options.method ?? request?.method ?? "GET";
  const headers = new Headers(options.headers ?? request?.headers);
  headers.set(DOCUMENT, documentName);
  let body = "body" in options ? options.body : request?.body ? await request.clone().blob() : undefined;
  if (self.ReadableStream && body instanceof ReadableStream) body = await new Response(body).blob();
  const signal = options.signal ?? request?.signal;
  const answer = await native.fetch(url.href, {...options, method, headers, body, signal});
  if (answer.headers.has(MISSING)) throw new TypeError("Failed to fetch");
  const place = recorded(answer.url);
  Object.defineProperty(answer, "url", {value: place});
  return answer;
}
self.fetch = function fetch(input, init) { return fetchRecorded(input, init); };

if (self.XMLHttpRequest) {
  method(XMLHttpRequest.prototype, "open", open => function (verb, url, ...rest) {
    open.call(this, verb, mapped(url), ...rest);
    if (new URL(mapped(url), base()).origin === here) this.setRequestHeader(DOCUMENT, documentName);
  });
  const responseURL = Object.getOwnPropertyDescriptor(XMLHttpRequest.prototype, "responseURL");
  Object.defineProperty(XMLHttpRequest.prototype, "responseURL", {
    ...responseURL, get() { return recorded(responseURL.get.call(this)); },
  });
}

if (self.Navigator) {
  method(Navigator.prototype, "sendBeacon", () => () => true);
  delete Navigator.prototype.serviceWorker;  // one would outlive the view
  if (page.has_service_worker) Object.defineProperty(Navigator.prototype, "serviceWorker", {get: () => container});
}

/** Stands for the service worker that had made what was recorded, so that a page that waits for it goes on. */
const standIn = (own, ...events) => {
  for (const name of events) own[`on${name}`] = null;
  return Object.assign(new EventTarget(), own);
};
const worker = standIn({state: "activated", scriptURL: `${page.main}/`, postMessage: () => undefined}, "statechange", "error");
const registration = standIn({
  active: worker, installing: null, waiting: null, scope: `${page.main}/`, updateViaCache: "imports",
  update: async () => registration, unregister: async () => true,
}, "updatefound");
const container = standIn({
  controller: worker, ready: Promise.resolve(registration), startMessages: () => undefined,
  register: async () => registration, getRegistration: async () => registration, getRegistrations: async () => [registration],
}, "controllerchange", "message", "messageerror");

/** A recorded stream of events, played once; it stays open then, as it was when the page was recorded. */
class ArchivedEventSource extends EventTarget {
  static CONNECTING = 0;
  static OPEN = 1;
  static CLOSED = 2;

  constructor(url, {withCredentials = false} = {}) {
    super();
    Object.assign(this, {CONNECTING: 0, OPEN: 1, CLOSED: 2, readyState: 0, withCredentials});
    this.url = recorded(new URL(mapped(url), base()).href);
    this.onopen = this.onmessage = this.onerror = null;
    this.play(url);
  }

  async play(url) {
    let text;
    try {
      const answer = await fetchRecorded(url, {headers: {accept: "text/event-stream"}});
      if (answer.status !== 200) throw new TypeError("no stream");
      text = await answer.text();
    } catch {
      this.readyState = 2;
      emit(this, new Event("error"));
      return;
    }
    if (this.readyState === 2) return;
    this.readyState = 1;
    emit(this, new Event("open"));
    for (const block of text.replace(/^\uFEFF/, "").split(/\r\n\r\n|\n\n|\r\r/).slice(0, -1)) {
      await pause();
      if (this.readyState === 2) return;
      this.tell(block);
    }
  }

  tell(block) {
    let kind = "message", data = [];
    for (const line of block.split(/\r\n|\n|\r/)) {
      const [, name, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
      if (name === "data") data.push(value ?? "");
      if (name === "event" && value) kind = value;
      if (name === "id") this.last = value ?? "";
    }
    const origin = new URL(this.url).origin;
    if (data.length) emit(this, new MessageEvent(kind, {data: data.join("\n"), lastEventId: this.last ?? "", origin}));
  }

  close() { this.readyState = 2; }
}
if (self.EventSource) self.EventSource = ArchivedEventSource;

/** A recorded WebSocket: what was received comes in its order, each part after what was sent before it. */
class ArchivedWebSocket extends EventTarget {
  static CONNECTING = 0;
  static OPEN = 1;
  static CLOSING = 2;
  static CLOSED = 3;

  constructor(url, protocols) {
    super();
    Object.assign(this, {CONNECTING: 0, OPEN: 1, CLOSING: 2, CLOSED: 3, readyState: 0, bufferedAmount: 0});
    Object.assign(this, {extensions: "", protocol: [protocols ?? []].flat()[0] ?? "", binaryType: "blob"});
    this.onopen = this.onmessage = this.onerror = this.onclose = null;
    const wanted = new URL(url, ownURL());
    if (wanted.host === new URL(here).host) wanted.host = new URL(ownURL()).host;
    this.url = wanted.href.replace(/^http/, "ws");
    this.sent = 0;
    this.turn = this.begin();
  }

  async begin() {
    try {
      const headers = {[DOCUMENT]: documentName};
      const answer = await native.fetch(`${FOREIGN}socket?url=${encodeURIComponent(this.url)}`, {headers});
      if (answer.status !== 200) throw new TypeError("not recorded");
      this.recording = await answer.json();
    } catch {
      this.readyState = 3;
      emit(this, new Event("error"));
      emit(this, new CloseEvent("close", {code: 1006}));
      return;
    }
    if (this.readyState) return;
    this.readyState = 1;
    emit(this, new Event("open"));
    await this.play();
  }

  /** Give what came until the page had sent more than it has by now. */
  async play() {
    while (this.recording.messages.length) {
      const [way, kind, data] = this.recording.messages[0];
      if (way === "sent" && !this.sent) return;
      this.recording.messages.shift();
      if (way === "sent") this.sent -= 1;
      else {
        await pause();
        if (this.readyState !== 1) return;
        emit(this, new MessageEvent("message", {data: this.content(kind, data), origin: new URL(this.url).origin}));
      }
    }
    if (this.recording.closed && this.readyState === 1) this.close();
  }

  content(kind, data) {
    if (kind === "text") return data;
    const bytes = Uint8Array.from(atob(data), letter => letter.charCodeAt(0));
    return this.binaryType === "blob" ? new Blob([bytes]) : bytes.buffer;
  }

  send() {
    if (!this.readyState) throw new DOMException("Still in CONNECTING state.", "InvalidStateError");
    this.sent += 1;
    this.turn = this.turn.then(() => this.readyState === 1 && this.play());
  }

  close(code = 1000, reason = "") {
    if (this.readyState > 1) return;
    this.readyState = 2;
    pause().then(() => {
      this.readyState = 3;
      emit(this, new CloseEvent("close", {code, reason, wasClean: true}));
    });
  }
}
if (self.WebSocket) self.WebSocket = ArchivedWebSocket;

const pause = () => new Promise(done => native.setTimeout(done));
function emit(target, event) {
  target.dispatchEvent(event);
  const handler = target[`on${event.type}`];
  if (typeof handler === "function") handler.call(target, event);
}

// --- workers -------------------------------------------------------------------------------------------------------

/** A worker that was made of text gets the shim with it; one that has an address gets it from the server. */
function workerAddress(url) {
  const address = String(mapped(url));
  if (!/^blob:|^data:/.test(address)) return address;
  try {
    const parts = [`${FOREIGN}shim.js?url=${encodeURIComponent(ownURL())}`, address].map(readNow);
    return URL.createObjectURL(new Blob([parts.join("\n")], {type: "text/javascript"}));
  } catch { return address; }
}
function readNow(address) {
  const request = new XMLHttpRequest();
  native.open.call(request, "GET", new URL(address, here), false);
  request.send();
  return request.responseText;
}
for (const name of ["Worker", "SharedWorker"]) {
  if (self[name]) self[name] = new Proxy(self[name], {
    construct: (target, [url, ...rest], newTarget) => Reflect.construct(target, [workerAddress(url), ...rest], newTarget),
  });
}
method(self, "importScripts", load => (...urls) => load(...urls.map(mapped)));

if (!self.document) return;

// --- the document --------------------------------------------------------------------------------------------------

{
  const jar = new Map();
  Object.defineProperty(Document.prototype, "cookie", {
    configurable: true,
    get: () => [...jar].map(([name, value]) => name ? `${name}=${value}` : value).join("; "),
    set: text => {
      const [pair, ...attributes] = String(text).split(";"), at = pair.indexOf("=");
      const name = pair.slice(0, Math.max(at, 0)).trim(), value = pair.slice(at + 1).trim();
      const isOver = attributes.some(attribute => {
        const [key, given] = attribute.split("=").map(part => part.trim());
        return /^max-age$/i.test(key) ? Number(given) <= 0 : /^expires$/i.test(key) && Date.parse(given) <= Date.now();
      });
      if (isOver) jar.delete(name);
      else jar.set(name, value);
    },
  });
}

// A frame that is of nobody's origin would get nothing: what it asks for comes from this one alone.
const sandboxed = value => /\ballow-same-origin\b/i.test(value) ? value : `${value} allow-same-origin`;
const URLS = {sandbox: sandboxed, src: mapped, href: mapped, poster: mapped, data: mapped, srcset: mappedSet, imagesrcset: mappedSet, style: mappedStyle};
const isChanged = (target, name) => name in URLS && (name !== "data" || target.localName === "object");
for (const [kinds, name, change] of [
  ["Image Script IFrame Frame Embed Source Track Media Input", "src", mapped], ["Anchor Area Link Base", "href", mapped],
  ["Video", "poster", mapped], ["Object", "data", mapped], ["Image Source", "srcset", mappedSet],
  ["Link", "imageSrcset", mappedSet], ["IFrame", "sandbox", sandboxed],
]) for (const kind of kinds.split(" ")) setting(self[`HTML${kind}Element`], name, change);
setting(self.HTMLLinkElement, "integrity", () => "");  // the bytes of style sheets are changed

method(Element.prototype, "setAttribute", set => function (name, value) {
  const key = String(name).toLowerCase();
  if (key === "integrity" && this.localName === "link") return;
  set.call(this, name, isChanged(this, key) ? URLS[key](value) : value);
});
method(Element.prototype, "setAttributeNS", set => function (space, name, value) {
  const key = String(name).toLowerCase().replace(/^xlink:/, "");
  set.call(this, space, name, isChanged(this, key) ? URLS[key](value) : value);
});

/** HTML in which nothing is asked of another host; it is read without being shown. */
function mappedHTML(html) {
  const text = String(html);
  if (!/\/\/|sandbox/i.test(text) && ownHost() === page.main) return html;
  const holder = document.createElement("template");
  plainHTML.call(holder, text);
  const changed = mapTree(holder.content);
  return changed ? plainHTMLOf.call(holder) : html;
}
const ofHTML = Object.getOwnPropertyDescriptor(Element.prototype, "innerHTML");
const plainHTML = ofHTML.set, plainHTMLOf = ofHTML.get;
setting(Element, "innerHTML", mappedHTML);
setting(Element, "outerHTML", mappedHTML);
setting(self.ShadowRoot, "innerHTML", mappedHTML);
method(Element.prototype, "insertAdjacentHTML", insert => function (where, html) {
  insert.call(this, where, mappedHTML(html));
});
for (const name of ["write", "writeln"]) {
  method(Document.prototype, name, write => function (...parts) {
    write.call(this, ...parts.map(part => String(part).replace(/(\s(?:src|href)\s*=\s*["']?)((?:https?:)?\/\/[^\s"'>]+)/gi,
      (_, start, url) => start + mapped(url))));
  });
}

for (const name of ["insertRule", "replace", "replaceSync"]) {
  method(self.CSSStyleSheet?.prototype, name, change => function (text, ...rest) {
    return change.call(this, mappedStyle(text), ...rest);
  });
}
if (self.FontFace) self.FontFace = new Proxy(self.FontFace, {
  construct: (target, [family, source, ...rest], newTarget) =>
    Reflect.construct(target, [family, typeof source === "string" ? mappedStyle(source) : source, ...rest], newTarget),
});

/** Map what the elements of a tree name; whether anything was changed. */
function mapTree(root, isAlone = false) {
  let changed = false;
  for (const each of isAlone ? [root] : [root, ...root.querySelectorAll("*")]) {
    for (const {name, value} of [...each.attributes ?? []]) {
      const key = name.replace(/^xlink:/, "");
      if (!isChanged(each, key) || !value) continue;
      const now = String(URLS[key](value));
      if (now === value) continue;
      each.setAttribute(name, now);
      changed = true;
    }
    if (each.localName === "style" && mappedStyle(each.textContent) !== each.textContent) {
      each.textContent = mappedStyle(each.textContent);
      changed = true;
    }
    if (each.localName === "template") changed = mapTree(each.content) || changed;
  }
  return changed;
}
new MutationObserver(records => {
  for (const {addedNodes, target, type} of records) {
    for (const node of addedNodes) if (node.nodeType === Node.ELEMENT_NODE) mapTree(node);
    if (type === "attributes") mapTree(target, true);
    const holder = target.nodeType === Node.TEXT_NODE ? target.parentNode : target;
    if (holder?.localName === "style") mapTree(holder);
  }
}).observe(document, {childList: true, characterData: true, subtree: true, attributeFilter: Object.keys(URLS)});

// --- where the document is -----------------------------------------------------------------------------------------

let shownAt = page.url;  // the recorded URL under which this document is shown
for (const name of ["pushState", "replaceState"]) {
  method(History.prototype, name, change => function (state, title, url) {
    change.call(this, state, title, url == null ? url : mapped(url));
    if (url == null || recorded(location.href) === shownAt) return;
    const body = JSON.stringify({url: recorded(location.href), document: page.url});
    shownAt = recorded(location.href);
    native.fetch(`${FOREIGN}route`, {method: "POST", body, keepalive: true}).catch(() => null);  // the view has ended
  });
}

// `location` cannot be replaced; what it is set to can be told another way.
self.navigation?.addEventListener("navigate", event => {
  const there = event.destination.url;
  if (!event.cancelable || !/^https?:/.test(there)) return;
  const address = new URL(mapped(there), location.href).href;
  if (address === there) return;
  event.preventDefault();
  native.setTimeout(() => location.assign(address));
});

Object.defineProperty(Document.prototype, "referrer", {configurable: true, get: () => ""});
Object.defineProperty(Document.prototype, "domain", {
  configurable: true, get: () => new URL(page.url).hostname, set: () => undefined,
});
})();
