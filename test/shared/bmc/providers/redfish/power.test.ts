import { afterEach, describe, expect, test } from "vitest";
import type { PowerCommand } from "../../../../../shared/bmc/operations/power.ts";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../../../../simulators/machine.ts";
import {
  type RedfishBmc,
  type RedfishBmcOptions,
  startRedfishBmc,
} from "../../../../../simulators/redfish/bmc.ts";
import { redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { errorOf, neverAborts, until, withSession } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(machine: SimulatedMachineOptions = {}, options: RedfishBmcOptions = {}): Promise<void> {
  bmc = await startRedfishBmc({ machines: [new SimulatedMachine(machine)], ...options });
}

describe("reading power", () => {
  test("On and Off are on and off, and states on the way are unknown", async () => {
    await start({ power: "off", powerOnMs: 300, powerOffMs: 300 });

    const seen = await withSession(bmc, {}, async ({ power }) => {
      const off = await power.read(signal);
      bmc.machine.do("on");
      const poweringOn = await power.read(signal);
      await until(() => bmc.machine.power === "on", "power on");
      const on = await power.read(signal);
      bmc.machine.do("off");
      return [off, poweringOn, on, await power.read(signal)];
    });

    expect(seen).toEqual(["off", "unknown", "on", "unknown"]);
  });

  test("the first reading after open costs no request, each later one does", async () => {
    await start();

    const counts = await withSession(bmc, {}, async (session) => {
      const opened = session.roundTrips();
      await session.power.read(signal);
      const first = session.roundTrips();
      await session.power.read(signal);
      return [opened, first, session.roundTrips()];
    });

    expect(counts).toEqual([2, 2, 3]);
  });

  test("a write in between makes the first reading a fresh one", async () => {
    await start({ power: "off", powerOnMs: 0 });

    const state = await withSession(bmc, {}, async ({ power }) => {
      await power.send("on", signal);
      await until(() => bmc.machine.power === "on", "power on");
      return await power.read(signal);
    });

    expect(state).toBe("on");
  });
});

describe("choosing a reset type", () => {
  test.each<[PowerCommand, "on" | "off", string]>([
    ["on", "off", "On"],
    ["off", "on", "ForceOff"],
    ["soft-off", "on", "GracefulShutdown"],
    ["cycle", "on", "PowerCycle"],
    ["reset", "on", "ForceRestart"],
  ])("%s is carried out as planned", async (command, power, type) => {
    await start({ power });

    const plan = await withSession(bmc, {}, async (session) => {
      const planned = await session.power.plan(command, signal);
      await session.power.send(command, signal);
      return planned;
    });

    const path = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
    expect(plan).toBe(`POST ${path} {"ResetType":"${type}"}`);
    expect(bmc.requests.at(-1)).toMatchObject({ method: "POST", path, body: { ResetType: type } });
    expect(bmc.machine.commands.map(({ action }) => action)).toEqual([command]);
  });

  test("a BMC that lists no fitting type is unsupported before anything is sent, and says what it has", async () => {
    const generic = redfishProfile("generic");
    await start({}, { profile: { ...generic, resetTypes: ["On", "ForceOff"] } });

    const [planned, sent] = await withSession(bmc, {}, async ({ power }) => [
      await errorOf(power.plan("cycle", signal)),
      await errorOf(power.send("cycle", signal)),
    ]);

    expect(planned).toMatchObject({ class: "unsupported", message: expect.stringContaining("On, ForceOff") });
    expect(sent).toMatchObject({ class: "unsupported" });
    expect(bmc.log.filter((line) => line.startsWith("POST"))).toEqual([]);
  });

  test("types that only ActionInfo lists are read from there once", async () => {
    await start({ power: "on" }, { profile: "openbmc" });

    await withSession(bmc, {}, async ({ power }) => {
      await power.plan("soft-off", signal);
      await power.send("soft-off", signal);
    });

    expect(bmc.log.filter((line) => line.endsWith("ResetActionInfo"))).toHaveLength(1);
    expect(bmc.machine.count("soft-off")).toBe(1);
  });

  test("types listed nowhere are tried until one is taken", async () => {
    await start({ power: "off" }, { profile: "unlisted" });

    await withSession(bmc, {}, ({ power }) => power.send("on", signal));

    const sent = bmc.requests.filter(({ method }) => method === "POST").map(({ body }) => body);
    expect(sent).toEqual([{ ResetType: "On" }, { ResetType: "ForceOn" }]);
    expect(bmc.machine.count("on")).toBe(1);
  });

  test("types listed nowhere of which none is taken are unsupported, in the words of the BMC", async () => {
    await start({}, { profile: "unlisted" });

    const error = await withSession(bmc, {}, ({ power }) => errorOf(power.send("cycle", signal)));

    expect(error.class).toBe("unsupported");
    expect(error.message).toContain("Base.1.8.ActionParameterValueNotInList");
  });

  test("Lenovo is never sent PushPowerButton unless it lists it", async () => {
    const profile = redfishProfile("lenovo-xcc");
    await start({}, { profile: { ...profile, resetListing: "none", resetTypes: ["ForceOff"] } });

    const error = await withSession(bmc, {}, ({ power }) => errorOf(power.send("soft-off", signal)));

    expect(error.class).toBe("unsupported");
    expect(bmc.requests.filter(({ method }) => method === "POST")).toHaveLength(1);
  });
});

describe("refusals", () => {
  test("a command that the state forbids is busy and keeps the BMC's own reason", async () => {
    await start({ power: "off" });

    const error = await withSession(bmc, {}, ({ power }) => errorOf(power.send("off", signal)));

    expect(error.class).toBe("busy");
    expect(error.message).toContain("The system is off, which does not allow ForceOff.");
    expect(error.message).toContain("Base.1.8.InvalidOperationForSystemState");
    expect(error.uncertain).toBe(false);
  });

  test("iDRAC10 refusing On right after off is busy", async () => {
    await start({ power: "off" }, { profile: "dell-idrac10" });
    bmc.fail({
      kind: "refuse",
      method: "POST",
      status: 409,
      messageId: "Base.1.12.ActionParameterValueConflict",
    });

    const error = await withSession(bmc, {}, ({ power }) => errorOf(power.send("on", signal)));

    expect(error.class).toBe("busy");
  });

  test("a power command never carries If-Match", async () => {
    await start({ power: "on" }, { profile: "dell-idrac10" });

    await withSession(bmc, {}, ({ power }) => power.send("off", signal));

    expect(bmc.requests.at(-1)?.headers).not.toHaveProperty("if-match");
  });
});

describe("If-Match on an action", () => {
  const sent = () =>
    bmc.requests
      .filter(({ method }) => method === "POST")
      .map(({ headers }) => headers["if-match"] !== undefined);

  test("is sent once it is asked for", async () => {
    await start();
    bmc.fail({ kind: "refuse", method: "POST", status: 428, messageId: "Base.1.8.PreconditionRequired" });

    await withSession(bmc, {}, ({ power }) => power.send("off", signal));

    expect(sent()).toEqual([false, true]);
    expect(bmc.machine.count("off")).toBe(1);
  });

  test("that iDRAC10 answers with 412 is dropped, and the action carried out once", async () => {
    await start({}, { profile: "dell-idrac10" });
    bmc.fail({ kind: "refuse", method: "POST", status: 428, messageId: "Base.1.8.PreconditionRequired" });

    const hint = await withSession(bmc, {}, async (session) => {
      await session.power.send("off", signal);
      return session.hint();
    });

    expect(sent()).toEqual([false, true, false]);
    expect(bmc.machine.count("off")).toBe(1);
    // What an action shows says nothing about the resource.
    expect(hint).toMatchObject({ learned: [] });
  });
});
