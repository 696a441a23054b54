import type { VolumeRule } from "./policy.ts";

/** Sockets through which a container engine can be told to do anything on the host. */
const ENGINE_SOCKETS = [
  "/run/docker.sock",
  "/run/podman/podman.sock",
  "/run/containerd/containerd.sock",
  "/run/crio/crio.sock",
  "/run/cri-dockerd.sock",
];
const ENGINE_SOCKET_NAME = /^(docker|podman|containerd|crio|cri-dockerd)\.sock$/;

/** Why a volume of an action may not be mounted; undefined when it may. */
export function volumeProblem(volume: string, rules: readonly VolumeRule[]): string | undefined {
  const [source = "", target = "", options = "", ...more] = volume.split(":");
  if (more.length > 0 || target === "") return `${volume} is not source:target or source:target:options`;
  if (!source.startsWith("/")) return `${volume} is not allowed: only absolute host paths can be mounted`;
  if (!target.startsWith("/")) return `${volume} is not allowed: the target must be an absolute path`;
  if ([source, target].some((path) => path.split("/").includes(".."))) {
    return `${volume} is not allowed: a path must not contain ..`;
  }
  const asked = options === "" ? ["rw"] : options.split(",");
  const strange = asked.find((option) => option !== "ro" && option !== "rw");
  if (strange !== undefined) return `${volume} is not allowed: the option ${strange} is none of ro, rw`;

  const path = normalise(source);
  const covering = rules.filter((rule) => isWithin(path, normalise(rule.path)));
  if (covering.length === 0) return `${volume} is not allowed`;
  const sockets = ENGINE_SOCKETS.filter((socket) => isWithin(socket, path));
  if (ENGINE_SOCKET_NAME.test(path.split("/").at(-1) ?? "")) sockets.push(path);
  const open = sockets.find((socket) => !rules.some((rule) => normalise(rule.path) === socket));
  if (open !== undefined) {
    return `${volume} is not allowed: it holds the container engine's socket ${open}, which the policy does not list`;
  }
  const writable = covering.some((rule) => rule.access === "rw");
  if (!writable && !asked.every((option) => option === "ro")) {
    return `${volume} is not allowed: the path may only be mounted read-only, add :ro`;
  }
  return undefined;
}

/** `/var/run` is a link to `/run` on every system that has both. */
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
