import { expect, test } from "vitest";
import { problemReport } from "../../../worker/document/problem-report.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";

const inventory = 'cn9"inv&/+%7f';

test.each([
  ["in a key that is refused", `machines: [{name: a, host: h, password: '${inventory}'}]`],
  [
    "below a key that is refused",
    `machines: [{name: a, host: h, credentials: {password: {is: '${inventory}'}}}]`,
  ],
  ["in place of a list", `machines: '${inventory}'`],
  [
    "in place of a file's name",
    `machines: [{name: a, host: h, credentials: {username: u, passwordFile: ['${inventory}']}}]`,
  ],
  [
    "as a name of a variable",
    `machines: [{name: a, host: h, credentials: {username: u, passwordEnv: '${inventory}'}}]`,
  ],
  ["behind a scheme", `machines: [{name: a, host: 'https://admin:${inventory}@192.0.2.1'}]`],
  ["as an alias", `machines: [{name: a, host: h, password: *${inventory}}]`],
  ["as a tag", `machines: [{name: a, host: h, password: !${inventory}}]`],
  ["as a block", `machines:\n  - name: a\n    password: |${inventory}\n`],
  ["in broken syntax", `machines:\n  - name: a\n    password: x: ${inventory}\n   - {`],
  [
    "as a command's argument of the wrong kind",
    `machines: [{name: a, host: h, credentials: {command: '${inventory}'}}]`,
  ],
])("no text of a malformed inventory appears in its problems: %s", (_, text) => {
  const parsed = parseInventory({ path: "malformed.yaml", text, env: {}, readFile: () => "" });

  const report = problemReport("pbnj-worker start", parsed.ok ? [] : parsed.problems);
  expect(parsed.ok).toBe(false);
  expect(report).toContain("malformed.yaml");
  expect(report).not.toContain("cn9");
});
