import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { addReports, refreshTestedHardware } from "../../scripts/tested-hardware.ts";
import { readRecording } from "../../shared/recording/read-recording.ts";
import type { Recording } from "../../shared/recording/recording.ts";
import { testFolder } from "../support/test-folder.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGE = join(ROOT, "docs/reference/tested-hardware.md");
const MACHINE = { vendor: "Contoso", model: "R1/b (2U)", bmcFirmware: "1.2.3", recordedOn: "2026-11-02" };

async function folder(): Promise<string> {
  const { folder: made } = await testFolder();
  return made;
}

async function written(report: Partial<Recording>): Promise<string> {
  const file = join(await folder(), "check.json.gz");
  await writeFile(file, JSON.stringify(report));
  return file;
}

const checked = (checks: readonly (readonly [string, string, string])[]): Partial<Recording> => ({
  ...MACHINE,
  action: {
    ...{ name: "check", ok: true, message: "" },
    checks: checks.map(([provider, check, state]) => ({ provider, check, state })),
  },
});

const ran = (name: string, ok: boolean): Partial<Recording> => ({
  ...MACHINE,
  recordedBy: "pbnj-worker 0.1.0",
  action: { name, ok, provider: "redfish", message: "" },
});

async function rowsIn(reports: string): Promise<readonly string[]> {
  const page = await refreshTestedHardware(await readFile(PAGE, "utf8"), reports);
  const [, table = ""] = /<!-- generated [\s\S]*? \| ---(?: \|)\n([\s\S]*?)\n\n/.exec(page) ?? [];
  return table.split("\n");
}

it("makes one row per machine and provider of a check and of the actions that were recorded", async () => {
  const reports = await folder();
  const check = checked([
    ["redfish", "login", "ok"],
    ["redfish", "clock", "warning"],
    ["redfish", "sol", "unsupported"],
    ["redfish", "raid", "not tried"],
    ["ipmi", "login", "failed"],
  ]);
  const files = [check, ran("power-off", true), ran("set-pxe-once", false)].map(written);

  expect(await addReports(await Promise.all(files), reports)).toEqual([
    "contoso-r1-b-2u-1-2-3-check.json.gz",
    "contoso-r1-b-2u-1-2-3-power-off.json.gz",
    "contoso-r1-b-2u-1-2-3-set-pxe-once.json.gz",
  ]);

  expect(await rowsIn(reports)).toEqual([
    "| Contoso | R1/b (2U) | 1.2.3 | ipmi |  | login | 2026-11-02 |",
    "| Contoso | R1/b (2U) | 1.2.3 | redfish | login, clock, power-off | sol, set-pxe-once | 2026-11-02 |",
  ]);
});

it("adds a recording of the tests with the check of a user, as it is", async () => {
  const reports = await folder();
  const recording = await readRecording(join(ROOT, "test/recordings/odd-sensors.json"));

  const [name = ""] = await addReports(
    [await written({ ...recording, ...checked([["redfish", "sensors", "ok"]]) })],
    reports,
  );

  expect((await readRecording(join(reports, name))).resources).toEqual(recording.resources);
  expect(await rowsIn(reports)).toHaveLength(1);
});

it("gives what others wrote no cell, markup, link or name of its own", async () => {
  const reports = await folder();
  const evil =
    '| x |\n<img src=x onerror="a()"> [a](https://evil.test) www.evil.test _b_ `c` \u202e ../../etc';
  const action = { name: "../../x", ok: true, provider: "redfish", message: "" };
  const checks = [
    { provider: evil, check: "login", state: "ok" },
    { provider: "redfish", check: evil, state: "ok" },
    { provider: "redfish", check: "login", state: "constructor" },
    { provider: "redfish", check: "login", state: "ok" },
  ];

  const [name] = await addReports(
    [
      await written({
        vendor: evil,
        model: "x".repeat(10_000),
        recordedBy: evil,
        action: { ...action, checks },
      }),
    ],
    reports,
  );

  expect(name).toMatch(/^[a-z0-9-]{1,250}\.json\.gz$/);
  expect(await rowsIn(reports)).toEqual([
    `| x img src x onerror a() a (https //evil.test) www evil.test… | ${"x".repeat(59)}… |  | redfish | login |  | x img src x onerror a() a (https //evil.test) www evil.test… |`,
  ]);
});

it.each([
  ["no check", [{}], /neither a check nor an action/],
  ["an action that no provider ran", [{ action: { name: "check", ok: false, message: "" } }], /neither/],
  ["no recording", [{ resources: 5 }], /it is not a recording/],
  ["two of one machine", [ran("power-off", true), ran("power-off", false)], /there is a report of this/],
])("adds none of several reports if one has %s", async (_, given, problem) => {
  const reports = await folder();
  const files = [ran("power-on", true), ...given].map((report) => written(report as Partial<Recording>));

  await expect(addReports(await Promise.all(files), reports)).rejects.toThrow(problem);

  expect(await readdir(reports)).toEqual([]);
});
