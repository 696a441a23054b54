import { cleanPath, isWithin } from "./path.ts";
import type { VolumeRule } from "./policy.ts";

/** Sockets that give full control of the host through a container engine. */
const ENGINE_SOCKETS = [
  "/run/docker.sock",
  "/run/podman/podman.sock",
  "/run/containerd/containerd.sock",
  "/run/crio/crio.sock",
  "/run/cri-dockerd.sock",
];
const ENGINE_SOCKET_NAME = /^(docker|podman|containerd|crio|cri-dockerd)\.sock$/;

/** The verdict of the policy's volumes on an absolute host path, based only on its text. */
export type HostPathVerdict =
  | { readonly listed: false }
  | {
      readonly listed: true;
      readonly writable: boolean;
      /** The engine's socket at or below the path, unless the policy lists it. */
      readonly openSocket: string | undefined;
    };

export function judgeHostPath(path: string, rules: readonly VolumeRule[]): HostPathVerdict {
  const clean = cleanPath(path);
  const covering = rules.filter((rule) => covers(rule, clean));
  if (covering.length === 0) return { listed: false };
  const sockets = ENGINE_SOCKETS.filter((socket) => isWithin(socket, clean));
  if (ENGINE_SOCKET_NAME.test(clean.split("/").at(-1) ?? "")) sockets.push(clean);
  return {
    listed: true,
    writable: covering.some((rule) => rule.access === "rw"),
    openSocket: sockets.find((socket) => !rules.some((rule) => cleanPath(rule.path) === socket)),
  };
}

/** Whether a clean path is an engine's socket. */
export function isEngineSocket(path: string): boolean {
  return ENGINE_SOCKETS.includes(path) || ENGINE_SOCKET_NAME.test(path.split("/").at(-1) ?? "");
}

export function climbs(path: string): boolean {
  return path.split("/").includes("..");
}

/** The ending of a path that covers each of its folders separately. */
const EACH = "/*";

/** Whether a rule covers a clean path: its folder and everything below it, or everything in each of its folders. */
function covers({ path }: VolumeRule, clean: string): boolean {
  if (!path.endsWith(EACH)) return isWithin(clean, cleanPath(path));
  const parent = cleanPath(path.slice(0, -EACH.length));
  return clean !== parent && isWithin(clean, parent);
}

/** The folders that actions may write to. They are looked up by the parts of a path, because a policy may have thousands. */
export class WritableFolders {
  readonly #folders = new Set<string>();
  /** Folders whose subfolders are writable. */
  readonly #parents = new Set<string>();

  constructor(rules: readonly VolumeRule[]) {
    for (const { path, access } of rules) {
      if (access !== "rw") continue;
      if (path.endsWith(EACH)) this.#parents.add(cleanPath(path.slice(0, -EACH.length)));
      else this.#folders.add(cleanPath(path));
    }
  }

  /**
   * The folder above a path, if any, that actions may write to. An action may have replaced any part of the path below that
   * folder by a link, even after a check.
   */
  above(path: string): string | undefined {
    const clean = cleanPath(path);
    let parent: string | undefined;
    for (let end = 0; end >= 0 && end < clean.length - 1; end = clean.indexOf("/", end + 1)) {
      const folder = clean.slice(0, end) || "/";
      if (this.#folders.has(folder) || (parent !== undefined && this.#parents.has(parent))) return folder;
      parent = folder;
    }
    return undefined;
  }
}
