#!/usr/bin/env node
"use strict";
// Keep what the page says of itself in its head, as scripts left it.
const { noresults, openPage, seconds, succeeded, tryAgain, writeAtomically } = require(process.env.HOOK_BASE + "/hook.js");

const FILE = "seo.json";
const HEAD = `(() => {
  const text = (node, name) => (node?.getAttribute(name) ?? "").slice(0, 10000);
  const all = (query) => [...document.querySelectorAll(query)].slice(0, 200);
  const meta = {};
  for (const node of all("meta[name][content], meta[property][content]"))
    (meta[text(node, "name") || text(node, "property")] ??= []).push(text(node, "content"));
  const data = all('script[type="application/ld+json"]').flatMap((node) => {
    try { return [JSON.parse(node.textContent)]; } catch { return []; }
  });
  const canonical = document.querySelector('link[rel~="canonical" i]')?.href;
  const languages = Object.fromEntries(all("link[rel~=alternate i][hreflang]").map((link) => [link.hreflang, link.href]));
  return { title: document.title, language: document.documentElement.lang, canonical, languages, meta, data };
})()`;

async function main() {
  const page = openPage(seconds("SEO"));
  const head = await page.evaluate(HEAD);
  page.close();
  if (!head.title && !head.canonical && !Object.keys(head.meta).length && !head.data.length)
    noresults("the page says nothing of itself");
  succeeded(writeAtomically(FILE, JSON.stringify(head, null, 2) + "\n"));
}

main().catch((error) => tryAgain(String(error)));
