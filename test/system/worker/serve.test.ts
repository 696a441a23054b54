import { once } from "node:events";
import { expect, test } from "vitest";
import { PowerAction } from "../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { CommandInProcess } from "../../support/command-in-process.ts";
import { openFakeCluster } from "../../support/fake-cluster.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import { clientsOf, direct, EXTERNAL, pbnjLab } from "../../worker/features/pbnj/service/pbnj-lab.ts";

const PASSWORD = "canary-bmc-5d1e";

test("pbnj-worker serve adopts a task's action after a crash, and no file has the request's password", {
  timeout: 90_000,
}, async () => {
  await using lab = await pbnjLab({
    machine: { power: "off", powerOnMs: "held" },
    redfish: { password: PASSWORD },
  });
  const begun = once(lab.machine, "command");
  await using first = new WorkerProgram(lab.argv);
  const { url } = await first.untilLogged("serving PBnJ's API");
  const asked = { authn: direct(PASSWORD), powerAction: PowerAction.ON };
  const { taskId } = await clientsOf(String(url)).machine.power(asked);
  await begun;
  first.kill("SIGKILL");
  await first.ended;

  await using second = new CommandInProcess(lab.argv);
  const pbnj = clientsOf(String((await second.untilLogged("serving PBnJ's API"))["url"]));

  expect(await pbnj.task.status({ taskId })).toMatchObject({ state: "running" });
  expect(await lab.filesWith(PASSWORD)).toEqual([]);
  lab.machine.finishPowerOn();
  const ended = await pbnj.ended(Promise.resolve({ taskId }));
  expect(ended).toMatchObject({ result: "power POWER_ACTION_ON complete" });
  expect(lab.done()).toEqual(["on"]);
  expect(await lab.filesWith(PASSWORD)).toEqual([]);
  second.kill("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(first.stderr + second.stderr).not.toContain(PASSWORD);
});

test("pbnj-worker serve keeps serving tasks when the machines of a cluster change", {
  timeout: 90_000,
}, async () => {
  await using lab = await pbnjLab();
  const { fake: cluster, kubeconfig } = await openFakeCluster({}, lab);
  await using worker = new CommandInProcess([
    ...lab.argv,
    ...["--kubeconfig", kubeconfig, "--kubernetes-inventory", "machines"],
  ]);
  const pbnj = clientsOf(String((await worker.untilLogged("serving PBnJ's API"))["url"]));
  const connection = { host: "bmc.example", port: 623, authSecretRef: { name: "a", namespace: "default" } };
  cluster.create("bmc.tinkerbell.org/v1alpha1", "Machine", {
    metadata: { name: "node-02", namespace: "default" },
    spec: { connection },
  });
  await worker.untilLogged("cluster machines updated");

  const asked = pbnj.machine.power({ authn: EXTERNAL, powerAction: PowerAction.STATUS });

  expect(await pbnj.ended(asked)).toMatchObject({ result: "on" });
  worker.kill("SIGTERM");
  await worker.ended;
});
