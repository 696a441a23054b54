import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PROGRAM } from "../cli/program.ts";
import { findProgram } from "../interop/programs.ts";
import { runShell } from "../support/shell-block.ts";
import { type CodeBlock, codeBlocks } from "./markdown.ts";
import { writeProgram, writeStandIns } from "./stand-ins.ts";

const PROJECT = join(import.meta.dirname, "../..");
/** Addresses of this process alone, for 192.0.2.0/24. */
export const NETWORK = `127.${(process.pid >> 8) & 255}.${process.pid & 255}.`;
const PROGRAM_STARTS = /\bpbnj-worker (?:start|serve)\b/;

interface Run {
  /** What the reader types. */
  readonly input?: string;
  /** While the block's worker runs; by default it ends once it has started. */
  readonly during?: (said: () => string) => Promise<unknown>;
}

/** The host on which a reader follows a manual: a folder is its root, and the manual's files are there. */
export class ManualHost implements AsyncDisposable {
  /** Commands that are not yet run, in the page's order. */
  readonly commands: CodeBlock[];
  readonly root: string;
  /** A checkout of the project, in which the reader is. */
  readonly checkout: string;
  /** What the manual does not set. */
  env: Readonly<Record<string, string>> = {};
  readonly #replaced: [string, string][] = [];
  readonly #folder: string;

  private constructor(folder: string, commands: CodeBlock[]) {
    this.#folder = folder;
    this.root = join(folder, "root");
    this.checkout = join(folder, "checkout");
    this.commands = commands;
  }

  static async open(path: string): Promise<ManualHost> {
    const blocks = codeBlocks(path, await readFile(join(PROJECT, path), "utf8"));
    const folder = await mkdtemp(join(tmpdir(), "pbnj-host-"));
    const host = new ManualHost(
      folder,
      blocks.filter(({ language }) => language === "sh"),
    );
    for (const name of ["etc/pbnj-worker", "var/run", "var/lib/pbnj-worker"]) {
      await mkdir(join(host.root, name), { recursive: true });
    }
    await mkdir(host.checkout);
    for (const name of await readdir(PROJECT)) {
      if (!name.startsWith(".")) await symlink(join(PROJECT, name), join(host.checkout, name));
    }
    await writeFile(join(host.root, "var/run/docker.sock"), "");
    for (const { text } of blocks) {
      const [, name] = /^# (\S+\.yaml)\n/.exec(text) ?? [];
      if (name) await host.write(name, host.adapt(text).replaceAll("/run/", `${host.root}/run/`));
    }
    await host.#writePrograms();
    return host;
  }

  /** Writes a file of the root or, if the path is relative, of the checkout. */
  async write(path: string, content: string): Promise<void> {
    const file = path.startsWith("/") ? join(this.root, path) : join(this.checkout, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
  }

  read(path: string): Promise<string> {
    return readFile(path.startsWith("/") ? join(this.root, path) : join(this.checkout, path), "utf8");
  }

  /** Uses `real` where the manual has `shown`. */
  replace(shown: string, real: string): void {
    this.#replaced.push([shown, real]);
  }

  adapt(text: string): string {
    return this.#replaced
      .reduce((so, [shown, real]) => so.replaceAll(shown, real), text)
      .replaceAll(/(?<![\w.}"'/])\/(?=(?:etc|usr|var)\/)/g, `${this.root}/`)
      .replaceAll(/(?<=(?:http:\/\/|--http-address ))(?:127\.0\.0\.1|0\.0\.0\.0)(?=:42180)/g, `${NETWORK}1`)
      .replaceAll("192.0.2.", NETWORK)
      .replaceAll(/ -o \S+ -g \S+/g, "");
  }

  /** Runs the next block and resolves with what it printed. Rejects if it failed. */
  async run({ input, during }: Run = {}): Promise<string> {
    const { at, text } = this.commands.shift() ?? { at: "", text: "exit 1" };
    const started = async (said: () => string) => {
      while (!said().includes("worker started")) await new Promise((resolve) => setTimeout(resolve, 20));
      await during?.(said);
    };
    const env = {
      PATH: `${join(this.#folder, "bin")}:${process.env["PATH"]}`,
      PBNJ_STATE_DIRECTORY: join(this.root, "var/lib/pbnj-worker"),
      PBNJ_HTTP_ADDRESS: `${NETWORK}1:42180`,
      ...this.env,
    };
    const isWorker = PROGRAM_STARTS.test(text);
    const { output, exitCode } = await runShell(
      this.adapt(text),
      { cwd: this.checkout, env, ...(input === undefined ? {} : { input }) },
      isWorker ? started : undefined,
    );
    const succeeded = isWorker ? output.includes("worker stopped") : exitCode === 0;
    if (!succeeded) throw new Error(`${at} ended with ${exitCode}:\n${output}`);
    return output;
  }

  async #writePrograms(): Promise<void> {
    const bin = join(this.#folder, "bin");
    const docker = findProgram("docker");
    await writeStandIns(
      bin,
      this.root,
      docker === undefined ? {} : { docker: `[ "$1" != run ] || exec ${docker} "$@"` },
    );
    await writeProgram(join(bin, "pbnj-worker"), `exec "${process.execPath}" "${PROGRAM}" "$@"\n`);
    // The tests have one user.
    await writeProgram(join(bin, "sudo"), `exec "$@"\n`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}
