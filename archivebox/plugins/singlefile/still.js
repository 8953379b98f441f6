// What a file without scripts shows otherwise is said in attributes while SingleFile works, and taken back afterwards.
// Without scripts a canvas is no picture but an empty element (HTML 4.12.5), whose background, into which SingleFile puts
// what was drawn, has no size. A video that a script feeds has no address: its present frame becomes its poster.
(() => {
  const LARGEST = 2000; // pixels of a side of a poster
  const before = []; // [element, attribute, value]

  const trees = () => {
    const found = [document];
    for (let number = 0; number < found.length; number++)
      for (const node of found[number].querySelectorAll("*")) {
        const root = shown.rootOf(node);
        if (root) found.push(root);
      }
    return found;
  };
  const note = (node, name) => before.push([node, name, node.getAttribute(name)]);

  const sized = (canvas) => {
    const { width, height, display } = getComputedStyle(canvas);
    if (display === "none") return;
    note(canvas, "style");
    for (const [name, value] of Object.entries({ width, height, display: display === "inline" ? "inline-block" : display }))
      canvas.style.setProperty(name, value, "important");
  };
  const posed = (video) => {
    if (video.hasAttribute("poster") || video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA || !video.videoWidth) return;
    const scale = Math.min(1, LARGEST / Math.max(video.videoWidth, video.videoHeight));
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [video.videoWidth * scale, video.videoHeight * scale];
    canvas.getContext("2d").drawImage(video, 0, 0, canvas.width, canvas.height);
    try {
      const picture = canvas.toDataURL("image/png");
      note(video, "poster");
      video.setAttribute("poster", picture);
    } catch (error) {
      if (error.name !== "SecurityError") throw error; // of another origin, which does not let anybody read it
    }
  };

  globalThis.still = {
    begin: () => {
      for (const tree of trees()) {
        for (const canvas of tree.querySelectorAll("canvas")) sized(canvas);
        for (const video of tree.querySelectorAll("video")) posed(video);
      }
    },
    end: () => {
      for (const [node, name, value] of before.splice(0).reverse())
        if (value === null) node.removeAttribute(name);
        else node.setAttribute(name, value);
    },
  };
})();
