import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { parseResultLine } from "../../../shared/contract/result.ts";
import type { EndedAction } from "../../actions/action-run.ts";
import { bundledProgram } from "../../support/bundled-program.ts";

const { file, compileCache } = await bundledProgram();
/** Before the name of an action. */
export const PROGRAM = [file, "action"] as const;
/** An action that hangs is ended, so that its test fails instead of the whole run. */
const LONGEST_MS = 25_000;

export interface ActionProcessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly argv?: readonly string[];
  /** Written to stdin, which is then closed; `open` leaves it open, nothing closes it at once. */
  readonly stdin?: string | { readonly open: true };
}

export interface EndedActionProcess extends EndedAction {
  readonly signal: NodeJS.Signals | null;
}

/** An action that runs as a process of its own. */
export class ActionProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly ended: Promise<EndedActionProcess>;

  constructor(name: string, { env = {}, argv = [], stdin = "" }: ActionProcessOptions = {}) {
    this.child = spawn(process.execPath, [...PROGRAM, name, ...argv], {
      env: { PATH: process.env["PATH"] ?? "", NODE_COMPILE_CACHE: compileCache, ...env },
      stdio: ["pipe", "pipe", "pipe"],
    });
    const deadline = setTimeout(() => this.child.kill("SIGKILL"), LONGEST_MS);
    // A child that does not read what it is given is what some tests are about.
    this.child.stdin.on("error", () => undefined);
    if (typeof stdin === "string") this.child.stdin.end(stdin);
    const stdout = textOf(this.child.stdout);
    const stderr = textOf(this.child.stderr);
    this.ended = once(this.child, "close").then(() => {
      clearTimeout(deadline);
      const { exitCode: code, signalCode: signal } = this.child;
      const last = stdout().trimEnd().split("\n").at(-1) ?? "";
      return { code, signal, stdout: stdout(), stderr: stderr(), result: parseResultLine(last) };
    });
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error("the action did not start");
    return this.child.pid;
  }

  /** A file of the process in /proc, such as `cmdline`. */
  proc(file: string): string {
    return readFileSync(`/proc/${this.pid}/${file}`, "utf8");
  }
}

function textOf(stream: Readable): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.on("error", () => undefined);
  return () => Buffer.concat(chunks).toString("utf8");
}
