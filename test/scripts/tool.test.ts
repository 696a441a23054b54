import { execa } from "execa";
import { expect, it } from "vitest";
import { projectRoot } from "../../scripts/project-root.ts";
import { count, wholeNumber } from "../../scripts/tool.ts";

it("a tool ends with exit code 2 and one line at a flag that it does not understand", async () => {
  const { exitCode, stderr } = await execa(process.execPath, ["scripts/packages.ts", "--outputt", "x"], {
    ...{ cwd: projectRoot, reject: false, stdin: "ignore" },
  });

  expect([exitCode, stderr.split("\n")[0]]).toEqual([2, "error: unknown option '--outputt'"]);
});

it.each(["", "-1", "1.5", "1e3", "x", "1000000000"])("takes no %j for a whole number", (text) => {
  expect(() => wholeNumber(text)).toThrow("not a whole number");
});

it("takes no 0 for a count", () => {
  expect(wholeNumber("0")).toBe(0);
  expect(count("12")).toBe(12);
  expect(() => count("0")).toThrow("above 0");
});
