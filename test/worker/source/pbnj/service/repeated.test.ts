import { describe, expect, it } from "vitest";
import { UserRole } from "../../../../../worker/source/pbnj/api/gen/bmc_pb.ts";
import { PowerAction } from "../../../../../worker/source/pbnj/api/gen/machine_pb.ts";
import { direct, EXTERNAL, failure, pbnjLab } from "./pbnj-lab.ts";

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

  it("is refused if it asks for something else, even if only a secret differs", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();
    const userCreds = { username: "eve", password: "one-password", userRole: UserRole.USER };
    const second = { headers: { "x-request-id": "second" } };
    await pbnj.ended(pbnj.machine.power({ authn, powerAction: PowerAction.STATUS }, first));
    await pbnj.ended(pbnj.bmc.createUser({ authn, userCreds }, second));

    const refused = await Promise.all([
      failure(pbnj.machine.power(reset, first)),
      failure(pbnj.machine.power({ ...reset, authn: direct() }, first)),
      failure(pbnj.bmc.createUser({ authn, userCreds: { ...userCreds, password: "another" } }, second)),
    ]);

    expect(refused.map(({ code }) => code)).toEqual(Array(3).fill("AlreadyExists"));
    expect(lab.done()).toEqual([]);
  });

  it("takes another screenshot, because no image is kept", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();

    const one = await pbnj.diagnostic.screenshot({ authn }, first);
    const two = await pbnj.diagnostic.screenshot({ authn }, first);

    expect(two.image).toEqual(one.image);
  });
});
