import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { helm } from "../deploy/chart/helm.ts";
import { findProgram } from "../interop/programs.ts";
import type { ShellCommand } from "./shell-words.ts";

type Words = readonly string[];

/** `--help` before the first flag: these programs read all flags before they print their help. */
const helpFirst = (words: Words): Words => {
  const at = words.findIndex((word) => word.startsWith("-"));
  return words.toSpliced(at < 0 ? words.length : at, 0, "--help");
};
/** `--help` at the end: these programs stop at the first flag that they do not know. */
const helpLast = (words: Words): Words => [...words, "--help"];

/** Plug-ins of docker. */
const PLUGINS = ["buildx", "compose"];

/** Programs of others, and the arguments with which they parse a command's flags and do nothing else. */
const PARSERS: Readonly<Record<string, (words: Words) => Words>> = {
  curl: helpLast,
  // Behind the container or image is the container's own command; a plug-in is a program of its own.
  docker: (words) => (PLUGINS.includes(words[0] ?? "") ? helpLast(words) : words.toSpliced(1, 0, "--help")),
  helm: helpFirst,
  install: helpLast,
  kubectl: helpFirst,
  promtool: helpLast,
  ssh: (words) => ["-G", ...words],
  stat: helpLast,
  systemctl: helpLast,
  "systemd-sysusers": helpLast,
  tar: helpLast,
};

/** The program that parses a command: its name, with a plug-in's; undefined for programs whose commands are not parsed. */
export function parserOf([program = "", plugin = ""]: ShellCommand): string | undefined {
  if (!Object.hasOwn(PARSERS, program)) return undefined;
  return program === "docker" && PLUGINS.includes(plugin) ? `docker ${plugin}` : program;
}

/** What the installed program says against the flags of a command; undefined if it takes them. */
export async function foreignProblem([program = "", ...words]: ShellCommand): Promise<string | undefined> {
  const path = program === "helm" && helm !== undefined ? helm : program;
  return failureOf(path, PARSERS[program]?.(words) ?? words);
}

/** Whether a parser is installed. */
export async function hasParser(parser: string): Promise<boolean> {
  const [program = "", plugin] = parser.split(" ");
  if (program === "helm") return helm !== undefined;
  if (findProgram(program) === undefined) return false;
  return plugin === undefined || (await failureOf(program, [plugin, "version"])) === undefined;
}

async function failureOf(path: string, argv: Words): Promise<string | undefined> {
  const home = await mkdtemp(join(tmpdir(), "pbnj-foreign-"));
  try {
    return await new Promise<string | undefined>((resolve) => {
      const env = { PATH: process.env["PATH"], HOME: home, LC_ALL: "C" };
      execFile(path, argv, { env, cwd: home, timeout: 30_000 }, (error, stdout, stderr) => {
        const said = `${stderr}${stdout}`;
        resolve(error ? said.split("\n", 1)[0] || error.message : undefined);
      });
    });
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
