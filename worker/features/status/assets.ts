import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { elapsedText } from "../../../shared/duration.ts";
import type { Route } from "../../listener/http/route.ts";
import { PAGE_HEADERS, send } from "./headers.ts";

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57b7"/>
<path d="M16 6v10M10 10a9 9 0 1 0 12 0" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>`;
// The script uses the same format of durations as the pages.
const script = `const elapsedText = ${elapsedText};\n${readText("files/script.js")}`;

/** Files whose names contain a hash of their content, so that they never change under their name. */
export const assets = {
  style: asset("style", "css", "text/css", readText("files/style.css")),
  script: asset("script", "js", "text/javascript", script),
  icon: asset("icon", "svg", "image/svg+xml", icon),
};

/** Pages of the documentation that the worker serves itself. */
export const manuals = {
  classes: readText("../../../docs/reference/error-classes.md"),
  troubleshooting: readText("../../../docs/reference/troubleshooting.md"),
};

/** Reads a text file. A bundle replaces these calls with the texts: `scripts/bundle/text-files-plugin.ts`. */
function readText(file: string): string {
  return readFileSync(join(import.meta.dirname, file), "utf8");
}

function asset(name: string, extension: string, type: string, text: string) {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return { path: `/assets/${name}-${hash}.${extension}`, type, text, etag: `"${hash}"` };
}

export const assetRoutes: readonly Route[] = Object.values(assets).map(({ path, type, text, etag }) => ({
  path,
  handle(request, response) {
    const caching = { "Cache-Control": "public, max-age=31536000, immutable", ETag: etag };
    const headers = { ...PAGE_HEADERS, ...caching };
    const tags = request.headers["if-none-match"]?.split(",").map((tag) => tag.trim().replace(/^W\//, ""));
    if (tags?.includes(etag)) response.writeHead(304, headers).end();
    else send(response, 200, type, text, headers);
  },
}));
