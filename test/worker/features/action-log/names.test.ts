import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  fileName,
  folderName,
  isFileName,
  isFolderName,
} from "../../../../worker/features/action-log/names.ts";

const key = "0123456789abcdef0123456789abcdef";
const at = new Date("2026-11-21T16:13:08.123Z");

describe("the names of logs", () => {
  it("say workflow, start and action, and sort by time", () => {
    expect(folderName("tink-system/reprovision-07")).toBe("tink-system_reprovision-07");
    expect(fileName({ name: "power-off", key }, at)).toBe("20261121T161308.123Z-power-off-01234567.log");
    expect(fileName({ name: "power-off", key }, at, { wholeKey: true })).toContain(key);
  });

  it.each<[string, string]>([
    ["../../etc", "unnamed_etc"],
    ["..", "unnamed"],
    ["", "unnamed"],
    ["/etc/passwd", "unnamed_etc-passwd"],
    ["ns/a/../b", "ns_a-..-b"],
    ["ns/.hidden", "ns_hidden"],
    ["ns/--help", "ns_help"],
    ["ns/a\u0000b\nc", "ns_a-b-c"],
    ["ns_a/b_c", "ns-a_b-c"],
  ])("of %j lead nowhere else", (workflowId, expected) => {
    expect(folderName(workflowId)).toBe(expected);
  });

  it("are known again, short, and one path segment, whatever the server says", () => {
    const text = fc.string({ unit: "binary", maxLength: 300 });

    fc.assert(
      fc.property(text, text, fc.boolean(), (workflowId, name, wholeKey) => {
        const folder = folderName(workflowId);
        const file = fileName({ name, key }, at, { wholeKey });

        expect(isFolderName(folder)).toBe(true);
        expect(isFileName(file)).toBe(true);
        expect(Math.max(folder.length, file.length)).toBeLessThanOrEqual(255);
        expect(`${folder}${file}`).not.toMatch(/[/\\\p{Cc}]/u);
      }),
      { numRuns: 50 },
    );
  });

  it("of others are not taken for ours", () => {
    const names = [
      "power-off.log",
      "20261121T161308.123Z-x-01234567.log.gz",
      "20261121-x-01234567.log",
      "a.json",
    ];

    expect(names.filter(isFileName)).toEqual([]);
    expect([".git", "a b", "-x"].filter(isFolderName)).toEqual([]);
  });
});
