import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { apiSections } from "../../scripts/library-api/api-page.ts";

async function sectionsOf(source: string): Promise<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "pbnj-api-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "index.ts"), 'export type { Report } from "./report.ts";\n');
  await writeFile(join(folder, "report.ts"), source);
  return apiSections(join(folder, "index.ts"));
}

it("shows each field with its type, whether it is required, and its comment", async () => {
  const source = `/** Result. */
export interface Report {
  /** How long it took. */
  readonly tookMs: number;
  /** @internal */
  readonly clock?: Clock;
  /** Its parts. */
  readonly parts?: readonly {
    /** Their name. */
    readonly name: "a" | "b";
  }[];
}
`;

  expect(await sectionsOf(source)).toEqual([
    [
      ...["## Report", "", "Result.", ""],
      "| field | type | required | description |",
      "| --- | --- | --- | --- |",
      "| `tookMs` | number of milliseconds | yes | How long it took. |",
      "| `parts` | array of objects | no | Its parts. |",
      '| `parts[].name` | `"a" \\| "b"` | yes | Their name. |',
    ].join("\n"),
  ]);
});

it.each([
  ["export interface Report {}", /Report lacks a doc comment/],
  ["/** A. */\nexport interface Report {\n  readonly a: string;\n}", /a lacks a doc comment/],
  [
    "/** A. */\nexport interface Report {\n  /** B. */\n  readonly a: Hidden;\n}",
    /Hidden is public, but not exported/,
  ],
])("refuses %j", async (source, message) => {
  await expect(sectionsOf(source)).rejects.toThrow(message);
});
