// What scrolls the page: the window, or the largest part of it that has a bar of its own where the window has none.
var scroller = (() => {
  const root = document.scrollingElement ?? document.documentElement;
  const SLACK = 2; // px that rounding leaves at the end
  const area = (node) => node.clientWidth * node.clientHeight;
  const scrolls = (node) => node.scrollHeight > node.clientHeight + SLACK && /auto|scroll/.test(getComputedStyle(node).overflowY);
  const choose = () => {
    if (root.scrollHeight > innerHeight + SLACK) return root;
    const parts = [...document.querySelectorAll("body, main, div, section, article, ul")].slice(0, 5000);
    return parts.filter((node) => area(node) > innerWidth * innerHeight / 4 && scrolls(node)).sort((a, b) => area(b) - area(a))[0] ?? root;
  };
  const drawn = () => new Promise((resolve) => {
    requestAnimationFrame(() => requestAnimationFrame(resolve)); // observers are told between two frames
    setTimeout(resolve, 300); // a page that is never drawn goes on as well
  });
  const scroller = choose();
  let moved = false; // has anything of the page changed?
  new MutationObserver(() => { moved = true; })
    .observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const where = () => ({
    height: scroller.scrollHeight,
    atEnd: scroller.scrollTop + scroller.clientHeight >= scroller.scrollHeight - SLACK,
  });
  const to = async (top) => (scroller.scrollTo({ top, behavior: "instant" }), await drawn(), where());
  return {
    where,
    moved: () => moved || scroller !== root, // who listens to a part of the page is not known
    down: () => to(scroller.scrollTop + scroller.clientHeight * 0.9),
    back: () => to(0),
  };
})();
