import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runProgram } from "../../cli/program.ts";
import { fileFolder } from "../../support/test-folder.ts";

const { folder } = await fileFolder();
async function file(text: string): Promise<string> {
  const path = join(folder, "inventory.yaml");
  await writeFile(path, text);
  return path;
}

it("pbnj-worker drift lists every problem of its command line, and exits with 2", async () => {
  const path = await file("machines: [{name: node-1, host: h}]\n");
  const flags = ["--machine", "node-2,node-1", "--concurrency", "0", "--output", "jsn", "--enforced", "--al"];

  const { exitCode, stdout, stderr } = await runProgram(["drift", "--inventory", path, ...flags]);

  expect(stderr.split("\n").map((line) => line.replace("pbnj-worker drift: ", ""))).toEqual([
    "unknown flag --enforced, did you mean --enforce?",
    "unknown flag --al",
    "--concurrency is not a whole number from 1 to 1000",
    `--machine "node-2" matches no machine of ${path}, did you mean node-1?`,
    "--output is not one of auto, table, json, yaml, did you mean json?",
    `${path} has no desired state for any of these machines: add desired to their entries`,
    "See pbnj-worker drift --help.",
  ]);
  expect(stdout).toBe("");
  expect(exitCode).toBe(2);
});

it("pbnj-worker drift prints a row per machine that has a desired state", async () => {
  const desired = "providers: [redfish], redfish: {port: 1}, desired: {power: on}";
  const path = await file(`machines:
  - {name: node-1, host: 127.0.0.1, credentials: {username: u, passwordEnv: PASS}, ${desired}}
  - {name: node-2, host: 127.0.0.1}
`);

  const argv = ["drift", "--inventory", path, "--all", "--output", "table"];
  const { exitCode, stdout, stderr } = await runProgram(argv, { PASS: "canary-77" });

  expect(stdout.split("\n")).toEqual([
    expect.stringMatching(/^machine {2}state {8}differences$/),
    expect.stringMatching(/^node-1 {3}unreachable {2}redfish: /),
  ]);
  expect(stderr.split("\n")).toEqual([
    "node-1: reading",
    "pbnj-worker drift: 1 machine: 1 unreachable, 1 without a desired state skipped",
  ]);
  expect(exitCode).toBe(11);
});
