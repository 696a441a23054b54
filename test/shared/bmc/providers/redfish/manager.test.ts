import { afterEach, describe, expect, test } from "vitest";
import type { BmcResetKind } from "../../../../../shared/bmc/operations/manager.ts";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import {
  type RedfishBmc,
  type RedfishBmcOptions,
  startRedfishBmc,
} from "../../../../../simulators/redfish/bmc.ts";
import { SCREEN } from "../../../../../simulators/redfish/manager.ts";
import { type RedfishProfile, redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { errorOf, neverAborts, withSession } from "./open-session.ts";

const signal = neverAborts();
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(profile: string | RedfishProfile = "generic", more: RedfishBmcOptions = {}) {
  bmc = await startRedfishBmc({ tls: "http", profile, ...more });
}

function generic(changes: Partial<RedfishProfile>): RedfishProfile {
  const base = redfishProfile("generic");
  return { ...base, ...changes };
}

const driver = <K extends "manager" | "ntp" | "nmi" | "screenshot">(session: Session, name: K) => {
  const found = session[name];
  if (!found) throw new Error(`no ${name} driver`);
  return found as NonNullable<Session[K]>;
};
const writes = () => bmc.requests.filter(({ method }) => method !== "GET");

describe("resetting the BMC", () => {
  const reset = (kind: BmcResetKind, hint?: unknown) =>
    withSession(bmc, { hint }, async (session) => {
      await driver(session, "manager").reset(kind, signal);
      return session.hint();
    });

  test.each<[BmcResetKind, string, string]>([
    ["warm", "generic", "GracefulRestart"],
    ["cold", "generic", "ForceRestart"],
    ["warm", "openbmc", "GracefulRestart"],
    ["cold", "openbmc", "ForceRestart"],
    ["cold", "dell-idrac9", "GracefulRestart"],
  ])("%s on %s is %s", async (kind, profile, type) => {
    await start(profile);

    await reset(kind);

    expect(bmc.manager.resets).toEqual([type]);
    expect(writes()).toHaveLength(1);
  });

  test("where a type is refused is sent with an empty body, from the start the next time", async () => {
    await start("empty-manager-reset");

    const hint = await reset("cold");
    const first = writes().map(({ body }) => body);
    bmc.forget();
    await reset("cold", hint);

    expect(first).toEqual([{ ResetType: "ForceRestart" }, {}]);
    expect(writes().map(({ body }) => body)).toEqual([{}]);
    expect(bmc.manager.resets).toEqual(["(none)", "(none)"]);
  });

  test("that is busy is not tried in another form", async () => {
    await start();
    bmc.fail({ kind: "refuse", method: "POST", status: 400, messageId: "IDRAC.2.8.SYS518" });

    const error = await withSession(bmc, {}, (session) =>
      errorOf(driver(session, "manager").reset("cold", signal)),
    );

    expect(error.class).toBe("busy");
    expect(bmc.manager.resets).toEqual([]);
  });
});

test("what the BMC says of itself comes from the manager and the service root", async () => {
  await start("dell-idrac9");

  const info = await withSession(bmc, {}, (session) => driver(session, "manager").info(signal));

  expect(info).toEqual({
    vendor: "Dell Inc.",
    model: "PowerEdge R640",
    firmware: "6.10.80.00",
    protocolVersion: "1.11.0",
    uuid: "3a2b1c00-0000-4000-8000-00000000b3c0",
  });
});

test("what the BMC fills with blanks is as good as not said", async () => {
  await start(generic({ model: "  ", firmware: "" }));

  const info = await withSession(bmc, {}, (session) => driver(session, "manager").info(signal));

  expect(info).not.toHaveProperty("model");
  expect(info).not.toHaveProperty("firmware");
  expect(info.protocolVersion).toBe("1.11.0");
});

test("the BMC's clock is read, fresh each time, in one request where the manager is known", async () => {
  await start();
  bmc.manager.clockSkewMs = 3_600_000;

  const [ahead, right] = await withSession(bmc, {}, async (session) => {
    const first = await driver(session, "manager").clockMs(signal);
    bmc.manager.clockSkewMs = 0;
    bmc.forget();
    return [first, await driver(session, "manager").clockMs(signal)];
  });

  expect(Math.abs((ahead ?? 0) - Date.now() - 3_600_000)).toBeLessThan(20_000);
  expect(Math.abs((right ?? 0) - Date.now())).toBeLessThan(20_000);
  expect(bmc.log).toEqual(["GET /redfish/v1/Managers/1"]);
});

describe("NTP", () => {
  const settings = { enabled: true, servers: ["ntp1.example.org", "192.0.2.123"] };

  test.each([
    "generic",
    "hpe-ilo5",
    "ami-future-state",
    "dell-13g",
    "lenovo-sr655",
    "dell-idrac10",
    "openbmc",
  ])("on %s is set and read back", async (profile) => {
    await start(profile);

    const [before, after] = await withSession(bmc, {}, async (session) => {
      const ntp = driver(session, "ntp");
      const first = await ntp.read(signal);
      await ntp.write(settings, signal);
      return [first, await ntp.read(signal)];
    });

    expect(before).toEqual({ enabled: false, servers: [] });
    expect(after).toEqual(settings);
    expect(bmc.manager.ntp).toEqual(settings);
  });

  test.each([
    ["generic", { NTP: { ProtocolEnabled: true } }],
    ["dell-13g", { Attributes: { "NTPConfigGroup.1.NTPEnable": "Enabled" } }],
  ])("on %s is switched without a word about its servers, as it was planned", async (profile, body) => {
    await start(profile);
    bmc.manager.ntp.servers = ["a", "b"];

    const plan = await withSession(bmc, {}, async (session) => {
      await driver(session, "ntp").write({ enabled: true }, signal);
      return driver(session, "ntp").plan({ enabled: true }, signal);
    });

    expect(writes().map((write) => write.body)).toEqual([body]);
    expect(plan).toBe(`PATCH ${writes()[0]?.path} ${JSON.stringify(body)}`);
    expect(bmc.manager.ntp).toEqual({ enabled: true, servers: ["a", "b"] });
  });

  test("goes to the settings resource where that takes it", async () => {
    await start(generic({ ntp: "settings" }));

    await withSession(bmc, {}, (session) => driver(session, "ntp").write(settings, signal));

    expect(writes().map(({ path }) => path)).toEqual(["/redfish/v1/Managers/1/NetworkProtocol/Settings"]);
  });

  test("on iDRAC8 is an attribute, as there is no standard one; more servers than it has are unsupported", async () => {
    await start("dell-13g");

    const error = await withSession(bmc, {}, async (session) => {
      await driver(session, "ntp").write(settings, signal);
      const servers = ["a", "b", "c", "d"];
      return await errorOf(driver(session, "ntp").write({ enabled: true, servers }, signal));
    });

    expect(writes().map(({ path }) => path)).toEqual(["/redfish/v1/Managers/iDRAC.Embedded.1/Attributes"]);
    expect(error.class).toBe("unsupported");
  });

  test("on iLO is two servers, and off without them", async () => {
    await start("hpe-ilo5");

    const errors = await withSession(bmc, {}, async (session) => {
      const ntp = driver(session, "ntp");
      const whileEmpty = await errorOf(ntp.write({ enabled: true }, signal));
      await ntp.write(settings, signal);
      const tooMany = await errorOf(ntp.write({ enabled: true, servers: ["a", "b", "c"] }, signal));
      await ntp.write({ enabled: false }, signal);
      return [whileEmpty, tooMany];
    });

    expect(errors.map(({ class: name, message }) => `${name}: ${message}`)).toEqual([
      "unsupported: the BMC cannot enable NTP without servers",
      "unsupported: the BMC takes 2 NTP servers at most",
    ]);
    expect(writes().map(({ body }) => body)).toEqual([
      { StaticNTPServers: settings.servers },
      { StaticNTPServers: ["", ""] },
    ]);
  });

  test("is read in one request where the manager is known", async () => {
    await start();
    const hint = await withSession(bmc, {}, async (session) => {
      await driver(session, "ntp").read(signal);
      return session.hint();
    });
    bmc.forget();

    await withSession(bmc, { hint }, (session) => driver(session, "ntp").read(signal));

    expect(bmc.log).toEqual(["GET /redfish/v1/Managers/1/NetworkProtocol"]);
  });
});

describe("NMI", () => {
  test("is a reset type, one POST with a hint", async () => {
    await start();
    const hint = await withSession(bmc, {}, async (session) => session.hint());
    bmc.forget();

    await withSession(bmc, { hint }, (session) => driver(session, "nmi").send(signal));

    expect(bmc.requests.map(({ body }) => body)).toEqual([{ ResetType: "Nmi" }]);
    expect(bmc.machine.count("nmi")).toBe(1);
  });

  test("is unsupported before anything is sent where it is not listed", async () => {
    await start(generic({ resetTypes: ["On", "ForceOff"] }));

    const error = await withSession(bmc, {}, (session) => errorOf(driver(session, "nmi").send(signal)));

    expect(error.class).toBe("unsupported");
    expect(writes()).toEqual([]);
  });

  test("whose answer is lost is uncertain and sent once", async () => {
    await start();
    bmc.fail({ kind: "reset-after", method: "POST" });

    const error = await withSession(bmc, {}, (session) => errorOf(driver(session, "nmi").send(signal)));

    expect(error).toMatchObject({ class: "unreachable", uncertain: true });
    expect(bmc.machine.count("nmi")).toBe(1);
  });
});

describe("a screenshot", () => {
  test("on iDRAC9 is the PNG that the lifecycle controller exports", async () => {
    await start("dell-idrac9");

    const shot = await withSession(bmc, {}, (session) => driver(session, "screenshot").take(signal));

    expect(shot.mediaType).toBe("image/png");
    expect(Buffer.from(shot.bytes).equals(SCREEN)).toBe(true);
  });
});

describe("a BMC whose system names no manager", () => {
  test("has the one that its service lists", async () => {
    await start();
    const hint = { system: "/redfish/v1/Systems/1", manager: "/redfish/v1/Managers/gone" };

    const info = await withSession(bmc, { hint }, (session) => driver(session, "manager").info(signal));

    expect(info.firmware).toBe("1.2.3");
    expect(bmc.log[0]).toBe("GET /redfish/v1/Managers/gone");
  });
});

describe("writes that answer 202", () => {
  test("are followed to the end of their task, whatever they write", async () => {
    await start("generic", { tasks: { ms: 60, retryAfter: "0.05" } });

    await withSession(bmc, {}, async (session) => {
      await driver(session, "ntp").write({ enabled: true, servers: ["a"] }, signal);
      await session.media?.insert({ url: "http://192.0.2.9/boot.iso" }, signal);
    });

    for (const number of [1, 2]) {
      expect(bmc.log).toContain(`GET /redfish/v1/TaskService/TaskMonitors/${number}`);
    }
  });

  test("are errors when their task fails", async () => {
    await start("generic", { tasks: { ms: 10, retryAfter: "0.05", failure: "The clock is glued." } });

    const error = await withSession(bmc, {}, (session) =>
      errorOf(driver(session, "ntp").write({ enabled: true, servers: ["a"] }, signal)),
    );

    expect(error).toMatchObject({ class: "bmc", message: expect.stringContaining("The clock is glued.") });
  });
});
