// What can be seen of the page at this moment, and whether it looks as if it were still being made.
(() => {
  const root = document.documentElement, wide = innerWidth, high = innerHeight;
  if (!root) return { shape: "", animations: 0, pictures: 0, fonts: false, signs: ["no words yet"], sinceLoad: 0 };
  const round = (box) => [box.x, box.y, box.width, box.height].map(Math.round);
  const seen = (x, y) => {
    const element = document.elementFromPoint(x, y);
    if (!element) return "";
    return [element.localName, ...round(element.getBoundingClientRect()), element.currentSrc, element.childNodes.length];
  };
  const steps = [0.02, 0.14, 0.26, 0.38, 0.5, 0.62, 0.74, 0.86, 0.98];
  const shape = [root.scrollWidth, root.scrollHeight, ...steps.flatMap((y) => steps.map((x) => seen(x * wide, y * high)))];
  const covers = (element) => {
    for (; element && element !== document.body && element !== root; element = element.parentElement) {
      const box = element.getBoundingClientRect();
      if (getComputedStyle(element).position === "fixed" && box.width * box.height > 0.9 * wide * high) return true;
    }
    return false;
  };
  const ends = document.getAnimations().filter((one) => one.playState === "running")
    .map((one) => one.effect ? one.effect.getComputedTiming().endTime - (one.currentTime ?? 0) : 0);
  const load = performance.getEntriesByType("navigation")[0]?.loadEventEnd;
  return {
    shape: shape.join(),
    animations: ends.filter((left) => left < ENDLESS).length,
    pictures: [...document.images].slice(0, MOST).filter((image) => !image.complete && image.loading !== "lazy").length,
    fonts: document.fonts.status === "loading",
    signs: [
      ends.some((left) => left >= ENDLESS) && "an animation without end",
      covers(document.elementFromPoint(wide / 2, high / 2)) && "a cover over the page",
      Boolean(document.querySelector("[aria-busy=true]")) && "parts that say they are busy",
      document.scripts.length > 0 && !(document.body?.innerText.trim()) && !document.images.length && "no words yet",
    ].filter(Boolean),
    sinceLoad: load ? (performance.now() - load) / 1000 : 0,
  };
})()
