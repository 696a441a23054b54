import { readFileSync } from "node:fs";
import { type ClusterAccess, FakeCluster } from "./cluster.ts";
import { accessFromKubeconfig } from "./node/cluster-client.ts";
import { JobController } from "./node/job-controller.ts";

/** A cluster that a case runs at. */
export interface Subject {
  readonly controlPlane: ClusterAccess;
  close(): Promise<void>;
}

export interface SubjectOptions {
  /** Whether Jobs get their Pods. */
  readonly jobs: boolean;
  readonly retryDelayMs?: number;
}

/**
 * The fake, and a real API server (without controllers for Jobs, and with Tinkerbell's kinds) when PBNJ_TEST_KUBECONFIG names
 * its kubeconfig: what holds for one holds for the other.
 */
export function subjects(): readonly (readonly [string, (options: SubjectOptions) => Promise<Subject>])[] {
  const file = process.env["PBNJ_TEST_KUBECONFIG"];
  const fake = ["the fake API server", startFake] as const;
  return file === undefined ? [fake] : [fake, ["a real API server", (options) => startReal(file, options)]];
}

function startFake({ jobs, retryDelayMs }: SubjectOptions): Promise<Subject> {
  return FakeCluster.start({ controllers: jobs, ...(retryDelayMs === undefined ? {} : { retryDelayMs }) });
}

async function startReal(file: string, { jobs, retryDelayMs }: SubjectOptions): Promise<Subject> {
  const controlPlane = accessFromKubeconfig(readFileSync(file, "utf8"));
  const controller = jobs
    ? JobController.start(controlPlane, retryDelayMs === undefined ? {} : { retryDelayMs })
    : undefined;
  return { controlPlane, close: async () => controller?.close() };
}
