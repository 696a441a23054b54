import { mkdir, mkdtemp, realpath, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { vi } from "vitest";
import { findProgram } from "../programs.ts";

const CHECKOUT = join(import.meta.dirname, "../../..");
const BLOCK_TIMEOUT_MS = 20 * 60_000;
const SERVICE_TIMEOUT_MS = 120_000;
/** Mounts that systemd's container interface needs; copying the content of /tmp would take long. */
const TMPFS = ["/tmp:rw,mode=1777,notmpcopyup", "/run:rw,mode=755,notmpcopyup", "/run/lock:rw,notmpcopyup"];
/** They would change the kernel that all share. */
const MASKED = ["systemd-sysctl", "systemd-modules-load", "systemd-udevd", "systemd-udev-trigger"];
/** Runs commands as root or as the user of `-u`, where sudo is not installed. */
const SUDO = `#!/bin/sh
if [ "$1" = -u ]; then user=$2; shift 2; exec runuser -u "$user" -- "$@"; fi
exec "$@"
`;

type Input = { readonly input: string } | { readonly inputFile: string };

/** The programs without which there is no copy of this host. */
export const HOST_PROGRAMS = ["podman", "dockerd", "systemctl", "ip"] as const;

/** A command that runs in the copy until it is stopped. */
export interface Background extends AsyncDisposable {
  said(): string;
  untilSaid(pattern: RegExp): Promise<void>;
}

/**
 * A copy of this host in a container, in which a reader follows a page as root: systemd, a container engine of its own, and
 * a network of its own, where each address of 192.0.2.0/24 is the host's. What it writes is gone with it.
 */
export class HostCopy implements AsyncDisposable {
  readonly #folder: string;
  readonly #podman: readonly string[];
  readonly #env: Readonly<Record<string, string>>;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#podman = ["--root", join(folder, "root"), "--runroot", join(folder, "run")];
    this.#env = { CONTAINERS_CONF: join(folder, "containers.conf") };
  }

  /** `images` is the folder of the engine, which copies that run one after the other may share. */
  static async start(images: string): Promise<HostCopy> {
    const copy = new HostCopy(await mkdtemp(join(tmpdir(), "pbnj-host-copy-")));
    try {
      await copy.#start(images);
      return copy;
    } catch (thrown) {
      await copy[Symbol.asyncDispose]();
      throw thrown;
    }
  }

  async #start(images: string): Promise<void> {
    // crun does not support cgroups of both versions at once.
    const isCgroup2 = await stat("/sys/fs/cgroup/cgroup.controllers").then(
      () => true,
      () => false,
    );
    await writeFile(
      join(this.#folder, "containers.conf"),
      `[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n[engine]\nruntime = "${isCgroup2 ? "crun" : "runc"}"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n`,
    );
    const volumes = ["docker", "containerd"].map((name) => [join(images, name), `/var/lib/${name}`] as const);
    for (const [source] of volumes) await mkdir(source, { recursive: true });
    await this.#run([
      ...[
        "run",
        "--detach",
        "--name",
        "host",
        "--hostname",
        "host",
        "--systemd=always",
        "--privileged",
        "--cgroupns=private",
      ],
      ...["--network", "none", ...TMPFS.flatMap((mount) => ["--tmpfs", mount])],
      ...volumes.flatMap(([source, target]) => ["--volume", `${source}:${target}`]),
      // The checkout may be on another file system, of which the copy of the root has nothing.
      ...["--volume", `${CHECKOUT}:${CHECKOUT}:O`, "--rootfs", "/:O"],
      ...["/lib/systemd/systemd", "systemd.unit=basic.target"],
      ...MASKED.map((name) => `systemd.mask=${name}.service`),
    ]);
    await vi.waitFor(() => this.shell("systemctl is-system-running"), {
      timeout: SERVICE_TIMEOUT_MS,
      interval: 500,
    });
    await this.shell("ip link set lo up && ip address add 192.0.2.0/24 dev lo && systemctl start docker");
    await this.#install("/usr/local/bin/node", { inputFile: await realpath(process.execPath) });
    const compose = findProgram("docker-compose");
    if (compose)
      await this.#install("/usr/local/lib/docker/cli-plugins/docker-compose", { inputFile: compose });
    if (!findProgram("sudo")) await this.#install("/usr/local/bin/sudo", { input: SUDO });
  }

  async #install(program: string, content: Input): Promise<void> {
    await this.#run(
      ["exec", "--interactive", "host", "install", "-D", "-m", "755", "/dev/stdin", program],
      content,
    );
  }

  /** Runs a script in the checkout and resolves with what it printed. Rejects if it failed, with its output. */
  async shell(script: string, input = ""): Promise<string> {
    return this.#run(
      ["exec", "--interactive", "--workdir", CHECKOUT, "host", "bash", "--norc", "-euc", script],
      { input },
    );
  }

  /** Starts a script; `SIGINT` ends it when the result is disposed of, as Ctrl+C does. */
  background(script: string): Background {
    const id = `/run/background-${Math.random().toString(36).slice(2)}`;
    const wrapped = `echo $$ > ${id}; ${script}`;
    const argv = [
      "exec",
      "--workdir",
      CHECKOUT,
      "host",
      "setsid",
      "--wait",
      "bash",
      "--norc",
      "-euc",
      wrapped,
    ];
    const child = this.#podmanRun(argv);
    let said = "";
    child.all?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    return {
      said: () => said,
      async untilSaid(pattern) {
        await vi.waitFor(
          () => {
            if (!pattern.test(said)) throw new Error(`${script} has not printed ${pattern}:\n${said}`);
          },
          { timeout: SERVICE_TIMEOUT_MS, interval: 200 },
        );
      },
      [Symbol.asyncDispose]: async () => {
        await this.shell(`kill -INT -- -$(cat ${id})`).catch(() => undefined);
        await child;
      },
    };
  }

  async #run(argv: readonly string[], input: Input = { input: "" }): Promise<string> {
    const { all, failed, shortMessage } = await this.#podmanRun(argv, input);
    if (failed) throw new Error(`${shortMessage}\n${all}`);
    return String(all);
  }

  #podmanRun(argv: readonly string[], input: Input = { input: "" }) {
    return execa("podman", [...this.#podman, ...argv], {
      ...{ env: this.#env, ...input, reject: false, all: true, timeout: BLOCK_TIMEOUT_MS },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shell("systemctl stop docker docker.socket containerd").catch(() => undefined);
    await this.#run(["rm", "--force", "--time", "5", "host"]).catch(() => undefined);
    await rm(this.#folder, { recursive: true, force: true });
  }
}
