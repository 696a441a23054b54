import { afterEach, describe, expect, test } from "vitest";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import {
  type RedfishBmc,
  type RedfishBmcOptions,
  startRedfishBmc,
} from "../../../../../simulators/redfish/bmc.ts";
import { errorOf, neverAborts, openSession, withSession } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(options: RedfishBmcOptions = {}): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", ...options });
}

async function startBlades(): Promise<void> {
  const machines = [new SimulatedMachine({ power: "on" }), new SimulatedMachine({ power: "off" })];
  await start({ machines, profile: "openbmc" });
}

const read = (options: Parameters<typeof withSession>[1]) =>
  withSession(bmc, options, ({ power }) => power.read(signal));

describe("the system", () => {
  test("is the only member, found without the service root", async () => {
    await start();

    await read({});

    expect(bmc.log).toEqual(["GET /redfish/v1/Systems", "GET /redfish/v1/Systems/1"]);
  });

  test("is selected by path in one request", async () => {
    await startBlades();

    const state = await read({ redfish: { system: "/redfish/v1/Systems/system-2" } });

    expect(state).toBe("off");
    expect(bmc.log).toEqual(["GET /redfish/v1/Systems/system-2"]);
  });

  test("is selected by Id in one request", async () => {
    await startBlades();

    const state = await read({ redfish: { system: "system-2" } });

    expect(state).toBe("off");
    expect(bmc.log).toEqual(["GET /redfish/v1/Systems/system-2"]);
  });

  test("is selected by Name, as Rufio has it, where that is the name of one", async () => {
    const machines = ["alpha", "beta", "beta"].map(
      (name, index) => new SimulatedMachine({ name, power: index === 0 ? "off" : "on" }),
    );
    await start({ machines, profile: "openbmc" });

    expect(await read({ redfish: { system: "alpha" } })).toBe("off");
    const error = await errorOf(openSession(bmc, { redfish: { system: "beta" } }));
    expect(error.message).toContain("no system beta; it has /redfish/v1/Systems/system-1");
  });

  test("is never guessed: several without a selector are a usage error that names them", async () => {
    await startBlades();

    const error = await errorOf(openSession(bmc));

    expect(error.class).toBe("usage");
    expect(error.message).toContain("/redfish/v1/Systems/system-1, /redfish/v1/Systems/system-2");
  });

  test("that a selector does not fit is a usage error that names what there is", async () => {
    await startBlades();

    const error = await errorOf(openSession(bmc, { redfish: { system: "system-3" } }));

    expect(error.class).toBe("usage");
    expect(error.message).toContain("no system system-3; it has /redfish/v1/Systems/system-1");
  });
});

test("systems on several pages are all found", async () => {
  const machines = [new SimulatedMachine(), new SimulatedMachine(), new SimulatedMachine({ power: "off" })];
  await start({ machines, profile: "paging" });

  const error = await errorOf(openSession(bmc));

  expect(error.class).toBe("usage");
  expect(error.message).toContain("/redfish/v1/Systems/1-3");
});

describe("a hint", () => {
  test("saves the collection", async () => {
    await start();
    const hint = await withSession(bmc, {}, async (session) => session.hint());
    bmc.forget();

    const state = await read({ hint });

    expect(state).toBe("on");
    expect(bmc.log).toEqual(["GET /redfish/v1/Systems/1"]);
  });

  test("is plain JSON without a secret", async () => {
    await start({ password: "canary-password" });

    const hint = await withSession(bmc, {}, async (session) => session.hint());

    expect(JSON.parse(JSON.stringify(hint))).toEqual(hint);
    expect(JSON.stringify(hint)).not.toContain("canary");
    expect(hint).toMatchObject({
      system: "/redfish/v1/Systems/1",
      manufacturer: "Contoso",
      model: "3500",
      reset: {
        target: "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
        values: expect.arrayContaining(["On"]),
      },
      auth: "basic",
    });
  });

  test("that is stale costs one failed request", async () => {
    await start();

    const state = await read({ hint: { system: "/redfish/v1/Systems/gone" } });

    expect(state).toBe("on");
    expect(bmc.log).toEqual([
      "GET /redfish/v1/Systems/gone",
      "GET /redfish/v1/Systems",
      "GET /redfish/v1/Systems/1",
    ]);
  });

  test.each([
    [null],
    ["text"],
    [42],
    [{}],
    [{ system: 7 }],
    [{ system: "http://192.0.2.1/x" }],
    [{ system: "//x" }],
    [[]],
  ])("of %o is ignored", async (hint) => {
    await start();

    expect(await read({ hint })).toBe("on");
    expect(bmc.log[0]).toBe("GET /redfish/v1/Systems");
  });

  test("found for one system is not used for another", async () => {
    await startBlades();
    const hint = await withSession(bmc, { redfish: { system: "system-1" } }, async (session) =>
      session.hint(),
    );
    bmc.forget();

    const state = await read({ redfish: { system: "system-2" }, hint });

    expect(state).toBe("off");
    expect(bmc.log).toEqual(["GET /redfish/v1/Systems/system-2"]);
  });

  test("about the types in ActionInfo saves reading it", async () => {
    await start({ profile: "openbmc" });
    const hint = await withSession(bmc, {}, async (session) => {
      await session.power.plan("off", signal);
      return session.hint();
    });
    bmc.forget();

    await withSession(bmc, { hint }, ({ power }) => power.send("off", signal));

    expect(bmc.log).toEqual(["POST /redfish/v1/Systems/system/Actions/ComputerSystem.Reset"]);
  });

  test("learned on another model is not applied", async () => {
    await start();
    const hint = {
      system: "/redfish/v1/Systems/1",
      manufacturer: "Contoso",
      model: "other",
      learned: ["mode-read-only"],
    };

    await withSession(bmc, { hint }, ({ boot }) =>
      boot.write({ device: "pxe", persistent: false, mode: "legacy" }, signal),
    );

    expect(bmc.machine.override.mode).toBe("legacy");
  });
});
