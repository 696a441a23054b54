import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { execa } from "execa";
import { textOf } from "../../shared/text-of.ts";

/** Enough for the journal of many actions. */
const SIZE_BYTES = 64 * 1_024 * 1_024;
const BALLAST = "ballast";
const READY_TIMEOUT_MS = 10_000;

/**
 * A small file system of its own for a state directory, so that it can be full while no other is. It is mounted
 * in a mount namespace that a process holds; with that process and the workers in it, it is gone. The namespace also has its
 * own `/etc/hosts`, and no name server.
 */
export class StateDisk implements AsyncDisposable {
  /** The folder, as processes within the namespace see it. */
  readonly path: string;
  readonly #holder: ChildProcess;

  private constructor(path: string, holder: ChildProcess) {
    this.path = path;
    this.#holder = holder;
  }

  /** Mounts it at an empty folder, and the file `hosts` at `/etc/hosts`. Resolves to why that is not possible here, where it is not. */
  static async mount(path: string, hosts = "/etc/hosts"): Promise<StateDisk | string> {
    if (process.platform !== "linux") return "only Linux has mount namespaces";
    // The shell becomes cat, which waits for the end of its input: that of the process that started it.
    const script = `mount -t tmpfs -o "size=$2,mode=700" tmpfs "$1" && mount --bind "$3" /etc/hosts &&
      mount --bind /dev/null /etc/resolv.conf && echo mounted && exec cat`;
    const argv = [
      "--mount",
      "--propagation",
      "private",
      "sh",
      "-c",
      script,
      "sh",
      path,
      String(SIZE_BYTES),
      hosts,
    ];
    const holder = spawn("unshare", argv, { stdio: ["pipe", "pipe", "pipe"] });
    const said: string[] = [];
    holder.stderr.setEncoding("utf8").on("data", (text: string) => said.push(text));
    try {
      const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
      const [first] = await Promise.race([
        once(holder.stdout, "data", { signal }),
        once(holder, "close", { signal }).then(() => [""]),
      ]);
      if (String(first).trim() === "mounted") return new StateDisk(path, holder);
    } catch (thrown) {
      said.push(textOf(thrown));
    }
    holder.kill("SIGKILL");
    return said.join("").trim() || "no file system could be mounted";
  }

  /** What a program starts with to see it; it keeps its process ID. */
  get prefix(): readonly string[] {
    return ["nsenter", `--mount=/proc/${this.#holder.pid}/ns/mnt`, "--"];
  }

  /** The folder, as this process sees it. */
  get pathFromOutside(): string {
    return `/proc/${this.#holder.pid}/root${this.path}`;
  }

  /** Leaves no room at all. */
  async fill(): Promise<void> {
    const chunk = Buffer.alloc(1_024 * 1_024);
    const endless = Readable.from(
      (function* () {
        for (let written = 0; written <= SIZE_BYTES; written += chunk.length) yield chunk;
      })(),
    );
    // The disk is full when writing to it fails; what is left of the last page goes to small files.
    await writeFile(join(this.pathFromOutside, BALLAST), endless).catch(() => undefined);
    for (let index = 0; index < 1_000; index += 1) {
      try {
        await writeFile(join(this.pathFromOutside, `${BALLAST}-${index}`), "x");
      } catch {
        return;
      }
    }
  }

  /** False if it stays as it is, because a file is open for writing. */
  async setReadOnly(isReadOnly: boolean): Promise<boolean> {
    const [program = "", ...prefix] = this.prefix;
    const mount = ["mount", "-o", `remount,${isReadOnly ? "ro" : "rw"}`, this.path];
    const { exitCode } = await execa(program, [...prefix, ...mount], { reject: false, stdin: "ignore" });
    return exitCode === 0;
  }

  async free(): Promise<void> {
    await rm(join(this.pathFromOutside, BALLAST), { force: true });
    for (let index = 0; index < 1_000; index += 1) {
      await rm(join(this.pathFromOutside, `${BALLAST}-${index}`), { force: true });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#holder.exitCode !== null || this.#holder.signalCode !== null) return;
    const ended = once(this.#holder, "exit");
    this.#holder.kill("SIGKILL");
    await ended;
  }
}
