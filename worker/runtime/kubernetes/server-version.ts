import { KubernetesError } from "../../cluster/client/kubernetes-error.ts";

/** Where `podReplacementPolicy` is on by default, without which a Job may make a second pod. */
const OLDEST_MINOR = 29;

/** The version of an API server, such as `v1.37.0`. Throws where it is too old. */
export function requireVersion(version: string): string {
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  if (Number(major) === 1 && Number(minor) < OLDEST_MINOR) {
    const text = `the cluster is Kubernetes ${version}: 1.${OLDEST_MINOR} is needed, as older ones may run an action twice`;
    throw new KubernetesError("unexpected", text);
  }
  return version;
}
