import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { onTestFinished } from "vitest";
import { findProgram } from "./programs.ts";
import type { PythonPackages } from "./python-packages.ts";
import { type BootSources, listenOnLoopback } from "./qemu-machine.ts";

export const DOMAIN = "qemu";
export const DOMAIN_ID = "4f3a7a3e-5d0e-4b52-9a4b-2d1a3c5e7f90";

export const libvirtUri = ({ folder }: BootSources) =>
  `qemu:///session?socket=${folder}/run/libvirt/libvirt-sock`;

const DEFINE = `
import libvirt, sys, time
for attempt in range(300):
    try:
        connection = libvirt.open(sys.argv[1])
        break
    except libvirt.libvirtError:
        time.sleep(0.1)
connection.defineXML(open(sys.argv[2]).read())
`;

/** Bounded, even if the tests were killed. Bash stays, as the first process: libvirt waits until QEMU is reaped. */
const START = `
timeout 300 "$LIBVIRTD" >libvirtd.log 2>&1 &
"$PYTHON" -c "$DEFINE" "$URI" domain.xml || exit
timeout 300 "$@"
exit
`;

/** A process namespace, which ends with its first process; a user namespace, in which root is an ordinary user, too. */
const NAMESPACE = [
  ...["--user", "--map-user=65534", "--map-group=65534"],
  ...["--pid", "--mount-proc", "--fork", "--kill-child"],
];

/** Rejects where this user may not make one. */
export async function checkNamespace(): Promise<void> {
  await execa("unshare", [...NAMESPACE, "true"]);
}

/** libvirt's daemon with one domain, which is off, and a BMC for it, which `bmc` starts. */
export async function startLibvirtHost(
  sources: BootSources,
  { python }: PythonPackages,
  bmc: readonly string[],
  env: Readonly<Record<string, string>> = {},
) {
  const { folder } = sources;
  const consoles: string[] = [];
  const server = createServer((socket) => {
    const boot = consoles.push("") - 1;
    socket.setEncoding("latin1").on("data", (text) => {
      consoles[boot] = (consoles[boot] ?? "") + text;
    });
    socket.on("error", () => undefined);
  });
  const consolePort = await listenOnLoopback(server);
  await mkdir(join(folder, "libvirt"));
  await writeFile(join(folder, "libvirt", "qemu.conf"), 'stdio_handler = "file"\n');
  await writeFile(join(folder, "domain.xml"), domain(sources, consolePort));
  const child = execa("unshare", [...NAMESPACE, "bash", "-c", START, "host", ...bmc], {
    cwd: folder,
    env: {
      ...env,
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      XDG_RUNTIME_DIR: join(folder, "run"),
      XDG_CONFIG_HOME: folder,
      XDG_CACHE_HOME: join(folder, "cache"),
      LIBVIRTD: findProgram("libvirtd") ?? "libvirtd",
      PYTHON: python,
      DEFINE,
      URI: libvirtUri(sources),
    },
    extendEnv: false,
    stdin: "ignore",
    stdout: "ignore",
    reject: false,
    buffer: false,
  });
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await child;
    server.close();
  });
  return {
    /** What the domain has printed on its serial port, per power on. */
    consoles,
    stderr: child.stderr,
  };
}

/** libvirt cannot say what its network of a user serves: QEMU's own option does, and an override connects the card to it. */
function domain({ disk, network }: BootSources, consolePort: number): string {
  return `<domain type="qemu" xmlns:qemu="http://libvirt.org/schemas/domain/qemu/1.0">
  <name>${DOMAIN}</name>
  <uuid>${DOMAIN_ID}</uuid>
  <memory unit="MiB">32</memory>
  <os>
    <type arch="x86_64" machine="pc">hvm</type>
    <boot dev="hd"/>
    <bios useserial="yes"/>
  </os>
  <devices>
    <disk type="file" device="disk">
      <driver name="qemu" type="raw"/>
      <source file="${disk}"/>
      <target dev="hda" bus="ide"/>
    </disk>
    <interface type="user">
      <model type="virtio"/>
      <alias name="ua-card"/>
    </interface>
    <serial type="tcp"><source mode="connect" host="127.0.0.1" service="${consolePort}"/></serial>
    <controller type="usb" model="none"/>
    <memballoon model="none"/>
  </devices>
  <qemu:commandline><qemu:arg value="-netdev"/><qemu:arg value="${network}"/></qemu:commandline>
  <qemu:override>
    <qemu:device alias="ua-card">
      <qemu:frontend><qemu:property name="netdev" type="string" value="network"/></qemu:frontend>
    </qemu:device>
  </qemu:override>
</domain>
`;
}
