import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseChangelog } from "../../scripts/changelog.ts";
import { readManifest } from "../../scripts/manifest.ts";

const projectRoot = join(import.meta.dirname, "../..");

describe("reading a changelog", () => {
  it("gives each release's date and its changes by kind, as plain lines", () => {
    const text = [
      "# Changelog",
      "",
      "All that changed.",
      "",
      "## [1.1.0] - unreleased",
      "",
      "### Security",
      "",
      "- **Passwords** stay out of `argv`,",
      "  see [the design](docs/architecture.md).",
      "",
      "## [1.0.0] - 2026-01-31",
      "### Fixed",
      "* One thing",
      "- Another",
      "",
      "[1.0.0]: https://example.org/releases/1.0.0",
    ].join("\n");

    expect(parseChangelog(text)).toEqual([
      {
        version: "1.1.0",
        changes: [
          { kind: "security", description: "Passwords stay out of argv, see the design.", code: ["argv"] },
        ],
      },
      {
        version: "1.0.0",
        date: "2026-01-31",
        changes: [
          { kind: "fixed", description: "One thing", code: [] },
          { kind: "fixed", description: "Another", code: [] },
        ],
      },
    ]);
  });

  it.each([
    ["## 1.0.0 (2026)", /line 1: not a release/],
    ["## [1.0.0] - 2026-02-31", /line 1: no such date/],
    ["## [1.0.0]\n### New", /line 2: not one of added, changed/],
    ["## [1.0.0]\n- a change", /line 2: a change without a kind/],
    ["## [1.0.0]\n### Added\n  a change", /line 3: continues no change/],
    ["## [1.0.0]\n### Added\na change", /line 3: neither a heading nor a change/],
  ])("refuses %j and names the line", (text, message) => {
    expect(() => parseChangelog(text)).toThrow(message);
  });

  it("finds this version with changes in this project's own", async () => {
    const { version } = await readManifest(projectRoot);

    const releases = parseChangelog(await readFile(join(projectRoot, "CHANGELOG.md"), "utf8"));

    expect(releases.map((release) => release.version)).toContain(version);
    for (const release of releases) expect(release.changes).not.toEqual([]);
  });
});
