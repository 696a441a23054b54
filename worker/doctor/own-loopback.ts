import { existsSync } from "node:fs";
import type { Finding } from "../findings/finding.ts";

/** Docker and Podman create these files in each container. */
const CONTAINER_FILES = ["/.dockerenv", "/run/.containerenv"];
const REFUSED = /connection refused|no container engine listens/;
const LOOPBACK = /(?<![\w.])(?:127\.\d+\.\d+\.\d+|localhost|\[::1\]|::1)(?![\w.])/;

/** Whether this process runs in a container or a pod. */
export function isInContainer(): boolean {
  return (
    process.env["KUBERNETES_SERVICE_HOST"] !== undefined || CONTAINER_FILES.some((path) => existsSync(path))
  );
}

/**
 * Adds a fix to a finding inside a container if a loopback address refused the connection, because it is usually the
 * container's own.
 */
export function explainOwnLoopback(finding: Finding): Finding {
  const { state, detail, subject = "", remedy = "" } = finding;
  const [address] = LOOPBACK.exec(`${subject} ${detail}`) ?? [];
  if (state !== "problem" || address === undefined || !REFUSED.test(detail)) return finding;
  const fix =
    `inside a container, ${address} is the container's own loopback: use an address that the container reaches, such as ` +
    "the host's in its network (a lab listens there with pbnj-worker lab --host <address>), or start the container with " +
    `--network host. Otherwise ${remedy}`;
  return { ...finding, remedy: fix };
}
