import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { publint } from "publint";
import { beforeAll, describe, expect, it } from "vitest";
import { projectRoot } from "../../../scripts/project-root.ts";
import { parseResultLine } from "../../../shared/contract/result.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { actionLab } from "../../actions/lab.ts";
import { codeBlocks } from "../../docs/markdown.ts";
import { fileFolder } from "../../support/test-folder.ts";

const MODULES = join(projectRoot, "node_modules");
// By its file: the condition "development", which Vitest sets, would choose its sources.
const { checkPackage, createPackageFromTarballData }: typeof import("@arethetypeswrong/core") = await import(
  join(MODULES, "@arethetypeswrong/core/dist/index.js")
);
const MEGABYTE = 1_048_576;
const COMPILE = ["--strict", "--target", "es2024", "--module", "nodenext", "--types", "node"];
/** By their folders. */
const PACKAGES = { "pbnj-worker": "pbnj-worker", bmc: "@pbnj-worker/bmc" };

const { folder } = await fileFolder();
/** Another project with both packages, and nothing else. */
let consumer = "";
const tarballs = new Map<string, string>();

beforeAll(async () => {
  await execa(process.execPath, ["scripts/packages.ts", "--output", folder], { cwd: projectRoot });
  consumer = join(folder, "consumer");
  const folders = Object.keys(PACKAGES).map((name) => join(folder, name));
  const { stdout } = await execa("npm", ["pack", "--silent", "--pack-destination", folder, ...folders]);
  const packed = stdout.trim().split("\n");
  for (const [index, [name, installed]] of Object.entries(PACKAGES).entries()) {
    const tarball = join(folder, packed[index] ?? "");
    const unpacked = join(consumer, "node_modules", installed);
    await mkdir(unpacked, { recursive: true });
    tarballs.set(name, tarball);
    await execa("tar", ["-xzf", tarball, "--strip-components", "1", "-C", unpacked]);
  }
  // For the compiler.
  for (const name of ["@types/node", "undici-types"]) {
    await mkdir(dirname(join(consumer, "node_modules", name)), { recursive: true });
    await symlink(join(MODULES, name), join(consumer, "node_modules", name));
  }
  await writeFile(join(consumer, "package.json"), JSON.stringify({ type: "module" }));
}, 240_000);

async function manifestOf(name: string) {
  return JSON.parse(await readFile(join(consumer, "node_modules", name, "package.json"), "utf8"));
}

describe.each(Object.keys(PACKAGES))("the package %s", (name) => {
  it("is what publint and attw expect of an ES module", async () => {
    const data = await readFile(tarballs.get(name) ?? "");
    const { messages } = await publint({ pkgDir: join(folder, name), strict: true });
    const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(data)));

    expect(messages).toEqual([]);
    // CommonJS programs use import(); resolution without `exports` is that of Node 10.
    const resolutions = ["node16-esm", "bundler"];
    const problems = checked.types === false ? [] : checked.problems;
    expect(
      problems.filter((each) => !("resolutionKind" in each) || resolutions.includes(each.resolutionKind)),
    ).toEqual([]);
  });
});

