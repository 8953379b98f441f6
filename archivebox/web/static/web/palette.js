// The palette: Ctrl or Cmd and K open it, the arrows choose, Enter goes there. The server says what is offered.
"use strict";
{
  const palette = document.getElementById("palette"), box = document.getElementById("palette-q");
  const links = () => [...palette.querySelectorAll("a")];
  const current = () => palette.querySelector("[aria-current]");

  function choose(link) {
    current()?.removeAttribute("aria-current");
    link?.setAttribute("aria-current", "true");
    link?.scrollIntoView({block: "nearest"});
  }

  document.addEventListener("keydown", event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k" && palette && !palette.open) {
      event.preventDefault();
      document.querySelector("dialog[open]")?.close();
      palette.showModal();
      box.select();
      htmx.trigger(box, "opened");
    }
  });
  palette?.addEventListener("keydown", event => {
    const all = links(), at = all.indexOf(current());
    const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (by) choose(all[(at + by + all.length) % all.length]);
    else if (event.key === "Enter" && current()) current().click();
    else return;
    event.preventDefault();
  });
  palette?.addEventListener("htmx:afterSwap", () => choose(links()[0]));
}
