import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execa } from "execa";
import { endByForce, processesNaming } from "./leftovers.ts";

const PATIENCE_MS = 60_000;
const LOOK_MS = 200;

/** A Docker daemon of its own, which can be restarted without disturbing other containers. Needs root. */
export class PrivateEngine implements AsyncDisposable {
  readonly socket: string;
  readonly #folder: string;
  /** With `--bridge none`, a daemon removes `docker0`, which belongs to the host's daemon. */
  readonly #bridge = `pbnj${process.pid}`;
  #daemon: ChildProcess | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    this.socket = join(folder, "docker.sock");
  }

  /** Starts it in a new folder, with images of the engine that everybody uses. Rejects with the daemon's last lines. */
  static async start(folder: string, images: readonly string[]): Promise<PrivateEngine> {
    await mkdir(folder);
    const engine = new PrivateEngine(folder);
    try {
      await execa("ip", ["link", "add", engine.#bridge, "type", "bridge"]);
      await engine.#start();
      const archive = join(folder, "images.tar");
      await execa("docker", ["save", "--output", archive, ...images]);
      await engine.run(["load", "--input", archive]);
      return engine;
    } catch (thrown) {
      await engine[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  /** Runs the client; resolves to its stdout. */
  async run(args: readonly string[]): Promise<string> {
    const { stdout } = await execa("docker", ["--host", `unix://${this.socket}`, ...args], {
      stdin: "ignore",
    });
    return stdout;
  }

  /** Ends the daemon, and with it every container, and starts it again. */
  async restart(how: "SIGTERM" | "SIGKILL", downMs: number): Promise<void> {
    await this.#end(how);
    await sleep(downMs);
    await this.#start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end("SIGTERM");
    // One that was killed leaves the shims of its containers.
    for (const pid of await processesNaming(`${this.#folder}/`)) endByForce(pid);
    await execa("ip", ["link", "delete", this.#bridge], { reject: false });
    // A daemon leaves mounts behind, the more so if it was killed.
    const mounts = (await readFile("/proc/self/mounts", "utf8"))
      .split("\n")
      .map((line) => line.split(" ")[1] ?? "");
    const mine = mounts.filter((path) => path.startsWith(`${this.#folder}/`)).toReversed();
    if (mine.length > 0) await execa("umount", ["--lazy", ...mine], { reject: false });
  }

  /** A daemon whose containerd is slow to start ends, and is started again, as by a supervisor. */
  async #start(): Promise<void> {
    const giveUpMs = performance.now() + PATIENCE_MS;
    this.#spawn();
    while (!(await this.#answers())) {
      if (performance.now() > giveUpMs) {
        throw new Error(`a private container engine did not start:\n${await this.#lastLines()}`);
      }
      if (this.#daemon === undefined || hasEnded(this.#daemon)) this.#spawn();
      await sleep(LOOK_MS);
    }
  }

  #spawn(): void {
    const log = openSync(join(this.#folder, "dockerd.log"), "a");
    const argv = [
      ...["--data-root", join(this.#folder, "data"), "--exec-root", join(this.#folder, "run")],
      ...["--pidfile", join(this.#folder, "pid"), "--host", `unix://${this.socket}`],
      ...["--bridge", this.#bridge, "--iptables=false", "--ip6tables=false", "--ip-forward=false"],
    ];
    this.#daemon = spawn("dockerd", argv, { stdio: ["ignore", log, log] });
    // One that is not installed ends at once.
    this.#daemon.on("error", () => undefined);
    closeSync(log);
  }

  async #answers(): Promise<boolean> {
    return this.run(["version"]).then(
      () => true,
      () => false,
    );
  }

  async #end(how: "SIGTERM" | "SIGKILL"): Promise<void> {
    const daemon = this.#daemon;
    if (!daemon || hasEnded(daemon)) return;
    const ended = once(daemon, "exit");
    daemon.kill(how);
    const limit = setTimeout(() => daemon.kill("SIGKILL"), PATIENCE_MS);
    await ended;
    clearTimeout(limit);
  }

  async #lastLines(): Promise<string> {
    const text = await readFile(join(this.#folder, "dockerd.log"), "utf8");
    return text.split("\n").slice(-5).join("\n");
  }
}

function hasEnded({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}