describe("pbnj-worker", () => {
  const run = (argv: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    execa(process.execPath, [join(consumer, "node_modules/pbnj-worker/dist/pbnj-worker.mjs"), ...argv], {
      cwd: consumer,
      env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
      extendEnv: false,
      reject: false,
      stdin: "ignore",
      timeout: 25_000,
    });

  it("needs no other package, and no Node of its own", async () => {
    const manifest = await manifestOf("pbnj-worker");

    expect(manifest).toMatchObject({
      bin: { "pbnj-worker": "dist/pbnj-worker.mjs" },
      engines: { node: ">=22.19" },
    });
    expect(Object.keys(manifest).filter((key) => key.endsWith("ependencies"))).toEqual([]);
    expect(await sizeOf(join(consumer, "node_modules/pbnj-worker"))).toBeLessThan(30 * MEGABYTE);
  });

  it.each(["redfish", "ipmi"] as const)("reads the power by %s", async (provider) => {
    await using lab = await actionLab({ machine: { power: "on" } });

    const { stdout } = await run(["action", "power-status"], lab.env(provider));

    expect(parseResultLine(stdout)).toMatchObject({ ok: true, message: `on via ${provider}` });
  });
});

describe("@pbnj-worker/bmc", () => {
  it("needs no other package, is small, and has the licences of what it contains", async () => {
    const manifest = await manifestOf("@pbnj-worker/bmc");
    const own = join(consumer, "node_modules/@pbnj-worker/bmc");

    expect(manifest).not.toHaveProperty("dependencies");
    // Only a console over SSH needs it.
    expect(manifest.peerDependenciesMeta).toEqual({ ssh2: { optional: true } });
    expect(await sizeOf(own)).toBeLessThan(5 * MEGABYTE);
    expect(await readFile(join(own, "dist/THIRD-PARTY-LICENSES"), "utf8")).toMatch(/^execa .*^zod /ms);
  });

  it("starts recorded machines in the tests of another project", async () => {
    const program = `
      import { BmcClient, Connection } from "@pbnj-worker/bmc";
      import { startRecording } from "@pbnj-worker/bmc/testing";
      await using bmc = await startRecording(process.argv[2], { tls: "http" });
      const { host, port } = bmc.redfish;
      const { username, password } = bmc;
      const given = { host, username, password, providers: ["redfish"], redfish: { port, scheme: "http" } };
      const client = new BmcClient(Connection.parse(given));
      console.log(await client.getPower(AbortSignal.timeout(30_000)));
      await client.close();
      await bmc.close();
    `;
    await writeFile(join(consumer, "recorded.ts"), program);
    const recording = join(projectRoot, "test/recordings/licence-refused.json");

    const { stdout } = await execa(process.execPath, ["recorded.ts", recording], { cwd: consumer });

    expect(stdout).toBe("on");
  });

  it("compiles strictly in another project, with every type that its methods take or return, and runs as its page shows", async () => {
    const index = await readFile(join(projectRoot, "shared/bmc/index.ts"), "utf8");
    const types = [...index.matchAll(/^export type \{([^}]*)\}/gm)].flatMap(
      ([, names = ""]) => names.match(/\w+/g) ?? [],
    );
    // For declarations, the compiler must be able to name the types of their fields from outside.
    const program = [
      'import type * as library from "@pbnj-worker/bmc";',
      "declare function shown<T>(): { [K in keyof T]: T[K] };",
      ...["BmcClient", "BmcClientOptions", ...types].map(
        (name) => `export const ${name} = shown<library.${name}${name === "Plan" ? "<unknown>" : ""}>();`,
      ),
    ];
    await writeFile(join(consumer, "names.ts"), program.join("\n"));
    const example = await readFile(join(projectRoot, "examples/bmc-library.ts"), "utf8");
    const page = "docs/reference/bmc-library.md";
    const [, ...tasks] = codeBlocks(page, await readFile(join(projectRoot, page), "utf8")).filter(
      ({ language }) => language === "ts",
    );
    // Each task of the page, in place of the example's own.
    const programs = new Map([
      ["main.ts", example],
      ...tasks.map(({ text }, index) => {
        const program = example.replace(/(?<=^try \{\n).*?(?=^\} catch)/ms, () => text);
        return [`task-${index}.ts`, program] as const;
      }),
    ]);
    for (const [name, text] of programs) await writeFile(join(consumer, name), text);
    const machine = new SimulatedMachine({ power: "off", softOffMs: 10 });
    await using bmc = await startRedfishBmc({ machines: [machine], password: "calvin" });
    const env = {
      BMC_HOST: bmc.host,
      BMC_PORT: String(bmc.port),
      BMC_FINGERPRINT: bmc.fingerprint,
      BMC_USERNAME: "admin",
      BMC_PASSWORD: "calvin",
    };
    const names = [...programs.keys()];
    const imports = [...names.slice(1), "main.ts"].map(
      (name) => `await import("./${name}"); console.log("---");\n`,
    );
    await writeFile(join(consumer, "all.ts"), imports.join(""));

    await execa(
      join(MODULES, ".bin/tsc"),
      [...COMPILE, "--declaration", "--outDir", "compiled", "names.ts", ...names],
      { cwd: consumer },
    );
    const ran = await execa(process.execPath, ["all.ts"], { cwd: consumer, env, reject: false, all: true });

    expect(types.length).toBeGreaterThan(100);
    expect(await readFile(join(consumer, "compiled/names.d.ts"), "utf8")).not.toMatch(
      /nameOption|loadProvider/,
    );
    expect(tasks).toHaveLength(10);
    const printed = ran.all.split(/^---$\n?/m);
    for (const [index, { at, text }] of tasks.entries()) {
      const shown = [...text.matchAll(/^ *\/\/ (.*)$/gm)].map(([, line]) => line).join("\n");
      expect.soft(printed[index]?.trim(), at).toBe(shown);
    }
    expect(printed[tasks.length]?.trim()).toMatch(/^boot pxe once \(uefi\)\non after .* via redfish$/);
    expect(machine.lastBoot).toMatchObject({ device: "pxe", overridden: true });
  });
});

async function sizeOf(directory: string): Promise<number> {
  const { stdout } = await execa("du", ["--summarize", "--bytes", directory]);
  return Number.parseInt(stdout, 10);
}
