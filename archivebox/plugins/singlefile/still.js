// What a file without scripts shows otherwise is said in attributes while SingleFile works, and taken back afterwards.
// Without scripts a canvas is no picture but an empty element (HTML 4.12.5), whose background, into which SingleFile puts
// what was drawn, has no size. A video that a script feeds has no address: its present frame becomes its poster. Without
// scripts browsers draw controls over each video (HTML 4.8.11.13), also where the page had none. SingleFile does not find
// the pictures that image-set() names by strings: an element that shows one gets the one that it shows as its own.
(() => {
  const LARGEST = 2000; // pixels of a side of a poster
  const CONTROLS = "archivebox-without-controls";
  const HIDDEN = `video[${CONTROLS}]::-webkit-media-controls { display: none !important }`;
  const SET = /(?:-webkit-)?image-set\((?:[^()"]|"(?:[^"\\]|\\.)*"|\((?:[^()"]|"(?:[^"\\]|\\.)*")*\))*\)/g;
  const CHOICE = /(url\("(?:[^"\\]|\\.)*"\))\s+([\d.]+)dppx(?:\s+type\("([^"]*)"\))?/g; // as computed styles have it
  const DRAWN = /^(image\/(apng|avif|bmp|gif|jpeg|png|svg\+xml|webp|x-icon|vnd\.microsoft\.icon))?$/;
  const before = []; // [element, attribute, value]
  const added = []; // styles

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
      const picture = canvas.toDataURL("image/webp", 1); // without loss; a PNG would be packed again, with loss
      note(video, "poster");
      video.setAttribute("poster", picture);
    } catch (error) {
      if (error.name !== "SecurityError") throw error; // of another origin, which does not let anybody read it
    }
  };

  const bared = (video) => {
    if (video.controls) return;
    note(video, CONTROLS);
    video.setAttribute(CONTROLS, "");
  };
  const styled = (tree, videos) => {
    if (!videos.some((video) => video.hasAttribute(CONTROLS))) return;
    const style = document.createElement("style");
    style.textContent = HIDDEN;
    (tree.head ?? tree).append(style);
    added.push(style);
  };
  const chosen = (set) => {
    const choices = [...set.matchAll(CHOICE)].filter(([, , , type]) => DRAWN.test(type ?? ""));
    choices.sort(([, , one], [, , other]) => one - other);
    return (choices.find(([, , density]) => density >= devicePixelRatio) ?? choices.at(-1))?.[1] ?? set;
  };
  const settled = (node) => {
    const value = getComputedStyle(node).backgroundImage;
    if (!value.includes("image-set(")) return;
    note(node, "style");
    node.style.setProperty("background-image", value.replace(SET, chosen), "important");
  };

  globalThis.still = {
    begin: () => {
      for (const tree of trees()) {
        for (const canvas of tree.querySelectorAll("canvas")) sized(canvas);
        const videos = [...tree.querySelectorAll("video")];
        for (const video of videos) posed(video);
        for (const video of videos) bared(video);
        styled(tree, videos);
        for (const node of tree.querySelectorAll("*")) settled(node);
      }
    },
    end: () => {
      for (const style of added.splice(0)) style.remove();
      for (const [node, name, value] of before.splice(0).reverse())
        if (value === null) node.removeAttribute(name);
        else node.setAttribute(name, value);
    },
  };
})();
