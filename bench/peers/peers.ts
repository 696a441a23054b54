import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { execa } from "execa";
import { z } from "zod";
import { bundleProgram, PROGRAM_FILE } from "../../scripts/bundle/bundle.ts";
import { writeProgramCodeCache } from "../../scripts/bundle/code-cache.ts";
import { withoutNative } from "../../scripts/bundle/without-native-plugin.ts";
import type { Operation } from "../../scripts/performance/operations.ts";
import { projectRoot } from "../../scripts/project-root.ts";
import { findProgram } from "../../test/interop/programs.ts";
import { installPythonPackages } from "../../test/interop/python-packages.ts";
import { environmentOf, type Installed, type Order, type Peer } from "./peer.ts";

const PROGRAMS = join(import.meta.dirname, "programs");
const NOT_IN_IPMI = "IPMI has no virtual media";
/** Nothing is written into the sources. */
const PYTHON = { PYTHONDONTWRITEBYTECODE: "1" };
const GO_BUILD_MS = 300_000;
const ELSEWHERE = "in no package registry: pass";

/** The action for each operation, and what it needs beside the connection. */
const ACTIONS: Readonly<Record<Operation, (order: Order) => readonly [string, Record<string, string>]>> = {
  state: () => ["power-status", {}],
  on: () => ["power-on", {}],
  off: () => ["power-off", { MODE: "hard" }],
  "pxe-once": () => ["set-pxe-once", { MODE: "uefi" }],
  inventory: () => ["inventory", {}],
  "insert-media": ({ mediaUrl }) => ["insert-virtual-media", { MEDIA_URL: mediaUrl }],
};
/** The part of an action's result line that the benchmarks check. */
const ActionResult = z.object({
  message: z.string(),
  after: z
    .union([
      z.string(),
      z.object({
        device: z.string().optional(),
        persistent: z.boolean().optional(),
        inserted: z.boolean().optional(),
      }),
    ])
    .optional(),
});

/** Ours first: the others are compared with it. */
export const peers: readonly Peer[] = [
  {
    name: "pbnj-worker",
    source: "this repository: the installed command line, one process per operation",
    protocols: ["redfish", "ipmi"],
    fallsBack: true,
    repeats: false,
    async install(folder) {
      const bundle = await bundleProgram(folder);
      await writeProgramCodeCache(folder, bundle);
      return {
        version: await ourVersion(),
        argv: [process.execPath, join(folder, PROGRAM_FILE)],
        command: (order) => actionCommand(folder, order),
        read: readAction,
      };
    },
  },
  {
    name: "@pbnj-worker/bmc",
    source: "this repository: a program of ours with the library",
    protocols: ["redfish", "ipmi"],
    fallsBack: true,
    repeats: true,
    async install(folder) {
      const program = join(folder, "bmc-library.mjs");
      const banner =
        'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';
      await build({
        entryPoints: [join(PROGRAMS, "bmc-library.ts")],
        outfile: program,
        banner: { js: banner },
        ...{
          bundle: true,
          minify: true,
          platform: "node",
          format: "esm",
          target: "node24",
          logLevel: "silent",
        },
        absWorkingDir: projectRoot,
        plugins: [withoutNative],
      });
      return byConvention(await ourVersion(), [process.execPath, program], {
        NODE_COMPILE_CACHE: join(folder, "compiled"),
      });
    },
  },
  {
    name: "sushy",
    source: "PyPI, a program of ours with the library",
    protocols: ["redfish"],
    repeats: true,
    install: async () => {
      const { python } = await installPythonPackages("sushy", ["sushy==5.14.0", "sushy-tools==2.2.0"]);
      return byConvention(
        await pythonVersion(python, "sushy"),
        [python, join(PROGRAMS, "sushy_peer.py")],
        PYTHON,
      );
    },
  },
  {
    name: "ipmitool",
    source: "Debian, a script of ours with one run per command",
    protocols: ["ipmi"],
    lacks: { "insert-media": NOT_IN_IPMI },
    repeats: false,
    install: async () => {
      const { stdout } = await execa(programOf("ipmitool"), ["-V"]);
      return byConvention(versionIn(stdout), ["sh", join(PROGRAMS, "ipmitool.sh")]);
    },
  },
  {
    name: "freeipmi",
    source: "Debian, a script of ours with one run per command",
    protocols: ["ipmi"],
    lacks: { "insert-media": NOT_IN_IPMI },
    repeats: false,
    install: async () => {
      const { stdout } = await execa(programOf("ipmipower"), ["--version"]);
      return byConvention(versionIn(stdout), ["sh", join(PROGRAMS, "freeipmi.sh")]);
    },
  },
  {
    name: "pyghmi",
    source: "PyPI, a program of ours with the library",
    protocols: ["ipmi"],
    lacks: { "insert-media": NOT_IN_IPMI },
    repeats: true,
    install: async () => {
      const { python } = await installPythonPackages("pyghmi", ["pyghmi==1.6.19"]);
      return byConvention(
        await pythonVersion(python, "pyghmi"),
        [python, join(PROGRAMS, "pyghmi_peer.py")],
        PYTHON,
      );
    },
  },
  {
    name: "go-ipmi",
    source: "Go module, a program of ours with the library",
    protocols: ["ipmi"],
    lacks: { "insert-media": NOT_IN_IPMI },
    repeats: true,
    async install(folder) {
      const program = join(folder, "go-ipmi");
      const cwd = join(PROGRAMS, "go-ipmi");
      await execa(goProgram(), ["build", "-trimpath", "-o", program, "."], {
        cwd,
        env: { CGO_ENABLED: "0" },
        stdin: "ignore",
        timeout: GO_BUILD_MS,
      });
      const { stdout } = await execa(
        goProgram(),
        ["list", "-m", "-f", "{{.Version}}", "github.com/bougou/go-ipmi"],
        {
          cwd,
        },
      );
      return byConvention(versionIn(stdout), [program]);
    },
  },
  absent("bmclib", ["redfish", "ipmi"]),
  absent("tink-agent", []),
  absent("tink-worker", []),
  absent("rufio", []),
];

