/** Build the page into a folder: node build.mjs DIR. The same sources give the same bytes. */
import { copyFile, mkdir } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = path.resolve(process.argv[2] ?? path.join(here, "../agents/tienlen_agents/web/static"));
await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: ["src/main.tsx", "src/style.css"],
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: ["chrome111", "firefox113", "safari16.4"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  charset: "utf8",
  logLevel: "warning",
});
for (const name of ["index.html", "icon.svg"]) await copyFile(path.join(here, "src", name), path.join(out, name));
