import { describeWithHelm } from "../../deploy/chart/helm.ts";
import { type ClusterLabOptions, clusterLab } from "../../system/worker/cluster-lab.ts";
import { itSurvivesInACluster, itWorksInACluster } from "../../system/worker/cluster-scenarios.ts";
import { chartRights } from "./chart-rights.ts";
import { describeWithKubernetes } from "./with-kubernetes.ts";

describeWithKubernetes("a worker in a cluster", (kubeconfig) => {
  describeWithHelm("with the rights of the chart", () => {
    const open = async (options: ClusterLabOptions) => {
      const rules = await chartRights();
      return clusterLab({ ...options, rules, real: { kubeconfig, hasJobController: true } });
    };
    itSurvivesInACluster(open);
    itWorksInACluster(open);
  });
});
