import { once } from "node:events";
import { expect, test } from "vitest";
import { PowerAction } from "../../../worker/source/pbnj/api/gen/machine_pb.ts";
import { WorkerProgram } from "../../support/worker-program.ts";
import { clientsOf, direct, pbnjLab } from "../../worker/source/pbnj/service/pbnj-lab.ts";

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
  first.child.kill("SIGKILL");
  await first.ended;

  await using second = new WorkerProgram(lab.argv);
  const pbnj = clientsOf(String((await second.untilLogged("serving PBnJ's API"))["url"]));

  expect(await pbnj.task.status({ taskId })).toMatchObject({ state: "running" });
  expect(await lab.filesWith(PASSWORD)).toEqual([]);
  lab.machine.finishPowerOn();
  const ended = await pbnj.ended(Promise.resolve({ taskId }));
  expect(ended).toMatchObject({ result: "power POWER_ACTION_ON complete" });
  expect(lab.done()).toEqual(["on"]);
  expect(await lab.filesWith(PASSWORD)).toEqual([]);
  second.child.kill("SIGTERM");
  expect(await second.ended).toEqual({ code: 0, signal: null });
  expect(first.stderr + second.stderr).not.toContain(PASSWORD);
});
