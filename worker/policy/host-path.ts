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
  const clean = normalise(path);
  const covering = rules.filter((rule) => isWithin(clean, normalise(rule.path)));
  if (covering.length === 0) return { listed: false };
  const sockets = ENGINE_SOCKETS.filter((socket) => isWithin(socket, clean));
  if (ENGINE_SOCKET_NAME.test(clean.split("/").at(-1) ?? "")) sockets.push(clean);
  return {
    listed: true,
    writable: covering.some((rule) => rule.access === "rw"),
    openSocket: sockets.find((socket) => !rules.some((rule) => normalise(rule.path) === socket)),
  };
}

export function climbs(path: string): boolean {
  return path.split("/").includes("..");
}

/** `/var/run` links to `/run`. */
function normalise(path: string): string {
  const clean = `/${path
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/")}`;
  return clean.replace(/^\/var\/run(?=\/|$)/, "/run");
}

function isWithin(path: string, folder: string): boolean {
  return folder === "/" || path === folder || path.startsWith(`${folder}/`);
}
