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

/** What the policy's volumes say about an absolute host path, by its text alone. */
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

/** The end of a path that covers each of its folders separately. */
const EACH = "/*";

/** Whether a rule is about a clean path: its folder and what is below it, or what is in each of its folders. */
function covers({ path }: VolumeRule, clean: string): boolean {
  if (!path.endsWith(EACH)) return isWithin(clean, cleanPath(path));
  const parent = cleanPath(path.slice(0, -EACH.length));
  return clean !== parent && isWithin(clean, parent);
}

/** The folder that a rule names on the way to a clean path that it covers. */
function folderOf({ path }: VolumeRule, clean: string): string {
  if (!path.endsWith(EACH)) return cleanPath(path);
  const parent = cleanPath(path.slice(0, -EACH.length));
  const depth = parent.split("/").length + (parent === "/" ? 0 : 1);
  return clean.split("/").slice(0, depth).join("/");
}

/**
 * The folder above a path, if any, in which actions may write: one of them may have put a link in the place of any part of the
 * path below that folder, also after every check.
 */
export function writableFolderAbove(path: string, rules: readonly VolumeRule[]): string | undefined {
  const clean = cleanPath(path);
  return rules
    .filter((rule) => rule.access === "rw" && covers(rule, clean))
    .map((rule) => folderOf(rule, clean))
    .find((folder) => folder !== clean);
}
