// The page as it is shown, across shadow roots and frames: copies of it as one document, and its links.
// Runs in a world of its own of each frame. No script finds closed shadow roots or looks into frames of other origins:
// `shown.know` and `shown.tell` are told of them.
(() => {
  const FEW_WORDS = 25; // of a page that has hardly any besides its frames
  const FRAMES = 50; // documents of frames that are copied at most
  const LARGE = 0.5; // of the window: a frame of that size is the page, a smaller one something embedded in it
  const closed = new Map(); // host: its closed shadow root
  const told = new Map(); // frame: what it shows, {html, links}

  const rootOf = (node) => node.shadowRoot ?? closed.get(node) ?? null;
  const isSeen = (node) => node.checkVisibility({ visibilityProperty: true }) && node.clientWidth * node.clientHeight > 1;
  const isFrame = (node) => node.localName === "iframe" || node.localName === "frame";
  // The document of a frame that is seen; null where there is none, or it is of another origin.
  const documentOf = (node) => {
    if (!isFrame(node)) return null;
    const inside = node.contentDocument;
    return inside?.body && isSeen(node) ? inside : null;
  };
  const isLarge = (node) => node.hasAttribute("srcdoc") || node.clientWidth * node.clientHeight >= LARGE * innerWidth * innerHeight;
  // Whether the page has so few words of its own that its frames, of any size, are what it is about.
  const isBare = () => !hasRoots() && (document.body?.innerText.match(/\S+/g) ?? []).length < FEW_WORDS;
  const isContent = (node) => isFrame(node) && (isLarge(node) || isBare());

  // Every tree of the page: its document, shadow roots and documents of frames.
  const trees = () => {
    const found = [document];
    let frames = 0;
    for (let number = 0; number < found.length; number++)
      for (const node of found[number].querySelectorAll("*")) {
        const root = rootOf(node);
        if (root) found.push(root);
        const inside = frames < FRAMES ? documentOf(node) : null;
        if (inside) { found.push(inside); frames += 1; }
      }
    return found;
  };

  const sheet = (adopted) => [...adopted.cssRules].map((rule) => rule.cssText).join("\n");
  const styled = (tree, into, copy) => {
    for (const adopted of tree.adoptedStyleSheets ?? []) into.append(Object.assign(copy.createElement("style"), { textContent: sheet(adopted) }));
  };
  // What stands in a frame is at home at another address than the copy.
  const atHome = (made, node) => {
    for (const name of ["href", "src"])
      if (made.hasAttribute(name) && typeof node[name] === "string") made.setAttribute(name, node[name]);
  };

  // As HTML can say it: shadow roots as templates (HTML 4.12.3.1), with the styles that scripts gave them.
  const declared = (from, into, copy) => {
    for (const node of from.childNodes) {
      const whole = node.localName === "template";
      const made = into.appendChild(copy.importNode(node, whole));
      if (whole || node.nodeType !== Node.ELEMENT_NODE) continue;
      const root = rootOf(node);
      if (root) {
        const template = made.appendChild(copy.createElement("template"));
        template.setAttribute("shadowrootmode", root.mode);
        if (root.delegatesFocus) template.setAttribute("shadowrootdelegatesfocus", "");
        styled(root, template.content, copy);
        declared(root, template.content, copy);
      }
      declared(node, made, copy);
    }
  };

  // As it is shown: what a shadow root shows stands where it is shown, what a frame shows behind the frame.
  const flattened = (nodes, into, copy, { isWanted, inFrame = false }) => {
    for (const node of nodes) {
      if (node.localName === "slot" && node.getRootNode().host) {
        const assigned = node.assignedNodes();
        flattened(assigned.length ? assigned : node.childNodes, into, copy, { isWanted, inFrame });
        continue;
      }
      const whole = node.localName === "template";
      const made = into.appendChild(copy.importNode(node, whole));
      if (whole || node.nodeType !== Node.ELEMENT_NODE) continue;
      if (inFrame) atHome(made, node);
      flattened((rootOf(node) ?? node).childNodes, made, copy, { isWanted, inFrame });
      if (isWanted(node)) framed(node, into, copy, { isWanted, inFrame: true });
    }
  };
  const framed = (node, into, copy, how) => {
    const inside = documentOf(node);
    if (!(inside || told.has(node)) || copy.frames++ >= FRAMES) return;
    const box = into.appendChild(copy.createElement("div"));
    box.setAttribute("data-frame", inside?.URL ?? node.src);
    if (inside) flattened(inside.body.childNodes, box, copy, how);
    else for (const child of parsed(told.get(node).html)) box.appendChild(copy.importNode(child, true));
  };
  const parsed = (html) => new DOMParser().parseFromString(html, "text/html").body.childNodes;

  // What is in the top layer (CSS Positioned Layout 4, 3), or a dialog beside it, in styles that show it without scripts.
  const OPENED = ":popover-open, dialog[open]";
  const raised = (node) => {
    const box = node.getBoundingClientRect(), now = getComputedStyle(node), { backgroundColor } = getComputedStyle(node, "::backdrop");
    if (!node.matches(":popover-open, :modal")) return { display: now.display };
    const shadow = `0 0 0 200vmax ${backgroundColor}${now.boxShadow === "none" ? "" : `, ${now.boxShadow}`}`;
    const styles = { display: now.display, "z-index": 2147483647, "box-shadow": shadow };
    if (node.matches(":modal")) Object.assign(styles, { position: "fixed", "inset-block": 0, overflow: "auto" });
    if (now.positionArea && now.positionArea !== "none") { // beside what opened it, which no style sheet says
      const place = { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` };
      Object.assign(styles, { "position-area": "none", position: "fixed", inset: "auto", margin: 0, "box-sizing": "border-box", ...place });
    }
    return styles;
  };
  const pathTo = (node) => {
    if (node.id || !node.parentElement) return node.id ? `#${CSS.escape(node.id)}` : node.localName;
    const same = [...node.parentElement.children].filter((child) => child.localName === node.localName);
    return `${pathTo(node.parentElement)}>${CSS.escape(node.localName)}:nth-of-type(${same.indexOf(node) + 1})`;
  };
  const asText = (styles) => Object.entries(styles).map(([name, value]) => `${name}:${value}!important`).join(";");

  const hasRoots = () => closed.size > 0 || [...document.querySelectorAll("*")].some((node) => node.shadowRoot);
  const frames = () => trees().flatMap((tree) => [...tree.querySelectorAll("iframe, frame")]).filter((node) => documentOf(node) || told.has(node));
  // A document of the same kind; where the page's rules forbid to work on that, one without rules (`inject.py`).
  const empty = () => {
    const copy = globalThis.isFreed ? document.implementation.createHTMLDocument() : document.cloneNode(false);
    copy.replaceChildren();
    return Object.assign(copy, { frames: 0 });
  };
  const html = (copy) => {
    const doctype = document.doctype ? `${new XMLSerializer().serializeToString(document.doctype)}\n` : "";
    return doctype + (copy.documentElement?.outerHTML ?? "");
  };
  const declaredCopy = () => {
    const copy = empty();
    declared(document, copy, copy);
    if (copy.head) styled(document, copy.head, copy);
    return copy;
  };
  const flatCopy = (isWanted, inFrame = false) => {
    const copy = empty();
    flattened(document.childNodes, copy, copy, { isWanted, inFrame });
    return copy;
  };
  const links = (most) => {
    const found = [...told.values()].flatMap((inside) => inside.links).slice(0, most);
    for (const tree of trees()) {
      const base = (tree.host ?? tree).baseURI;
      const absolute = (href) => (URL.canParse(href, base) ? new URL(href, base).href : "");
      for (const link of tree.querySelectorAll("a[href], area[href]")) {
        const url = typeof link.href === "string" ? link.href : absolute(link.href.baseVal);
        if (/^https?:/.test(url) && found.length < most) found.push([url, link.textContent.trim().slice(0, 300)]);
      }
    }
    return found;
  };

  globalThis.shown = {
    know: (roots) => { for (const root of roots) closed.set(root.host, root); },
    rootOf,
    raised,
    // Selector: styles, of the document's own elements.
    opened: () => Object.fromEntries([...document.querySelectorAll(OPENED)].map((node) => [pathTo(node), asText(raised(node))])),
    // How many elements there are in all trees that this world sees.
    count: () => trees().reduce((sum, tree) => sum + tree.querySelectorAll("*").length, 0),
    // A copy for those who read articles, in no window: nothing in it loads or runs.
    copy: () => {
      if (!globalThis.isFreed) return hasRoots() || frames().some(isContent) ? flatCopy(isContent) : document.cloneNode(true);
      const copy = flatCopy(isContent);
      copy.head?.prepend(Object.assign(copy.createElement("base"), { href: document.baseURI }));
      return copy;
    },
    // The page's HTML, shadow roots included.
    html: () => html(hasRoots() || document.adoptedStyleSheets?.length ? declaredCopy() : document),
    // The same without shadow roots and frames; "" where there are none.
    flatHtml: () => (hasRoots() || frames().length ? html(flatCopy(() => true)) : ""),
    links,
    // What a frame shows, for the world of the page that it is in.
    inside: (most) => ({ html: flatCopy(() => true, true).body?.innerHTML ?? "", links: links(most) }),
    isForeign: (node, onlyLarge) => !node.contentDocument && isSeen(node) && (!onlyLarge || isContent(node)),
    tell: (node, inside) => { told.set(node, inside); },
  };
})();
