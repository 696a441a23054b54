import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { parse } from "yaml";
import { describeWithHelm } from "../../deploy/chart/helm.ts";
import { kubeconfigOf } from "../../support/kubeconfig.ts";
import { clusterLab } from "../../system/worker/cluster-lab.ts";
import { itUsesDiscoveredMachines } from "../../system/worker/discovered-machines.ts";
import { findProgram } from "../programs.ts";
import { chartRights } from "./chart-rights.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";

/** Discovered machines at an API server with Tinkerbell's own definitions. Skipped without `TINKERBELL_CRDS`. */
const folder = process.env["TINKERBELL_CRDS"] ?? "";
const etcd = findProgram("etcd");
const apiServer = findProgram("kube-apiserver");
const controllerManager = findProgram("kube-controller-manager");
const FILES = ["machines", "jobs", "tasks"].map((plural) => `bmc.tinkerbell.org_${plural}.yaml`);
const TINK_FILES = ["hardware", "templates", "workflows"].map((plural) => `tinkerbell.org_${plural}.yaml`);

describe.runIf(folder && etcd && apiServer && controllerManager)("with Tinkerbell's definitions", () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    if (!etcd || !apiServer || !controllerManager) return;
    const definitions = [...FILES, ...TINK_FILES].map(
      (file) => parse(readFileSync(join(folder, "..", "v1alpha1", file), "utf8")) as object,
    );
    plane = await startControlPlane({ etcd, apiServer, controllerManager }, { definitions });
  }, 240_000);
  afterAll(async () => plane[Symbol.asyncDispose]());

  describeWithHelm("and the rights of the chart, a worker", () => {
    itUsesDiscoveredMachines(async (options) => {
      const rules = await chartRights({ inventory: { kubernetes: ["machines", "hardware"] } });
      return clusterLab({
        ...options,
        rules,
        real: { kubeconfig: kubeconfigOf(plane.access), hasJobController: true },
      });
    });
  });
});
