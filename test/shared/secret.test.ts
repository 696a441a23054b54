import { inspect } from "node:util";
import { expect, test } from "vitest";
import { Secret } from "../../shared/secret.ts";

test("a secret opens for reveal and for nothing else", () => {
  const secret = new Secret("canary-1");

  const shown = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ secret }, { showHidden: true, depth: 5 }),
  ];

  expect(secret.reveal()).toBe("canary-1");
  for (const text of shown) expect(text).not.toContain("canary-1");
});
