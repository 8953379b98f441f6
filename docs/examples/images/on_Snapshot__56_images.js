#!/usr/bin/env node
// List the images of the page with their sizes.
const { noresults, openPage, seconds, setting, succeeded, tryAgain, writeAtomically } = require(
  process.env.HOOK_BASE + "/hook.js",
);

const IMAGES = `[...document.images].map((image) => (
  { url: image.currentSrc, width: image.naturalWidth, height: image.naturalHeight }
))`;

async function main() {
  const page = openPage(seconds("IMAGES"));
  const images = await page.evaluate(IMAGES);
  page.close();
  const large = images.filter((image) => image.width >= Number(setting("IMAGES_MIN_WIDTH")));
  if (!large.length) noresults("The page has no images.");
  succeeded(writeAtomically("images.json", JSON.stringify(large, null, 2) + "\n"));
}

main().catch((error) => tryAgain(error.message));
