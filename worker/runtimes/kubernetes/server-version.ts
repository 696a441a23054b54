import { KubernetesError } from "../../kubernetes/client/kubernetes-error.ts";

/** From this version on, `podReplacementPolicy` is on by default. Without it, a Job may create a second pod. */
const OLDEST_MINOR = 29;

/** Returns the version of an API server, such as `v1.37.0`. Throws if it is too old. */
export function requireVersion(version: string): string {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (Number(major) === 1 && Number(minor) < OLDEST_MINOR) {
    const text = `the cluster is Kubernetes ${version}: 1.${OLDEST_MINOR} is needed, as older ones may run an action twice`;
    throw new KubernetesError("unexpected", text);
  }
  return version;
}
