import { stringify } from "yaml";
import type { ClusterAccess } from "../../simulators/kubernetes/node/cluster-access.ts";

/** The text of a kubeconfig that needs no other file. */
export function kubeconfigOf({ url, ca, token, cert, key }: ClusterAccess, namespace?: string): string {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "c", cluster: { server: url, ...(ca && { "certificate-authority-data": base64(ca) }) } },
    ],
    users: [
      {
        name: "u",
        user: {
          ...(token && { token }),
          ...(cert && { "client-certificate-data": base64(cert) }),
          ...(key && { "client-key-data": base64(key) }),
        },
      },
    ],
    contexts: [{ name: "x", context: { cluster: "c", user: "u", ...(namespace && { namespace }) } }],
    "current-context": "x",
  });
}
