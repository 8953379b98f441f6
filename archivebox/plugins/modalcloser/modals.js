// Closes windows and consent banners that lie over the page, follows autoconsent where it is there, and tells what came
// of it: {kind: "banner" | "window", by, name, closed}; of one that comes back, once more. What is told as closed is not
// seen any more. Runs in a world of its own, in every frame, before the page does; windows are looked for in the page's
// own frame, in its document, in shadow roots, and among its frames.
(() => {
  const LOOK = 200; // ms between two looks at a page that changes
  const FADE = 250; // ms for a closed window to be gone
  const CONSENT_TIME = 3000; // ms that windows about consent are left to autoconsent
  const MOST = 20; // windows of one page
  const WINDOWS = ['[aria-modal="true"]', "dialog[open]", '[role="dialog"]', '[role="alertdialog"]',
    ...["modal", "popup", "overlay", "lightbox", "newsletter"].flatMap((word) => [`[class*="${word}" i]`, `[id*="${word}" i]`])].join();
  const BUTTONS = 'button, [role="button"], a:not([href]), a[href^="#"], a[href^="javascript:"], [class*="close" i], [class*="dismiss" i]';
  const CLOSES = /close|dismiss|schlie(ß|ss)en|fermer|cerrar|chiudi|sluiten|fechar|stäng|zamknij|閉じる|关闭|關閉|닫기/i;
  const CLOSING_WORDS = /^\W*(x|close|dismiss|skip|no,? thanks?( you)?|not now|maybe later|later|nein,? danke|non,? merci|no,? gracias)\W*$|^[×✕✖╳⨯❌]$/i;
  const REFUSES = /^\W*(reject|decline|deny|refuse|only necessary|necessary only|(use )?(only )?essential|continue without|(alle )?ablehnen|nur (notwendige|erforderliche)|(tout )?refuser|continuer sans|rechazar|rifiuta|weigeren|rejeitar|avvis|afvis|hylkää|odrzuć)/i;
  const OF_CONSENT = /\bcookies?\b|\bconsent|gdpr|datenschutz|einwilligung|\bcmp\b|sp_message/i;
  const BANNERS = ["cookie", "consent", "gdpr", "cmp", "osano", "onetrust", "didomi", "usercentrics", "truste", "privacy"]
    .flatMap((word) => [`[class*="${word}" i]`, `[id*="${word}" i]`, `[aria-label*="${word}" i]`]).join();
  const BANNER = 0.03; // of the window: a smaller thing about consent is a way back to it
  const WORDS = 3000; // letters: what has more about cookies is an article on them
  const CONSENT = /cookie|consent|gdpr|privacy|datenschutz|einwilligung|confidentialité|privacidad/i;
  const HINTS = ["cookie", "consent", "gdpr", "onetrust", "didomi", "usercentrics", "truste"];
  const HINT = HINTS.flatMap((word) => [`[id*="${word}" i]`, `[class*="${word}" i]`, `script[src*="${word}" i]`]).join();
  const ATTEMPTS = 2; // looks of autoconsent, half a second apart, before it waits for the page to change

  const wait = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const tell = (fact) => globalThis.archiveboxTell(JSON.stringify(fact));

  // --- autoconsent

  const autoconsent = globalThis.autoconsentStandalone;
  const state = () => autoconsent?.instance.state ?? { lifecycle: "done" };
  const AT_WORK = ["cmpDetected", "openPopupDetected", "runningOptOut"];
  const BEGINS = ["loading", "initialized", "waitingForInitResponse", "started"];
  const consentIsAtWork = () => AT_WORK.includes(state().lifecycle)
    || (BEGINS.includes(state().lifecycle) && state().findCmpAttempts < ATTEMPTS && document.querySelector(HINT) !== null);
  if (autoconsent) {
    // It hides what may be a banner; where it does not answer it after all, the page would be kept like that.
    addEventListener("DOMContentLoaded", () => autoconsent.instance.undoPrehide());
    autoconsent.messages.push = (message) => {
      if (message.type === "optOutResult") answered(message.cmp, message.result);
    };
  }

  // --- what is seen

  const hostOf = (node) => { const root = node.getRootNode(); return root === document ? null : root.host ?? null; };
  const above = (node) => node.parentElement ?? hostOf(node);
  const watched = new Set();
  // Of the document and its open shadow roots.
  const all = (selector) => {
    const found = [], trees = [document];
    for (let tree; (tree = trees.pop()); ) {
      found.push(...tree.querySelectorAll(selector));
      for (const node of tree.querySelectorAll("*")) if (node.shadowRoot) trees.push(node.shadowRoot);
      if (tree !== document && !watched.has(tree)) { watched.add(tree); watch(tree); }
    }
    return found;
  };
  const inside = (node, selector) => [...node.querySelectorAll(selector), ...(node.shadowRoot?.querySelectorAll(selector) ?? [])];
  const textOf = (node) => node.innerText + [node, ...node.querySelectorAll("*")].map((each) => each.shadowRoot?.textContent ?? "").join(" ");
  const isAbove = (node, other) => other !== null && (node === other || isAbove(node, above(other)));
  const at = (x, y) => {
    let node = document.elementFromPoint(x, y);
    for (let deeper; node?.shadowRoot && (deeper = node.shadowRoot.elementFromPoint(x, y)) && deeper !== node; ) node = deeper;
    return node;
  };
  const isFrame = (node) => node.localName === "iframe";

  // --- windows

  const seen = new Map(); // window: when
  const tried = new WeakSet();
  let closing = 0, closed = 0;
  const isVisible = (node) => node.isConnected && node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const isFixed = (node) => node.matches(":modal")
    || (node !== document.body && node !== null && (getComputedStyle(node).position === "fixed" || (above(node) !== null && isFixed(above(node)))));
  const isModal = (node) => node.matches(':modal, [aria-modal="true"]') || node.querySelector('[aria-modal="true"]') !== null;
  const share = (node) => {
    const box = node.getBoundingClientRect();
    const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0), height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
    return width > 0 && height > 0 ? (width * height) / (innerWidth * innerHeight) : 0;
  };
  const isInTheMiddle = (node) => [0.2, 0.35, 0.5].some((part) => isAbove(node, at(innerWidth / 2, innerHeight * part)));
  const covers = (node) => isVisible(node) && isFixed(node) && share(node) > 0 && (isModal(node) || share(node) >= 0.25 || isInTheMiddle(node));
  const FEW = 200; // letters
  const isThePage = (node) => isFrame(node) || isShut(node)
    ? document.body.innerText.trim().length < FEW
    : textOf(node).length * 2 > document.body.innerText.length + (hostOf(node) ? textOf(node).length : 0);
  // A closed shadow root is known by what it shows: where its host, of which nothing lies there, is hit.
  const POINTS = [0.1, 0.3, 0.5, 0.7, 0.9].flatMap((x) => [0.1, 0.3, 0.5, 0.7, 0.97].map((y) => [x * innerWidth, y * innerHeight]));
  const isHit = (node, [x, y]) => {
    const box = node.getBoundingClientRect();
    return at(x, y) === node && !(box.left <= x && x <= box.right && box.top <= y && y <= box.bottom);
  };
  const hits = (node) => POINTS.filter((point) => isHit(node, point)).length;
  // Beside custom elements these can have a root (DOM 4.2.14). One whose own text is seen shows no other; what is made by
  // a style sheet is hit as its element as well.
  const HOSTS = "article, aside, blockquote, div, footer, h1, h2, h3, h4, h5, h6, header, main, nav, p, section, span";
  const isStyled = (node) => ["::before", "::after"].some((part) => !["none", "normal"].includes(getComputedStyle(node, part).content));
  const mayHide = (node) => node.localName.includes("-") || (node.matches(HOSTS) && !node.innerText.trim() && !isStyled(node));
  const isShut = (node) => !node.shadowRoot && node.isConnected && mayHide(node) && hits(node) > 2;
  const shut = () => [...new Set(POINTS.map(([x, y]) => at(x, y)))]
    .filter((node) => node && node !== document.body && node !== document.documentElement && (isShut(node) || (node.localName.includes("-") && covers(node))));
  const isBanner = (node) => isVisible(node) && isFixed(node) && share(node) >= BANNER
    && (isFrame(node) ? OF_CONSENT.test(`${node.id} ${node.name} ${node.title} ${node.className}`)
      : textOf(node).length < WORDS && OF_CONSENT.test(textOf(node)) && inside(node, BUTTONS).some(isVisible));
  const isSeen = (node) => covers(node) || isBanner(node) || isShut(node);
  const banners = () => outermost(all(`${BANNERS}, iframe`).filter(isBanner));
  const outermost = (nodes) => nodes.filter((node) => !nodes.some((other) => other !== node && isAbove(other, node)));
  const nameOf = (node) => {
    const labelled = node.matches("[aria-label]") ? node : node.querySelector("[aria-label][role], [aria-label][aria-modal]");
    const words = labelled?.ariaLabel || inside(node, "h1, h2, h3, h4")[0]?.textContent || node.title || node.id || node.className || node.localName;
    return String(words).trim().replace(/\s+/g, " ").slice(0, 60);
  };
  const refuser = (node) => inside(node, BUTTONS).find((button) => isVisible(button) && REFUSES.test(button.textContent.trim()));
  const closer = (node) => inside(node, BUTTONS).find((button) => isVisible(button)
    && (CLOSES.test(`${button.className} ${button.id} ${button.ariaLabel ?? ""} ${button.title}`) || CLOSING_WORDS.test(button.textContent.trim())));

  // A click that would leave the page leads nowhere.
  const stay = (event) => event.cancelable && !event.destination.sameDocument && event.preventDefault();
  const staying = async (act) => {
    navigation.addEventListener("navigate", stay);
    try {
      act();
      await wait(FADE);
    } finally {
      navigation.removeEventListener("navigate", stay);
    }
  };
  const escape = (node) => {
    const target = node.contains(document.activeElement) ? document.activeElement : document.body;
    for (const type of ["keydown", "keyup"])
      target.dispatchEvent(new KeyboardEvent(type, { key: "Escape", code: "Escape", keyCode: 27, bubbles: true, cancelable: true }));
    if (node.matches("dialog[open]")) node.close();
  };
  // What holds nothing but a window dims the page behind it.
  const withCover = (node) => {
    const { parentElement: outer } = node;
    const isCover = outer && outer !== document.body && outer.childElementCount === 1 && !outer.innerText.trim() && getComputedStyle(outer).position === "fixed";
    return isCover ? withCover(outer) : node;
  };
  const ways = (node) => {
    const button = refuser(node) ?? closer(node);
    return [
      ...(button ? [["its button", () => button.click()]] : []),
      ["Escape", () => escape(node)],
      ...(isThePage(node) ? [] : [["removed", () => withCover(node).remove()]]),
    ];
  };
  const unlock = () => {
    for (const node of [document.documentElement, document.body]) {
      const style = getComputedStyle(node);
      if (style.overflowY === "hidden") node.style.setProperty("overflow", "visible", "important");
      if (style.position === "fixed") node.style.setProperty("position", "static", "important");
    }
  };

  const done = new Map(); // window that was closed: what was told of it
  const told = (node, fact) => {
    done.set(node, fact);
    tell(fact);
  };
  const close = async (node) => {
    const name = nameOf(node), kind = isBanner(node) ? "banner" : "window";
    tried.add(node);
    closing += 1;
    try {
      for (const [by, act] of ways(node)) {
        await staying(act);
        if (isSeen(node)) continue;
        unlock();
        closed += 1;
        return told(node, { kind, by, name, closed: true });
      }
      tell({ kind, by: "", name, closed: false });
    } finally {
      closing -= 1;
    }
  };
  // What autoconsent says that it did counts once no banner is seen; one that is left is closed as a window.
  const answered = async (name, result) => {
    closing += 1;
    await wait(2 * FADE);
    closing -= 1;
    if (result && document.body && window === window.top && banners().length) return soon();
    tell({ kind: "banner", by: "autoconsent", name, closed: result });
  };
  const comeBack = () => {
    for (const [node, fact] of done)
      if (isSeen(node)) {
        done.delete(node);
        tell({ ...fact, by: "", closed: false });
      }
  };
  const isLeftToAutoconsent = (node, now) => autoconsent && hostOf(node) === null && now - seen.get(node) < CONSENT_TIME
    && consentIsAtWork() && CONSENT.test(`${node.id} ${node.className} ${textOf(node).slice(0, 2000)}`);
  const look = () => {
    const covering = all(`${WINDOWS}, iframe`).filter(covers);
    const found = outermost([...new Set([...covering, ...banners(), ...shut()])].filter((node) => !tried.has(node)));
    const now = performance.now();
    for (const node of found) {
      if (!seen.has(node)) seen.set(node, now);
      if (isLeftToAutoconsent(node, now)) setTimeout(soon, LOOK);
      else if (closing + closed < MOST) close(node);
    }
  };
  let timer = 0;
  const soon = () => {
    timer ||= setTimeout(() => { timer = 0; if (document.body) look(); }, LOOK);
  };

  function watch(tree) {
    new MutationObserver(soon).observe(tree, {
      subtree: true, childList: true, attributes: true, attributeFilter: ["class", "style", "open", "hidden", "aria-hidden", "aria-modal"],
    });
  }

  const isAtWork = () => closing > 0 || timer > 0 || consentIsAtWork();
  globalThis.archiveboxModals = {
    // Resolves with the ms that it took until nothing was being closed any more, at most so many seconds.
    calm: async (seconds) => {
      const began = performance.now();
      if (document.body && window === window.top) look();
      while (isAtWork() && performance.now() - began < seconds * 1000) await wait(50);
      const took = performance.now() - began;
      comeBack();
      return Math.round(took);
    },
  };
  if (window !== window.top) return;
  watch(document);
  soon();
})();
