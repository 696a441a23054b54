import { readFileSync } from "node:fs";
import { describe, it } from "vitest";
import { clusterLab } from "../system/worker/cluster-lab.ts";
import { itWorksInACluster } from "../system/worker/cluster-scenarios.ts";

const kubeconfig = process.env["KUBECONFIG"];

/** Against a real API server with Tinkerbell's definitions and no controller of Jobs; its node is played here. */
describe.runIf(kubeconfig)("a worker in a cluster with a real API server", () => {
  itWorksInACluster((options) => {
    const real = { kubeconfig: readFileSync(kubeconfig ?? "", "utf8"), hasJobController: false };
    return clusterLab({ ...options, real });
  });
});

if (!kubeconfig) {
  it.skip("a worker in a cluster with a real API server: set KUBECONFIG to run it", () => undefined);
}
