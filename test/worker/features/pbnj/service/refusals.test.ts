import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { CallOptions } from "@connectrpc/connect";
import { describe, expect, it, vi } from "vitest";
import { UserRole } from "../../../../../worker/features/pbnj/api/gen/bmc_pb.ts";
import { type BootDevice, PowerAction } from "../../../../../worker/features/pbnj/api/gen/machine_pb.ts";
import { token } from "../listener/serving.ts";
import { direct, EXTERNAL, failure, pbnjLab } from "./pbnj-lab.ts";

const authn = EXTERNAL;
const powerAction = PowerAction.ON;
const external = (host: string) => ({ authn: { case: "externalAuthn", value: { host: { host } } } }) as const;
const headers = (given: Record<string, string>): CallOptions => ({ headers: given });

describe.concurrent("PBnJ's API refuses", () => {
  it("arguments that are invalid", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();
    const { machine, bmc, task } = pbnj;
    const power = (fields: object) => failure(machine.power({ authn, powerAction, ...fields }));
    const userCreds = { username: "eve", password: "a-password", userRole: UserRole.ADMIN };

    const refused = await Promise.all([
      power({ powerAction: 0 }),
      power({ powerAction: 77 }),
      power({ softTimeout: -1 }),
      power({ offDuration: -1 }),
      power({ offDuration: 3_601 }),
      power({ authn: external(" ") }),
      power({ authn: direct("") }),
      power({ authn: direct("calvin", "") }),
      power({
        authn: { authn: { ...direct().authn, value: { ...direct().authn.value, host: { host: "a/b" } } } },
      }),
      failure(machine.bootDevice({ authn })),
      failure(machine.bootDevice({ authn, bootDevice: 3 as BootDevice })),
      failure(bmc.reset({ authn })),
      failure(bmc.createUser({ authn })),
      failure(bmc.createUser({ authn, userCreds: { ...userCreds, password: "" } })),
      failure(bmc.createUser({ authn, userCreds: { ...userCreds, userRole: 0 } })),
      failure(bmc.createUser({ authn, userCreds: { ...userCreds, userRole: 9 as UserRole } })),
      failure(bmc.updateUser({ authn, userCreds: { ...userCreds, username: "" } })),
      failure(bmc.deleteUser({ authn })),
      failure(task.status({})),
    ]);

    expect(refused.filter(({ code }) => code !== "InvalidArgument")).toEqual([]);
    expect(refused[2]?.message).toBe("soft_timeout must not be negative");
    expect(lab.traffic()).toBe(0);
  });

  it("a request without authn, and names that it does not know", async () => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();

    expect(await failure(pbnj.machine.power({ powerAction }))).toEqual({
      code: "Unauthenticated",
      message: "no auth found",
    });
    expect(await failure(pbnj.machine.power({ authn: external("node-99"), powerAction }))).toMatchObject({
      code: "NotFound",
    });
    expect(await failure(pbnj.task.status({ taskId: "unknown" }))).toEqual({
      code: "NotFound",
      message: "record id not found: unknown",
    });
  });

  it.each([
    ["a BMC with its credentials", "ownConnections: deny", direct()],
    ["a machine", "agents: [{agentIds: [pbnj], machines: [rack-2-*]}]", EXTERNAL],
    ["an image", 'images: ["pbnj-worker/power-status"]', EXTERNAL],
    ["every machine of another tenant", "tenants: [{namespaces: [team-a], machines: ['*']}]", EXTERNAL],
  ])("what the policy denies: %s", async (_, policy, who) => {
    await using lab = await pbnjLab({ policy });
    await using pbnj = await lab.start();

    const refused = await failure(pbnj.machine.power({ authn: who, powerAction }));

    expect(refused).toMatchObject({ code: "PermissionDenied", message: expect.stringMatching(/^policy /) });
    expect(pbnj.worker.log).toContainEqual(expect.objectContaining({ msg: "PBnJ request rejected" }));
    expect(lab.traffic()).toBe(0);
  });

  it.each([
    ["a machine that is paused", EXTERNAL],
    ["credentials for the BMC of one", direct()],
  ])("to send anything with the reason: %s", async (_, who) => {
    await using lab = await pbnjLab();
    const file = join(lab.folder, "inventory.yaml");
    const inventory = JSON.parse(await readFile(file, "utf8"));
    await writeFile(
      file,
      JSON.stringify({ ...inventory, defaults: { ...inventory.defaults, paused: "new disks" } }),
    );
    await using pbnj = await lab.start();

    const refused = await failure(
      pbnj.ended(pbnj.machine.power({ authn: who, powerAction: PowerAction.STATUS })),
    );

    expect(refused).toEqual({
      code: "FailedPrecondition",
      message: "machine node-01 is paused: new disks (inventory inventory.yaml)",
    });
    expect(lab.traffic()).toBe(0);
  });

  it("machines beyond those of a token, and hides their tasks", async () => {
    await using lab = await pbnjLab({ argv: [] });
    const secretFile = join(lab.folder, "jwt");
    await writeFile(secretFile, "0123456789abcdef0123456789abcdef\n", { mode: 0o600 });
    await using pbnj = await lab.start("--pbnj-jwt-secret-file", secretFile);
    const bearer = async (machines: readonly string[]) =>
      headers({ authorization: `Bearer ${await token({ sub: machines.join(), machines })}` });
    const asked = { authn, powerAction: PowerAction.STATUS };
    const { taskId } = await pbnj.machine.power(asked, await bearer(["node-*"]));
    const other = await bearer(["rack-2-*"]);

    expect(await failure(pbnj.machine.power(asked))).toMatchObject({ code: "Unauthenticated" });
    expect(await failure(pbnj.machine.power(asked, other))).toMatchObject({ code: "PermissionDenied" });
    expect(await failure(pbnj.task.status({ taskId }, other))).toMatchObject({ code: "NotFound" });
    expect(await pbnj.task.status({ taskId }, await bearer(["node-01"]))).toMatchObject({ id: taskId });
  });

  it("new tasks while it stops, but still tells how the others end", async () => {
    await using lab = await pbnjLab({ machine: { power: "off", powerOnMs: "held" } });
    const pbnj = await lab.start();
    const { taskId } = await pbnj.machine.power({ authn, powerAction });
    await vi.waitFor(() => expect(lab.machine.power).toBe("powering-on"), { timeout: 10_000 });

    pbnj.worker.stop();

    expect(await failure(pbnj.machine.power({ authn, powerAction }))).toMatchObject({ code: "Unavailable" });
    expect(await pbnj.task.status({ taskId })).toMatchObject({ state: "running", complete: false });
    lab.machine.finishPowerOn();
    await pbnj.worker.ended;
    await pbnj[Symbol.asyncDispose]();
    await using next = await lab.start();
    expect(await next.task.status({ taskId })).toMatchObject({ result: "power POWER_ACTION_ON complete" });
  });
});

describe("a task that fails", () => {
  it.each([
    ["PermissionDenied", direct("wrong-password")],
    ["Unknown", direct("calvin", "admin", "127.0.0.2")],
  ])("answers with the code %s", async (code, who) => {
    await using lab = await pbnjLab();
    await using pbnj = await lab.start();

    const ended = pbnj.ended(pbnj.machine.power({ authn: who, powerAction }));

    expect(await failure(ended)).toMatchObject({ code });
  });

  it("answers a direct call with the same code", async () => {
    await using lab = await pbnjLab({ redfish: {} });
    await using pbnj = await lab.start();

    expect(await failure(pbnj.diagnostic.screenshot({ authn }))).toMatchObject({ code: "Unimplemented" });
  });
});
