import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { chromium } from "playwright-core";
import { projectRoot } from "./project-root.ts";

/** The README's picture of the demo's end: what `npm run demo` prints last, as a terminal shows it. Part of `npm run screenshots`. */
const FILE = join(projectRoot, "docs/pictures/demo.png");
/** The tables follow the last line of the progress, and a blank line. */
const TABLES = /^machine +action /m;

const { stdout } = await execa(process.execPath, [join(projectRoot, "examples/demo/main.ts")]);
const text = `$ npm run demo\n…\n${stdout.slice(stdout.search(TABLES))}`;
const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const style =
  "margin:0;padding:16px 20px;display:inline-block;background:#1b1f24;color:#e6edf3;font:14px/1.35 'DejaVu Sans Mono',monospace";

const browser = await chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium" });
try {
  const page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
  await page.setContent(`<body style="margin:0"><pre style="${style}">${escaped}</pre></body>`);
  await mkdir(dirname(FILE), { recursive: true });
  await page.locator("pre").screenshot({ path: FILE });
} finally {
  await browser.close();
}
process.stdout.write(`${FILE}\n`);
