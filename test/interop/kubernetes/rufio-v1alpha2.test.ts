import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { describeWithHelm } from "../../deploy/chart/helm.ts";
import { kubeconfigOf } from "../../support/kubeconfig.ts";
import { clusterLab, PASSWORD } from "../../system/worker/cluster-lab.ts";
import { findProgram } from "../programs.ts";
import { chartRights } from "./chart-rights.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";

/**
 * Jobs of v1alpha2 at an API server with Tinkerbell's own definitions, of which `TINKERBELL_CRDS` is the folder
 * (`crd/bases/v1alpha2` of its repository). Skipped without it.
 */
const folder = process.env["TINKERBELL_CRDS"] ?? "";
const etcd = findProgram("etcd");
const apiServer = findProgram("kube-apiserver");
const controllerManager = findProgram("kube-controller-manager");
const FILES = ["bmc.tinkerbell.org_jobs.yaml", "tinkerbell.org_hardware.yaml"];
const TEST = { timeout: 240_000 };
const IN_TIME = { timeout: 120_000, interval: 200 };
const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
const RUNNING = { type: "Running", status: "True", lastUpdateTime: TIME };

describe.runIf(folder && etcd && apiServer && controllerManager)("with Tinkerbell's definitions", () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    if (!etcd || !apiServer || !controllerManager) return;
    const definitions = FILES.map((file) => parse(readFileSync(join(folder, file), "utf8")) as object);
    plane = await startControlPlane({ etcd, apiServer, controllerManager }, { definitions });
  }, 240_000);
  afterAll(async () => plane[Symbol.asyncDispose]());

  describeWithHelm("and the rights of the chart", () => {
    async function openLab() {
      const rules = await chartRights({
        inventory: { kubernetes: ["hardware"] },
        rufio: { enabled: true, api: "v1alpha2" },
      });
      const real = { kubeconfig: kubeconfigOf(plane.access), hasJobController: true };
      const parts = new AsyncDisposableStack();
      const lab = parts.use(await clusterLab({ machines: 0, inventory: "hardware", rules, real }));
      const machine = new SimulatedMachine({ name: "one", powerOffMs: 50, powerOnMs: 50 });
      const bmc = parts.use(
        await startRedfishBmc({ machines: [machine], username: "admin", password: PASSWORD }),
      );
      const { client, namespace } = lab;
      await client.create(`/api/v1/namespaces/${namespace}/secrets`, {
        metadata: { name: "one-bmc" },
        stringData: { username: "admin", password: PASSWORD },
      });
      const connection = {
        host: "127.0.0.1",
        insecureTLS: true,
        credentialsRef: { name: "one-bmc", namespace },
        providerOptions: { preferredOrder: ["gofish"], redfish: { port: bmc.port } },
      };
      await client.create(`/apis/tinkerbell.org/v1alpha2/namespaces/${namespace}/hardware`, {
        apiVersion: "tinkerbell.org/v1alpha2",
        kind: "Hardware",
        metadata: { name: "one" },
        spec: { bmc: { connection } },
      });
      const worker = lab.start([
        ...["--rufio", "--rufio-alone", "--rufio-api", "v1alpha2"],
        ...["--rufio-image", "registry.example/pbnj-worker/{action}:{version}"],
      ]);
      await worker.untilLogged("Rufio lease is free, taking over");
      const jobs = `/apis/bmc.tinkerbell.org/v1alpha2/namespaces/${namespace}/jobs`;
      return {
        machine,
        worker,
        connection,
        hardwareRef: { name: "one", namespace },
        create: (name: string, spec: object) =>
          client.create(jobs, {
            apiVersion: "bmc.tinkerbell.org/v1alpha2",
            ...{ kind: "Job", metadata: { name }, spec },
          }),
        status: async (name: string) => (await client.get(`${jobs}/${name}`)).status,
        [Symbol.asyncDispose]: () => parts.disposeAsync(),
      };
    }

    const isOver = (type: string) =>
      expect.objectContaining({
        conditions: expect.arrayContaining([expect.objectContaining({ type, status: "True" })]),
      });

    test("runs a Job to its end, one that fails, and one with a connection", TEST, async () => {
      await using lab = await openLab();
      const { hardwareRef, connection } = lab;

      await lab.create("netboot", {
        hardwareRef,
        operations: [
          { powerAction: "off", timeoutSeconds: 60 },
          { virtualMediaAction: { kind: "CD", mediaURL: "http://192.0.2.9/hook.iso" } },
          { bootDevice: { name: "pxe", efiBoot: true } },
          { powerAction: "on" },
        ],
      });
      await vi.waitFor(async () => expect(await lab.status("netboot")).toEqual(isOver("Completed")), IN_TIME);
      expect(await lab.status("netboot")).toEqual({
        conditions: [
          RUNNING,
          {
            ...{ type: "OperationStarted", status: "False", lastUpdateTime: TIME },
            message: "operation 4 (power-on)",
          },
          { type: "Completed", status: "True", lastUpdateTime: TIME },
        ],
        startTime: TIME,
        completionTime: TIME,
        completedOperations: 4,
      });

      await lab.create("fails", {
        connection,
        operations: [{ powerAction: "off" }, { powerAction: "reset" }, { powerAction: "on" }],
      });
      await vi.waitFor(async () => expect(await lab.status("fails")).toEqual(isOver("Failed")), IN_TIME);
      expect(await lab.status("fails")).toEqual({
        conditions: [
          RUNNING,
          expect.objectContaining({ type: "OperationStarted", status: "False" }),
          {
            ...{ type: "Failed", status: "True", lastUpdateTime: TIME },
            message: expect.stringMatching(/^operation 2 \(power-reset\): .*the machine is off/),
          },
        ],
        startTime: TIME,
        completedOperations: 1,
      });

      await lab.create("waits", {
        hardwareRef: { ...hardwareRef, name: "none" },
        operations: [{ powerAction: "on" }],
      });
      await vi.waitFor(
        async () =>
          expect(await lab.status("waits")).toEqual({
            conditions: [
              {
                ...{ type: "Running", status: "False", lastUpdateTime: TIME },
                message: expect.stringMatching(/^no Hardware .*\/none with spec.bmc.connection found$/),
              },
            ],
          }),
        IN_TIME,
      );
      await lab.create("nowhere", { operations: [{ powerAction: "on" }] });
      await vi.waitFor(async () => expect(await lab.status("nowhere")).toEqual(isOver("Failed")), IN_TIME);

      expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off", "on", "off"]);
      expect(lab.worker.stderr).not.toMatch(/update failed/);
    });

    test("is never given what the definition's rules forbid", TEST, async () => {
      await using lab = await openLab();
      const { hardwareRef, connection } = lab;
      const on = { powerAction: "on" };

      await expect(lab.create("both", { hardwareRef, connection, operations: [on] })).rejects.toThrow(
        "mutually exclusive",
      );
      await expect(
        lab.create("two", { hardwareRef, operations: [{ ...on, bootDevice: { name: "pxe" } }] }),
      ).rejects.toThrow("only one of");
      await expect(lab.create("none", { hardwareRef, operations: [] })).rejects.toThrow("operations");
    });
  });
});
