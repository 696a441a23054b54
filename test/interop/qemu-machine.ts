import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { execa } from "execa";
import { onTestFinished } from "vitest";
import { testFolder } from "../support/test-folder.ts";
import { findProgram } from "./programs.ts";

/** What the installer and the installed system print every second. */
export const INSTALLER = "the installer waits for work";
export const INSTALLED = "the installed system runs";

const INSTALLER_SCRIPT = `#!ipxe
:wait
echo ${INSTALLER}
sleep 1
goto wait
`;

// xor ax, ax; mov ds, ax; sti; print: mov si, text; next: lodsb; test al, al; jz wait; mov ah, 14; int 16; jmp next;
// wait: mov cx, 18; tick: hlt; loop tick; jmp print. The BIOS interrupts a hlt 18 times per second.
const PRINT_EVERY_SECOND = "31c08ed8fbbe1b7cac84c07406b40ecd10ebf5b91200f4e2fdebea";

/** Ends a machine even if the tests were killed. */
const LONGEST_RUN_SECONDS = 300;

export async function listenOnLoopback(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A disk with an installed system, and a server with an installer, which records who fetched it. */
export async function startBootSources() {
  const { folder } = await testFolder();
  const disk = join(folder, "disk");
  const sector = Buffer.alloc(512);
  const code = sector.write(PRINT_EVERY_SECOND, "hex");
  sector.write(`${INSTALLED}\r\n`, code);
  sector.writeUInt16LE(0xaa55, 510);
  await writeFile(disk, sector);
  const fetched: string[] = [];
  const server = createHttpServer(({ url, headers }, answer) => {
    fetched.push(`${url} by ${headers["user-agent"]}`);
    answer.end(INSTALLER_SCRIPT);
  });
  const port = await listenOnLoopback(server);
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const installer = `guestfwd=tcp:10.0.2.100:80-tcp:127.0.0.1:${port}`;
  /** QEMU's network: DHCP, and nothing that the machine can reach but the installer. */
  const network = `user,id=network,restrict=on,bootfile=http://10.0.2.100/installer.ipxe,${installer}`;
  return { folder, disk, fetched, network };
}

export type BootSources = Awaited<ReturnType<typeof startBootSources>>;

function runQemu(argv: readonly string[]) {
  const qemu = findProgram("qemu-system-x86_64") ?? "qemu-system-x86_64";
  const limit = ["--kill-after=1", String(LONGEST_RUN_SECONDS)];
  return execa("timeout", [...limit, qemu, ...argv], {
    reject: false,
    buffer: false,
    forceKillAfterDelay: 1_000,
  });
}

/** A PC that QEMU emulates. SeaBIOS and iPXE use its serial port. */
export class QemuMachine {
  /** What it has printed since it was powered on. */
  console = "";
  /** Gets what it prints. */
  watcher: Writable | undefined;
  readonly #argv: readonly string[];
  #running: ReturnType<typeof runQemu> | undefined;

  constructor({ disk, network }: BootSources) {
    this.#argv = [
      ...["-nodefaults", "-no-user-config", "-display", "none", "-accel", "tcg", "-m", "32"],
      // Without graphics, SeaBIOS copies its screen to the serial port.
      ...["-machine", "pc,graphics=off", "-drive", `file=${disk},format=raw,if=ide`],
      ...["-netdev", network, "-device", "virtio-net-pci,netdev=network", "-serial", "stdio"],
    ];
    onTestFinished(() => this.powerOff());
  }

  get isOn(): boolean {
    return this.#running !== undefined;
  }

  /** Boots from the device and from no other. */
  powerOn(device: "network" | "disk"): void {
    if (this.#running) return;
    this.console = "";
    const order = `order=${device === "network" ? "n" : "c"},strict=on`;
    const running = runQemu([...this.#argv, "-boot", order]);
    running.stderr.resume();
    running.stdout.on("data", (bytes: Buffer) => {
      this.console += bytes.toString("latin1");
      this.watcher?.write(bytes);
    });
    this.#running = running;
    void running.finally(() => {
      if (this.#running === running) this.#running = undefined;
    });
  }

  async powerOff(): Promise<void> {
    this.#running?.kill();
    await this.#running;
  }
}
