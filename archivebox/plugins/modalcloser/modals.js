// Closes windows that lie over the page, follows autoconsent where it is there, and tells what came of it:
// {kind: "banner" | "window", by, name, closed}. Runs in a world of its own, in every frame, before the page does.
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
      if (message.type === "optOutResult")
        tell({ kind: "banner", by: "autoconsent", name: message.cmp, closed: message.result });
    };
  }

  // --- windows

  const seen = new Map(); // window: when
  const tried = new WeakSet();
  let closing = 0, closed = 0;
  const isVisible = (node) => node.isConnected && node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const isFixed = (node) => node.matches(":modal")
    || (node !== document.body && node !== null && (getComputedStyle(node).position === "fixed" || (node.parentElement !== null && isFixed(node.parentElement))));
  const isModal = (node) => node.matches(':modal, [aria-modal="true"]') || node.querySelector('[aria-modal="true"]') !== null;
  const share = (node) => {
    const box = node.getBoundingClientRect();
    const width = Math.min(box.right, innerWidth) - Math.max(box.left, 0), height = Math.min(box.bottom, innerHeight) - Math.max(box.top, 0);
    return width > 0 && height > 0 ? (width * height) / (innerWidth * innerHeight) : 0;
  };
  const isInTheMiddle = (node) => [0.2, 0.35, 0.5].some((part) => node.contains(document.elementFromPoint(innerWidth / 2, innerHeight * part)));
  const covers = (node) => isVisible(node) && isFixed(node) && share(node) > 0 && (isModal(node) || share(node) >= 0.25 || isInTheMiddle(node));
  const isThePage = (node) => node.innerText.length * 2 > document.body.innerText.length;
  const nameOf = (node) => {
    const labelled = node.matches("[aria-label]") ? node : node.querySelector("[aria-label][role], [aria-label][aria-modal]");
    const words = labelled?.ariaLabel || node.querySelector("h1, h2, h3, h4")?.textContent || node.id || node.className;
    return String(words).trim().replace(/\s+/g, " ").slice(0, 60);
  };
  const closer = (node) => [...node.querySelectorAll(BUTTONS)].find((button) => isVisible(button)
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
  const ways = (node) => {
    const button = closer(node);
    return [
      ...(button ? [["its button", () => button.click()]] : []),
      ["Escape", () => escape(node)],
      ...(isThePage(node) ? [] : [["removed", () => node.remove()]]),
    ];
  };
  const unlock = () => {
    for (const node of [document.documentElement, document.body]) {
      const style = getComputedStyle(node);
      if (style.overflowY === "hidden") node.style.setProperty("overflow", "visible", "important");
      if (style.position === "fixed") node.style.setProperty("position", "static", "important");
    }
  };

  const close = async (node) => {
    const name = nameOf(node);
    tried.add(node);
    closing += 1;
    try {
      for (const [by, act] of ways(node)) {
        await staying(act);
        if (covers(node)) continue;
        unlock();
        closed += 1;
        return tell({ kind: "window", by, name, closed: true });
      }
      tell({ kind: "window", by: "", name, closed: false });
    } finally {
      closing -= 1;
    }
  };
  const isLeftToAutoconsent = (node, now) => autoconsent && now - seen.get(node) < CONSENT_TIME
    && [...BEGINS, ...AT_WORK].includes(state().lifecycle) && CONSENT.test(`${node.id} ${node.className} ${node.innerText.slice(0, 2000)}`);
  const look = () => {
    const found = [...document.querySelectorAll(WINDOWS)].filter((node) => !tried.has(node) && covers(node));
    const outermost = found.filter((node) => !found.some((other) => other !== node && other.contains(node)));
    const now = performance.now();
    for (const node of outermost) {
      if (!seen.has(node)) seen.set(node, now);
      if (isLeftToAutoconsent(node, now)) setTimeout(soon, LOOK);
      else if (closing + closed < MOST) close(node);
    }
  };
  let timer = 0;
  const soon = () => {
    timer ||= setTimeout(() => { timer = 0; if (document.body) look(); }, LOOK);
  };

  const isAtWork = () => closing > 0 || timer > 0 || consentIsAtWork();
  globalThis.archiveboxModals = {
    // Resolves with the ms that it took until nothing was being closed any more, at most so many seconds.
    calm: async (seconds) => {
      const began = performance.now();
      while (isAtWork() && performance.now() - began < seconds * 1000) await wait(50);
      return Math.round(performance.now() - began);
    },
  };
  if (window !== window.top) return;
  new MutationObserver(soon).observe(document, {
    subtree: true, childList: true, attributes: true, attributeFilter: ["class", "style", "open", "hidden", "aria-hidden", "aria-modal"],
  });
  soon();
})();
