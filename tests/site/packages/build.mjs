// Bundles the applications of the local web into the folder that it is given: node build.mjs FOLDER
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { compile } from "svelte/compiler";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2]);
const svelte = {
  name: "svelte",
  setup: (hooks) => hooks.onLoad({ filter: /\.svelte$/ }, async ({ path: filename }) => {
    const source = await readFile(filename, "utf8");
    return { contents: compile(source, { filename, generate: "client", dev: false }).js.code, loader: "js" };
  }),
};
const define = {
  "process.env.NODE_ENV": '"production"',
  __VUE_OPTIONS_API__: "true",
  __VUE_PROD_DEVTOOLS__: "false",
  __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: "false",
};
const shared = { absWorkingDir: here, bundle: true, minify: true, outdir: out, define, logLevel: "warning" };
const preact = { jsx: "automatic", jsxImportSource: "preact" };

await build({
  ...shared,
  entryPoints: ["react.jsx", "svelte.js", "solid.js", "lit.js", "reveal.js", "stream.js"],
  format: "iife",
  jsx: "automatic",
  conditions: ["browser", "production"],
  plugins: [svelte],
});
await build({ ...shared, entryPoints: ["vue.js"], format: "esm", splitting: true, chunkNames: "[name]-[hash]" });
await build({ ...shared, ...preact, entryPoints: ["hydrated-client.jsx"], format: "iife" });
await build({ ...shared, ...preact, entryPoints: ["hydrated-server.jsx"], format: "esm", platform: "node", outExtension: { ".js": ".mjs" } });

const { items } = JSON.parse(await readFile(path.join(here, "shop.json"), "utf8"));
const { rendered } = await import(pathToFileURL(path.join(out, "hydrated-server.mjs")));
await writeFile(path.join(out, "hydrated.html"), rendered(items));

await mkdir(path.join(out, "modules"), { recursive: true });
for (const [module, name] of [["preact", "preact.js"], ["preact/hooks", "hooks.js"]]) {
  await cp(fileURLToPath(import.meta.resolve(module)), path.join(out, "modules", name));
}
