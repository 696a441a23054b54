import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { describe } from "vitest";
import { fromGo, fromPython, type Peer, provenWith } from "./compatibility/peer.ts";

/** What is installed, by one of its programs. */
const PEERS: Readonly<Record<string, (path: string) => Peer>> = {
  chromium: (path) => ({ name: "Chromium", version: [path, "--version"] }),
  fakebmc: () => fromPython("pyghmi fakebmc", "/usr/bin/python3", "pyghmi"),
  fish: (path) => ({ name: "fish", version: [path, "--version"] }),
  goipmi: (path) => fromGo("go-ipmi", path, "bougou/go-ipmi"),
  grpcurl: (path) => fromGo("grpcurl", path, "fullstorydev/grpcurl"),
  "ipmi-chassis": (path) => ({ name: "freeipmi", version: [path, "--version"] }),
  // It says so before it looks for its configuration.
  ipmi_sim: (path) => ({ name: "ipmi_sim", version: [path, "-h"] }),
  ipmipower: (path) => ({ name: "freeipmi", version: [path, "--version"] }),
  ipmitool: (path) => ({ name: "ipmitool", version: [path, "-V"] }),
  libvirtd: (path) => ({ name: "libvirt", version: [path, "--version"] }),
  kubeconform: (path) => fromGo("kubeconform", path, "yannh/kubeconform"),
  promtool: (path) => ({ name: "promtool", version: [path, "--version"] }),
  "qemu-system-x86_64": (path) => ({ name: "QEMU", version: [path, "--version"] }),
  zsh: (path) => ({ name: "zsh", version: [path, "--version"] }),
};

/**
 * Tests that need an independent program: run where it is installed, skipped with a notice where it is not,
 * and an error there when REQUIRE_INTEROP=1 says that it must be.
 */
export function describeWithProgram(program: string, title: string, tests: () => void): void {
  const path = findProgram(program);
  if (path !== undefined) {
    const peer = PEERS[program]?.(path);
    describe(title, provenWith(...(peer ? [peer] : [])), tests);
    return;
  }
  if (process.env["REQUIRE_INTEROP"] === "1") {
    throw new Error(`REQUIRE_INTEROP=1, but ${program} is not installed`);
  }
  process.stderr.write(`skipped, ${program} is not installed: ${title}\n`);
  describe.skip(title, tests);
}

/** Its path; undefined where it is not installed. Debian keeps some in directories that users do not search. */
export function findProgram(program: string): string | undefined {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
