import { describe, expect, it } from "vitest";
import { UserRole } from "../../../../../worker/features/pbnj/api/gen/bmc_pb.ts";
import { PowerAction } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { EXTERNAL, pbnjLab } from "./pbnj-lab.ts";

const authn = EXTERNAL;
const first = { headers: { "x-request-id": "first" } };
const reset = { authn, powerAction: PowerAction.RESET };

describe.concurrent("a request with the x-request-id of an earlier one", () => {
  it("gets its task and does not act again, also at the same time and after a restart", async () => {
    await using lab = await pbnjLab();
    const pbnj = await lab.start();
    const asked = await Promise.all([pbnj.machine.power(reset, first), pbnj.machine.power(reset, first)]);
    const [taskId] = new Set(asked.map((answer) => answer.taskId));
    await pbnj.ended(Promise.resolve({ taskId: taskId ?? "" }));
    asked.push(await pbnj.machine.power(reset, first));
    await pbnj[Symbol.asyncDispose]();

    await using next = await lab.start();
    asked.push(await next.machine.power(reset, first));

    expect(asked.map((answer) => answer.taskId)).toEqual(Array(4).fill(taskId));
    expect(await next.task.status({ taskId: taskId ?? "" })).toMatchObject({
      complete: true,
      result: "power POWER_ACTION_RESET complete",
    });
    expect(lab.done()).toEqual(["reset"]);
  });

  it("is a request of its own if it asks for something else, even if only a secret differs", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();
    const creds = (password: string) => ({ username: "eve", password, userRole: UserRole.USER });
    const ask = async (power: PowerAction) =>
      pbnj.ended(pbnj.machine.power({ authn, powerAction: power }, first));

    await ask(PowerAction.HARDOFF);
    await ask(PowerAction.ON);
    await ask(PowerAction.HARDOFF);
    const users = await Promise.all([
      pbnj.bmc.createUser({ authn, userCreds: creds("one-password") }, first),
      pbnj.bmc.createUser({ authn, userCreds: creds("another-password") }, first),
    ]);

    expect(lab.done()).toEqual(["off", "on", "off"]);
    expect(new Set(users.map(({ taskId }) => taskId)).size).toBe(2);
  });

  it("takes another screenshot, because no image is kept", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();

    const one = await pbnj.diagnostic.screenshot({ authn }, first);
    const two = await pbnj.diagnostic.screenshot({ authn }, first);

    expect(two.image).toEqual(one.image);
  });
});
