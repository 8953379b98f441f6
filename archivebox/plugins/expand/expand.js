// Opens what the page keeps folded and returns how many parts that were: {details, parts, stopped}.
async (most, seconds) => {
  const ROUNDS = 3; // what was opened may hold more of the kind
  const PAUSE = 100; // ms for the page to put in what a click asked for
  const MORE = /^\W*((read|show|see|view|load) (more|all|full|the rest)|continue reading|expand( all)?|more|mehr( anzeigen| lesen)?|weiterlesen|(lire|voir|afficher) (la suite|plus|tout)|(leer|ver|mostrar) (más|todo)|(leggi|mostra) (di più|tutto)|meer (lezen|weergeven)|もっと(見る|読む)|続きを読む|展开(全文)?|阅读全文|查看更多)\b.{0,30}$/iu;
  const FOLDED = 'button, [role="button"], a:not([href]), a[href^="#"], a[href^="javascript:"], [aria-expanded="false"]';
  // Menus, searches and forms are not text of the page; a click there hides or sends something.
  const ELSEWHERE = 'nav, form, menu, [role="navigation"], [role="menubar"], [role="menu"], [role="search"], [role="dialog"], [role="combobox"], [role="tablist"]';
  const TOOL = 'input, select, textarea, [type="search"], [role="searchbox"], [role="menuitem"]';
  // What a button is called that opens a tool of the site; one that has words says more where it opens text.
  const TOOLS = /\b(search|menu|navigation|sidebar|table of contents|theme|language|settings|share|sign in|log in|suche|menü|recherche|rechercher|buscar|cerca|zoeken|menú)\b|検索|メニュー|搜索|菜单/iu;
  const end = performance.now() + seconds * 1000;
  const done = new WeakSet();
  const opened = { details: 0, parts: 0, stopped: "" };

  const opensTool = (node) => {
    const part = document.getElementById(node.getAttribute("aria-controls"));
    if (part && (part.matches(TOOL) || part.closest(ELSEWHERE) || part.querySelector('[type="search"], [role="menuitem"]'))) return true;
    const words = node.textContent.trim();
    const name = words || node.getAttribute("aria-label") || node.title || "";
    return TOOLS.test(name) && (!words || name.replace(TOOLS, "").trim() === "");
  };
  const isFolded = (node) => {
    if (done.has(node) || node.disabled || node.matches('[aria-haspopup]:not([aria-haspopup="false"])')) return false;
    if (node.matches('a[href]:not([href^="#"], [href^="javascript:"])') || node.closest(ELSEWHERE) || opensTool(node)) return false;
    if (!node.checkVisibility({ visibilityProperty: true })) return false;
    const state = node.getAttribute("aria-expanded");
    return state === "false" || (state === null && MORE.test(node.textContent.trim().slice(0, 100)));
  };
  const isOver = () => {
    if (opened.details + opened.parts >= most) opened.stopped = `at ${most} parts`;
    else if (performance.now() >= end) opened.stopped = `after ${seconds} s`;
    return opened.stopped !== "";
  };
  // A click that would leave the page leads nowhere.
  const stay = (event) => event.cancelable && !event.destination.sameDocument && event.preventDefault();
  const open = (node, count) => {
    if (count === "details") node.open = true;
    else { done.add(node); node.click(); }
    opened[count] += 1;
  };

  navigation.addEventListener("navigate", stay);
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const before = opened.details + opened.parts;
      for (const node of document.querySelectorAll("details:not([open])")) {
        if (isOver()) return opened;
        node.removeAttribute("name"); // one of a group would close the others
        open(node, "details");
      }
      for (const node of document.querySelectorAll(FOLDED)) {
        if (isOver()) return opened;
        if (isFolded(node)) open(node, "parts");
      }
      if (opened.details + opened.parts === before) break;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  } finally {
    navigation.removeEventListener("navigate", stay);
  }
  return opened;
}
