// What a file without scripts shows otherwise is said in attributes and styles while SingleFile works, and taken back
// afterwards: drawings, videos that scripts feed, popovers, states, slots, fonts and animations that scripts have made.
(() => {
  const LARGEST = 2000; // pixels of a side of a poster
  const MOST_PIXELS = 16e6; // of a drawing that is taken from the browser's picture
  const CONTROLS = "archivebox-without-controls";
  const HIDDEN = `video[${CONTROLS}]::-webkit-media-controls { display: none !important }`;
  const SET = /(?:-webkit-)?image-set\((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\))*\)/g;
  const CHOICE = /(url\("(?:[^"\\]|\\.)*"\))\s+([\d.]+)dppx(?:\s+type\("([^"]*)"\))?/g; // as computed styles have it
  const DRAWN = /^(image\/(apng|avif|bmp|gif|jpeg|png|svg\+xml|webp|x-icon|vnd\.microsoft\.icon))?$/;
  const MADE = /:popover-open|:modal|:state\(([\w-]+)\)/g; // what no element is without scripts
  const RAISED = ":popover-open, :modal";
  const LETTERS = "AaBbGgMmWwXx il019&@";
  const before = []; // what takes a change back
  const added = []; // styles
  const replaced = []; // [object, name] of properties that SingleFile finds in place of the browser's
  const pictures = new Map(); // element: its picture

  const trees = () => {
    const found = [document];
    for (let number = 0; number < found.length; number++)
      for (const node of found[number].querySelectorAll("*")) {
        const root = shown.rootOf(node);
        if (root) found.push(root);
      }
    return found;
  };
  const attribute = (node, name, value) => {
    const was = node.getAttribute(name);
    before.push(() => (was === null ? node.removeAttribute(name) : node.setAttribute(name, was)));
    if (value === null) node.removeAttribute(name);
    else node.setAttribute(name, value);
  };
  // A page's policy may forbid attributes of style, but not what is set by itself (CSP 3, 8.3).
  const style = (node, properties) => {
    const was = node.getAttribute("style");
    before.push(() => {
      if (was === null) node.removeAttribute("style");
      else node.style.cssText = was;
    });
    for (const [name, value] of Object.entries(properties)) node.style.setProperty(name, value, "important");
  };
  const restore = (first = 0) => {
    for (const takeBack of before.splice(first).reverse()) takeBack();
  };
  const add = (tree, text) => added.push((tree.head ?? tree).appendChild(Object.assign(document.createElement("style"), { textContent: text })));
  const replace = (object, name, property) => {
    Object.defineProperty(object, name, { configurable: true, ...property });
    replaced.push([object, name]);
  };

  // --- drawings: without scripts a canvas is no picture but an empty element (HTML 4.12.5), whose background, into which
  // SingleFile puts what was drawn, has no size. What cannot be read is taken from the browser's picture of the page.

  const isUnread = (canvas) => {
    if (!canvas.width || !canvas.height) return false;
    const pen = new OffscreenCanvas(16, 16).getContext("2d", { willReadFrequently: true });
    pen.drawImage(canvas, 0, 0, 16, 16);
    try {
      const pixels = new Uint32Array(pen.getImageData(0, 0, 16, 16).data.buffer);
      return pixels.every((pixel) => pixel === pixels[0]); // given to the screen and gone, as most of WebGL is
    } catch {
      return true; // of another origin
    }
  };
  // An element's own picture, with nothing before or behind it; "" where there is none.
  const pictured = async (node, isBackground) => {
    const first = before.length;
    for (const root of [document.documentElement, document.body]) style(root, { visibility: "hidden", background: "none" });
    style(node, { visibility: "visible", opacity: 1, filter: "none", ...(isBackground && { color: "transparent" }) });
    const box = node.getBoundingClientRect(), { paddingLeft, paddingTop, paddingRight, paddingBottom } = getComputedStyle(node);
    const [left, top, right, bottom] = isBackground ? [0, 0, 0, 0] : [paddingLeft, paddingTop, paddingRight, paddingBottom].map(parseFloat);
    const [x, y] = [box.x + node.clientLeft + left, box.y + node.clientTop + top];
    const [width, height] = [node.clientWidth - left - right, node.clientHeight - top - bottom];
    const isThere = width > 0 && height > 0 && width * height < MOST_PIXELS && x + scrollX >= 0 && y + scrollY >= 0;
    const isBeyond = x < 0 || y < 0 || x + width > innerWidth || y + height > innerHeight;
    const png = isThere && (await clip({ x: x + scrollX, y: y + scrollY, width, height, isBeyond }));
    restore(first);
    return png ? `data:image/png;base64,${png}` : "";
  };
  const isPainted = (node) => getComputedStyle(node).backgroundImage.includes("paint(");
  const draw = async (nodes) => {
    for (const node of nodes)
      if (node.localName === "canvas" ? isUnread(node) : isPainted(node)) pictures.set(node, await pictured(node, node.localName !== "canvas"));
  };
  const sized = (canvas) => {
    const { width, height, display } = getComputedStyle(canvas), picture = pictures.get(canvas);
    if (display !== "none") style(canvas, { width, height, display: display === "inline" ? "inline-block" : display });
    if (picture) replace(canvas, "toDataURL", { value: () => picture });
  };

  // --- videos: one that a script feeds has no address: its present frame becomes its poster. Without scripts browsers draw
  // controls over each video (HTML 4.8.11.13), also where the page had none.

  const posed = (video) => {
    if (video.hasAttribute("poster") || video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA || !video.videoWidth) return;
    const scale = Math.min(1, LARGEST / Math.max(video.videoWidth, video.videoHeight));
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [video.videoWidth * scale, video.videoHeight * scale];
    canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
    try {
      attribute(video, "poster", canvas.toDataURL("image/webp", 1)); // without loss; a PNG would be packed again, with loss
    } catch (error) {
      if (error.name !== "SecurityError") throw error; // of another origin, which does not let anybody read it
    }
  };

  // --- styles: SingleFile does not find the pictures that image-set() names by strings: an element that shows one gets
  // the one that it shows as its own. It takes a style that the page's policy forbids for one of the page.

  const chosen = (set) => {
    const choices = [...set.matchAll(CHOICE)].filter(([, , , type]) => DRAWN.test(type ?? ""));
    choices.sort(([, , one], [, , other]) => one - other);
    return (choices.find(([, , density]) => density >= devicePixelRatio) ?? choices.at(-1))?.[1] ?? set;
  };
  const settled = (node) => {
    const value = getComputedStyle(node).backgroundImage;
    if (node.getAttribute("style")?.trim() && node.style?.length === 0) attribute(node, "style", null);
    const isForbidden = node.localName === "style" && !node.sheet && node.textContent.trim();
    if (isForbidden || node.sheet?.disabled) attribute(node, "media", "not all");
    if (node.matches("img[loading=lazy][sizes^=auto i]")) style(node, { contain: "size", "contain-intrinsic-size": "300px 150px" }); // HTML 15.4.1
    if (value.includes("image-set(")) style(node, { "background-image": value.replace(SET, chosen) });
    else if (pictures.get(node) && node.localName !== "canvas") style(node, { "background-image": `url("${pictures.get(node)}")` });
  };
  // What an animation of a script holds is in no style sheet.
  const held = ({ effect, constructor }) => {
    if (constructor !== Animation || !effect?.target || effect.pseudoElement) return;
    const names = effect.getKeyframes().flatMap(Object.keys).filter((name) => !/^(offset|computedOffset|easing|composite)$/.test(name));
    const values = getComputedStyle(effect.target), kebab = (name) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    style(effect.target, Object.fromEntries(names.map((name) => [kebab(name), values.getPropertyValue(kebab(name))])));
  };

  // --- states that scripts give to elements: an attribute stands for each, in rules as well. What is in the top layer
  // (CSS Positioned Layout 4, 3) is put above all else.

  const mark = (state, whole) => `archivebox-${state ? `state-${state}` : whole.slice(1)}`;
  const rulesOf = (sheet) => {
    try { return [...sheet.cssRules]; } catch { return []; } // of another origin
  };
  const named = (rules) => rules.filter(({ cssText }) => cssText.search(MADE) >= 0).map((rule) => {
    const isGroup = rule.selectorText === undefined && rule.cssRules;
    if (isGroup) return `${rule.cssText.slice(0, rule.cssText.indexOf("{"))}{${named([...rule.cssRules])}}`;
    return rule.cssText.replace(MADE, (whole, state) => `[${mark(state, whole)}]`);
  }).join("\n");
  const told = (all) => {
    const sheets = all.map((tree) => [tree, named([...tree.styleSheets, ...tree.adoptedStyleSheets].flatMap(rulesOf))]);
    const states = new Map(sheets.flatMap(([, text]) => [...text.matchAll(/\[archivebox-state-([\w-]+)\]/g)].map(([, state]) => [state, `:state(${state})`])));
    for (const tree of all) {
      for (const node of tree.querySelectorAll(RAISED)) {
        style(node, shown.raised(node));
        attribute(node, node.matches(":modal") ? "archivebox-modal" : "archivebox-popover-open", "");
      }
      for (const [state, selector] of states)
        for (const node of tree.querySelectorAll(selector)) attribute(node, mark(state), "");
    }
    for (const [tree, text] of sheets) if (text) add(tree, text);
  };

  // --- shadow roots: slots that a script fills by hand get names (DOM 4.2.2.3). Of several styles that read the same
  // SingleFile fills in the first one alone: each gets a comment of its own.

  const slotted = (root) => {
    if (root.slotAssignment !== "manual") return;
    const slots = [...root.querySelectorAll("slot")].map((slot) => [slot, slot.assignedElements()]);
    for (const child of root.host.children) attribute(child, "slot", "archivebox-none");
    for (const [number, [slot, nodes]] of slots.entries()) {
      attribute(slot, "name", `archivebox-${number}`);
      for (const node of nodes) attribute(node, "slot", `archivebox-${number}`);
    }
  };
  const distinct = (root, number) => {
    const cssText = `/* ${number} */`, sheets = root.adoptedStyleSheets.map((sheet) => ({ cssRules: [...rulesOf(sheet), { cssText }] }));
    replace(root, "adoptedStyleSheets", { value: sheets });
    const html = Object.getOwnPropertyDescriptor(ShadowRoot.prototype, "innerHTML");
    replace(root, "innerHTML", { get: () => html.get.call(root).replace(/<\/style>/gi, `${cssText}</style>`) });
  };

  // --- fonts that scripts add: what is in no style sheet can be taken out of the set (CSS Font Loading 3.2). A font does
  // not say where it came from: the recorded one by which letters look the same is it.

  const written = (face, family) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 900, height: 60 }), pen = canvas.getContext("2d");
    const [, first] = /^U\+([0-9A-F]+)/i.exec(face.unicodeRange) ?? [], start = parseInt(first ?? "0", 16);
    const own = start > 0x7f ? String.fromCodePoint(...Array.from({ length: 20 }, (_, number) => start + number)) : "";
    pen.font = `${face.style.split(" ")[0]} ${face.weight.split(" ")[0]} 40px ${family}, monospace`;
    pen.fillText(own + LETTERS, 0, 45);
    return canvas.toDataURL();
  };
  const bytesOf = (base64) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)).buffer;
  const fontFaces = async () => {
    const faces = [...document.fonts].filter((face) => face.status === "loaded" && document.fonts.delete(face) && document.fonts.add(face));
    const recorded = [], rules = [];
    for (const url of faces.length ? await fonts() : []) recorded.push(await resource(url));
    for (const face of faces) {
      const { family, style, weight, stretch, unicodeRange, featureSettings } = face, name = JSON.stringify(family.replace(/^["']|["']$/g, ""));
      for (const { body } of recorded.filter(Boolean)) {
        const probe = new FontFace("archivebox-probe", bytesOf(body), { style, weight, stretch, unicodeRange, featureSettings });
        if (!(await probe.load().catch(() => null))) continue;
        document.fonts.add(probe);
        const isSame = written(face, "archivebox-probe") === written(face, name);
        document.fonts.delete(probe);
        if (!isSame) continue;
        const more = `font-style:${style};font-weight:${weight};font-stretch:${stretch};unicode-range:${unicodeRange};font-feature-settings:${featureSettings}`;
        rules.push(`@font-face{font-family:${name};src:url("data:font/woff2;base64,${body}");${more}}`);
        break;
      }
    }
    return rules.join("\n");
  };

  globalThis.still = {
    begin: async () => {
      const faces = await fontFaces(), all = trees();
      for (const tree of all) await draw(tree.querySelectorAll("*"));
      for (const tree of all) {
        for (const node of tree.querySelectorAll("*")) settled(node);
        for (const animation of tree.getAnimations()) held(animation);
        for (const canvas of tree.querySelectorAll("canvas")) sized(canvas);
        for (const source of tree.querySelectorAll("audio > source, video > source"))
          if (source.src !== source.parentElement.currentSrc) attribute(source, "src", null); // it plays another
        const videos = [...tree.querySelectorAll("video")];
        for (const video of videos) posed(video);
        for (const video of videos) if (!video.controls) attribute(video, CONTROLS, "");
        if (videos.some((video) => video.hasAttribute(CONTROLS))) add(tree, HIDDEN);
      }
      told(all);
      if (faces) add(document, faces);
      for (const [number, root] of all.slice(1).entries()) {
        slotted(root);
        distinct(root, number);
      }
    },
    end: () => {
      for (const node of added.splice(0)) node.remove();
      for (const [object, name] of replaced.splice(0)) delete object[name];
      restore();
    },
  };
})();
