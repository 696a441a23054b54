import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";

const projectRoot = join(import.meta.dirname, "../../..");
const Manifest = z.object({ name: z.string(), version: z.string(), type: z.string(), exports: z.unknown() });

/** Another program's folder with the library installed as a package, as npm would lay it out. */
let consumer = "";

beforeAll(async () => {
  consumer = await mkdtemp(join(tmpdir(), "pbnj-consumer-"));
  const installed = join(consumer, "node_modules/pbnj-worker");
  await mkdir(installed, { recursive: true });
  const manifest = Manifest.parse(JSON.parse(await readFile(join(projectRoot, "package.json"), "utf8")));
  await writeFile(join(installed, "package.json"), JSON.stringify(manifest));
  await execa(tool("tsc"), ["-p", "tsconfig.library.json", "--outDir", join(installed, "dist/library")], {
    cwd: projectRoot,
  });
  for (const name of ["zod", "undici", "execa", "@types", "undici-types"]) {
    await symlink(join(projectRoot, "node_modules", name), join(consumer, "node_modules", name));
  }
  await writeFile(join(consumer, "package.json"), JSON.stringify({ type: "module" }));
}, 120_000);
afterAll(() => rm(consumer, { recursive: true, force: true }));

const tool = (name: string) => join(projectRoot, "node_modules/.bin", name);

test("the example of the API page compiles strictly and runs against a BMC", async () => {
  const example = await readFile(join(projectRoot, "examples/bmc-library.ts"), "utf8");
  await writeFile(join(consumer, "main.ts"), example);
  const machine = new SimulatedMachine({ power: "off" });
  const bmc = await startRedfishBmc({ machines: [machine], password: "calvin" });

  const check = [
    "--strict",
    "--noEmit",
    "--target",
    "es2024",
    "--module",
    "nodenext",
    "--types",
    "node",
    "main.ts",
  ];
  await execa(tool("tsc"), check, { cwd: consumer });
  const ran = await execa(process.execPath, ["main.ts"], {
    cwd: consumer,
    env: {
      BMC_HOST: bmc.host,
      BMC_PORT: String(bmc.port),
      BMC_FINGERPRINT: bmc.fingerprint,
      BMC_USERNAME: "admin",
      BMC_PASSWORD: "calvin",
    },
  });
  await bmc.close();

  expect(ran.stdout).toMatch(/^boot pxe once \(uefi\)\non after .* via redfish$/);
  expect(machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
}, 60_000);
