import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { projectRoot } from "../../scripts/project-root.ts";
import { PARTS } from "./parts.ts";

test.each(Object.entries(PARTS))("the part %s names files that there are", (_, { mutate, testFiles }) => {
  const missing = [...mutate, ...testFiles].flatMap((pattern) =>
    alternatives(pattern).filter((one) => globSync(one, { cwd: projectRoot }).length === 0),
  );

  expect(missing).toEqual([]);
});

/** `a/{b,c}.ts` as `a/b.ts` and `a/c.ts`. */
function alternatives(pattern: string): readonly string[] {
  const [, before = "", names, after = ""] = /^([^{]*)\{([^}]*)\}(.*)$/.exec(pattern) ?? [];
  return names === undefined
    ? [pattern]
    : names.split(",").flatMap((name) => alternatives(before + name + after));
}
