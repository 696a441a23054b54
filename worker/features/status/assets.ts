import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { elapsedText } from "../../../shared/duration.ts";
import type { Route } from "../../listener/http/route.ts";
import { PAGE_HEADERS } from "./headers.ts";

/** A file that never changes under its name, which contains a hash of its content. */
interface Asset {
  readonly path: string;
  readonly type: string;
  readonly text: string;
  readonly etag: string;
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b57b7"/>
<path d="M16 6v10M10 10a9 9 0 1 0 12 0" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>`;

export const assets = {
  style: asset("style", "css", "text/css", readText("files/style.css")),
  script: asset("script", "js", "text/javascript", scriptText()),
  icon: asset("icon", "svg", "image/svg+xml", icon),
};

/** With the pages' own form of durations. */
function scriptText(): string {
  return `const elapsedText = ${elapsedText};\n${readText("files/script.js")}`;
}

/** A bundle has the texts in place of these calls: `scripts/bundle/text-files-plugin.ts`. */
function readText(file: string): string {
  return readFileSync(join(import.meta.dirname, file), "utf8");
}

function asset(name: string, extension: string, type: string, text: string): Asset {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return {
    path: `/assets/${name}-${hash}.${extension}`,
    type: `${type}; charset=utf-8`,
    text,
    etag: `"${hash}"`,
  };
}

export const assetRoutes: readonly Route[] = Object.values(assets).map(({ path, type, text, etag }) => ({
  path,
  handle(request, response) {
    const headers = {
      ...PAGE_HEADERS,
      "Cache-Control": "public, max-age=31536000, immutable",
      ETag: etag,
    };
    const known = request.headers["if-none-match"]
      ?.split(",")
      .some((tag) => tag.trim().replace(/^W\//, "") === etag);
    if (known) {
      response.writeHead(304, headers).end();
      return;
    }
    response.writeHead(200, { ...headers, "Content-Type": type, "Content-Length": Buffer.byteLength(text) });
    response.end(text);
  },
}));
