import { z } from "zod";
import type { Checked } from "../../shared/document/problem.ts";
import { printableLine } from "../../shared/printable.ts";
import { textOf } from "../../shared/text-of.ts";
import { KINDS } from "../kubernetes/client/kinds.ts";
import { renderedTemplate } from "./rendered-workflow.ts";
import type { Template } from "./template.ts";

/** A namespace (RFC 1123 label) and a name (RFC 1123 subdomain). */
const NAME = /^([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\/([a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?)$/;
const TIMEOUT_MS = 30_000;

export interface WorkflowCluster {
  /** The kubeconfig to use; absent means the one that kubectl would find. */
  readonly kubeconfig?: string | undefined;
}

/**
 * Fetches the template that the server rendered for a Workflow of the cluster. Settings with problems may name another
 * cluster, so without `cluster` only the name is checked.
 */
export async function fetchWorkflow(
  id: string,
  cluster: WorkflowCluster | undefined,
): Promise<Checked<Template>> {
  const [, namespace, name] = NAME.exec(id) ?? [];
  const refused = (message: string) =>
    ({ ok: false, problems: [{ source: "--workflow", message }] }) as const;
  if (namespace === undefined || name === undefined)
    return refused("must be namespace/name, such as tink/reboot-node-1");
  if (!cluster) return { ok: false, problems: [] };
  const { Cluster } = await import("../kubernetes/client/cluster.ts");
  try {
    const opened = await Cluster.open({ kubeconfig: cluster.kubeconfig });
    try {
      const bound = AbortSignal.timeout(TIMEOUT_MS);
      const value = await opened.get(KINDS.workflow, { namespace, name }, z.unknown(), bound);
      return renderedTemplate({ value, sourceOf: () => id });
    } finally {
      await opened.close();
    }
  } catch (thrown) {
    return refused(printableLine(textOf(thrown)));
  }
}
