import { readFileSync } from "node:fs";
import { FakeCluster } from "./cluster.ts";
import type { ClusterAccess } from "./node/cluster-access.ts";
import { accessFromKubeconfig } from "./node/cluster-client.ts";
import { JobController } from "./node/job-controller.ts";

/** A cluster that a case runs at. */
export interface Subject {
  readonly controlPlane: ClusterAccess;
  close(): Promise<void>;
}

export interface SubjectOptions {
  /** Where Jobs get their Pods; nowhere when absent. */
  readonly jobNamespace?: string;
}

/**
 * The fake, and the real API server of PBNJ_TEST_KUBECONFIG, which must have Tinkerbell's kinds and no Job controller: what
 * the fake does, the real one does as well.
 */
export function subjects(): readonly (readonly [string, (options: SubjectOptions) => Promise<Subject>])[] {
  const file = process.env["PBNJ_TEST_KUBECONFIG"];
  const fake = ["the fake API server", startFake] as const;
  return file === undefined ? [fake] : [fake, ["a real API server", (options) => startReal(file, options)]];
}

function startFake({ jobNamespace }: SubjectOptions): Promise<Subject> {
  return FakeCluster.start({ controllers: jobNamespace !== undefined });
}

async function startReal(file: string, { jobNamespace }: SubjectOptions): Promise<Subject> {
  const controlPlane = accessFromKubeconfig(readFileSync(file, "utf8"));
  const controller =
    jobNamespace === undefined ? undefined : JobController.start(controlPlane, { namespace: jobNamespace });
  return { controlPlane, close: async () => controller?.close() };
}
