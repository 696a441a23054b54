import { describeWithHelm } from "../../deploy/chart/helm.ts";
import { clusterLab } from "../../system/worker/cluster-lab.ts";
import { itWorksInACluster } from "../../system/worker/cluster-scenarios.ts";
import { chartRights } from "./chart-rights.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

describeWithKubernetes("a worker in a cluster", (kubeconfig) => {
  describeWithHelm("with the rights of the chart", () => {
    itWorksInACluster(async (options) => {
      const rules = await chartRights();
      return clusterLab({ ...options, rules, real: { kubeconfig, hasJobController: true } });
    });
  });
});
