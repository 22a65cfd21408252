/**
 * Build the page into a folder: node build.mjs DIR. The same sources give the same bytes.
 *
 * What the page and its worker need of the engine's modules goes into main.js and engine/worker.js: fewer files to wait
 * for, and some hosts send .mjs files with a type that browsers refuse to run.
 */
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, "../tienlen_table/server/static"));
await mkdir(out, { recursive: true });
// The modules lie side by side in a built folder, and in two folders in the sources.
const engine = {
  name: "engine",
  setup(builder) {
    const source = path.resolve(here, "../tienlen_table/engine/engine.mjs");
    builder.onResolve({ filter: /^\.\/engine\.mjs$/ }, () => ({ path: source }));
  },
};
await build({
  absWorkingDir: here,
  entryPoints: [
    { in: "src/main.tsx", out: "main" },
    { in: "src/style.css", out: "style" },
    { in: "src/sw.js", out: "sw" },
    { in: "../tienlen_table/wasm/worker.mjs", out: "engine/worker" },
  ],
  outdir: out,
  plugins: [engine],
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome111", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  banner: { js: "/*! Contains Preact and qrcode-generator; their licences are in licenses.txt */" },
  charset: "utf8",
  logLevel: "warning",
});
const licences = await Promise.all(
  ["preact", "qrcode-generator"].map((name) =>
    readFile(path.join(here, `../../../licenses/${name}.txt`), "utf8"),
  ),
);
await writeFile(path.join(out, "licenses.txt"), licences.join("\n"));
for (const name of ["index.html", "icon.svg", "icon.png", "manifest.webmanifest", "puzzles.txt"])
  await copyFile(path.join(here, "src", name), path.join(out, name));
