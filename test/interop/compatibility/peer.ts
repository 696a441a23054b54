import type { MachineResult } from "./machines.ts";
import type { PeerName } from "./peers.ts";

/** A program of others that a test runs against. */
export interface Peer {
  readonly name: PeerName;
  /** A command whose output has the version first: of the program that the test runs. */
  readonly version: readonly string[];
}

/** `describe(title, provenWith(peer), tests)`: docs/reference/compatibility.md lists the tests that passed. */
export const provenWith = (...peers: readonly Peer[]) => ({ meta: { peers } });

/** A peer out of a Python package. */
export const fromPython = (name: PeerName, python: string, distribution: string): Peer => ({
  name,
  version: [python, "-c", `import importlib.metadata as m; print(m.version("${distribution}"))`],
});

/** A peer out of a Go module, whose version its binary has. */
export const fromGo = (name: PeerName, binary: string, module: string): Peer => ({
  name,
  version: ["grep", "-aom1", `${module}\tv[0-9.]*`, binary],
});

declare module "vitest" {
  interface TaskMeta {
    peers?: readonly Peer[];
    /** The outcome of each action with a server: `works`, or the server's limit. */
    actions?: { readonly server: PeerName; readonly outcomes: Readonly<Record<string, string>> };
    /** What the actions said of a recorded machine. */
    machine?: MachineResult & { readonly name: string };
  }
}