/** A peer that the user has built. */
interface GivenPeer {
  readonly version: string;
  readonly argv: readonly string[];
}

/** The peers, those of `given` in place of the ones that no registry has, or beside the others. */
export function withGiven(table: readonly Peer[], given: ReadonlyMap<string, GivenPeer>): readonly Peer[] {
  const others = table.filter(({ name }) => !given.has(name));
  const own = [...given].map(([name, { version, argv }]): Peer => {
    const known = table.find((peer) => peer.name === name);
    return {
      ...{
        name,
        source: `--peer ${name}`,
        protocols: known?.protocols ?? ["redfish", "ipmi"],
        repeats: true,
        fallsBack: known?.fallsBack ?? false,
      },
      ...(known?.lacks && { lacks: known.lacks }),
      install: async () => byConvention(version, argv),
    };
  });
  return [...others, ...own];
}

/** `--peer name@version=command with arguments`. Throws with what is wrong. */
export function parsePeers(values: readonly string[]): ReadonlyMap<string, GivenPeer> {
  const wrong: string[] = [];
  const given = new Map<string, GivenPeer>();
  for (const value of values) {
    const [, name = "", version = "unknown", command = ""] =
      /^([^=@\s]+)(?:@([^=\s]+))?=(.*)$/s.exec(value) ?? [];
    const argv = command.split(/\s+/).filter(Boolean);
    if (argv.length === 0) wrong.push(`--peer ${value}: expected name@version=command`);
    else if (given.has(name)) wrong.push(`--peer ${value}: ${name} is given twice`);
    else given.set(name, { version, argv });
  }
  if (wrong.length > 0) throw new Error(wrong.join("; "));
  return given;
}

function byConvention(
  version: string,
  argv: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Installed {
  return { version, argv, command: (order) => ({ argv, env: { ...env, ...environmentOf(order) } }) };
}

function absent(name: string, protocols: Peer["protocols"]): Peer {
  return {
    name,
    source: "--peer",
    protocols,
    fallsBack: true,
    repeats: true,
    install: async () => Promise.reject(new Error(`${ELSEWHERE} --peer ${name}=COMMAND`)),
  };
}

function actionCommand(folder: string, order: Order) {
  const [action, more] = ACTIONS[order.operation](order);
  return {
    argv: [process.execPath, join(folder, PROGRAM_FILE), "action", action],
    env: {
      BMC_HOST: "127.0.0.1",
      BMC_USERNAME: order.username,
      BMC_PASSWORD_FILE: order.passwordFile,
      BMC_PROVIDERS: [order, ...(order.fallback ? [order.fallback] : [])].map((to) => to.protocol).join(),
      REDFISH_SCHEME: order.scheme ?? "http",
      IPMI_ALLOW_SUITE_3: String(order.cipherSuite === 3),
      ...portOf(order),
      ...(order.fallback && portOf(order.fallback)),
      NODE_COMPILE_CACHE: join(folder, "compiled"),
      ...more,
    },
  };
}

function portOf({ protocol, port }: Pick<Order, "protocol" | "port">): Readonly<Record<string, string>> {
  return { [`${protocol.toUpperCase()}_PORT`]: String(port) };
}

function readAction(line: string, { operation }: Order): string {
  const { message, after } = ActionResult.parse(JSON.parse(line));
  if (operation === "inventory") return message;
  // A BMC that makes the override permanent has failed, by the rules of the peers' programs.
  if (typeof after === "object" && after.persistent) return `${after.device}, persistent`;
  if (typeof after === "object") return after.device ?? (after.inserted ? "inserted" : "empty");
  return after ?? "";
}

async function ourVersion(): Promise<string> {
  const { stdout } = await execa("git", ["-C", projectRoot, "rev-parse", "--short", "HEAD"], {
    reject: false,
  });
  return stdout || "unknown";
}

async function pythonVersion(python: string, distribution: string): Promise<string> {
  const program = `import importlib.metadata as m; print(m.version("${distribution}"))`;
  return (await execa(python, ["-c", program])).stdout;
}

const versionIn = (text: string) => /\d+(\.\d+)+/.exec(text)?.[0] ?? "unknown";

function programOf(name: string): string {
  const path = findProgram(name);
  if (path === undefined) throw new Error(`${name} is not installed`);
  return path;
}

/** Go from the path, or the one that `.ci/run` installs from PyPI. */
export function goProgram(): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const own = join(cache, "pbnj-worker/go-1.27.3/bin/go");
  return existsSync(own) ? own : programOf("go");
}
