import { afterEach, describe, expect, test } from "vitest";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import {
  type RedfishBmc,
  type RedfishBmcOptions,
  startRedfishBmc,
} from "../../../../../simulators/redfish/bmc.ts";
import { type RedfishProfile, redfishProfile } from "../../../../../simulators/redfish/profiles.ts";
import { errorOf, neverAborts, withSession } from "./open-session.ts";

const signal = neverAborts();
const RESET = "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset";
let bmc: RedfishBmc;
afterEach(() => bmc.close());

async function start(options: RedfishBmcOptions = {}): Promise<void> {
  bmc = await startRedfishBmc({ tls: "http", ...options });
}

function generic(changes: Partial<RedfishProfile>): RedfishProfile {
  const base = redfishProfile("generic");
  return { ...base, ...changes };
}

/** What a call learns on one BMC, which is then replaced by another at the same address. */
async function learnedOn(options: RedfishBmcOptions, use?: (session: Session) => Promise<unknown>) {
  const other = await startRedfishBmc({ tls: "http", ...options });
  try {
    return await withSession(other, {}, async (session) => {
      await use?.(session);
      return session.hint();
    });
  } finally {
    await other.close();
  }
}

const boot = (mode: "uefi" | "legacy" | "keep") => ({ device: "pxe", persistent: false, mode }) as const;
const posts = () => bmc.requests.filter(({ method }) => method === "POST");
const patches = () => bmc.requests.filter(({ method }) => method === "PATCH");

describe("a reset with a hint that is out of date", () => {
  test("by its path is refused once, then done on the system that is found, once", async () => {
    const hint = await learnedOn({ profile: generic({ systemId: "old" }) });
    await start();

    await withSession(bmc, { hint }, ({ power }) => power.send("off", signal));

    expect(bmc.log).toEqual([
      "POST /redfish/v1/Systems/old/Actions/ComputerSystem.Reset",
      "GET /redfish/v1/Systems/old",
      "GET /redfish/v1/Systems",
      "GET /redfish/v1/Systems/1",
      `POST ${RESET}`,
    ]);
    expect(bmc.machine.count("off")).toBe(1);
  });

  test("by its types is refused once, then sent with one that is listed now", async () => {
    const hint = await learnedOn({});
    const changed = generic({ resetTypes: ["ForceOn", "ForceOff"] });
    await start({ profile: changed, machines: [new SimulatedMachine({ power: "off" })] });

    await withSession(bmc, { hint }, ({ power }) => power.send("on", signal));

    expect(posts().map(({ body }) => body)).toEqual([{ ResetType: "On" }, { ResetType: "ForceOn" }]);
    expect(bmc.machine.count("on")).toBe(1);
  });

  test("that lists fewer types than there are refuses nothing by itself", async () => {
    const hint = await learnedOn({ profile: generic({ resetTypes: ["On", "ForceOff"] }) });
    await start();

    await withSession(bmc, { hint }, async ({ power }) => {
      await power.plan("cycle", signal);
      await power.send("cycle", signal);
    });

    expect(bmc.machine.count("cycle")).toBe(1);
  });

  test("whose target belongs to another system is not sent there", async () => {
    await start({ machines: [new SimulatedMachine(), new SimulatedMachine()] });
    const hint = {
      system: "/redfish/v1/Systems/1-1",
      selector: "1-1",
      reset: { target: "/redfish/v1/Systems/1-2/Actions/ComputerSystem.Reset", values: ["ForceOff"] },
    };

    await withSession(bmc, { hint, redfish: { system: "1-1" } }, ({ power }) => power.send("off", signal));

    expect(bmc.machines.map((machine) => machine.count("off"))).toEqual([1, 0]);
  });

  test("whose answer is lost is uncertain and not sent again", async () => {
    await start();
    const hint = await withSession(bmc, {}, async (session) => session.hint());
    bmc.fail({ kind: "close-after", method: "POST" });

    const error = await withSession(bmc, { hint }, ({ power }) => errorOf(power.send("off", signal)));

    expect(error.uncertain).toBe(true);
    expect(posts()).toHaveLength(1);
  });

  test("that the state forbids is busy and not sent again", async () => {
    await start({ machines: [new SimulatedMachine({ power: "off" })] });
    const hint = await withSession(bmc, {}, async (session) => session.hint());

    const error = await withSession(bmc, { hint }, ({ power }) => errorOf(power.send("off", signal)));

    expect(error.class).toBe("busy");
    expect(posts()).toHaveLength(1);
  });
});

describe("a boot override with a hint that is out of date", () => {
  test("by its path is written to the system that is found", async () => {
    const hint = await learnedOn({ profile: generic({ systemId: "old" }) });
    await start();

    await withSession(bmc, { hint }, ({ boot: driver }) => driver.write(boot("uefi"), signal));

    expect(patches().map(({ path }) => path)).toEqual(["/redfish/v1/Systems/old", "/redfish/v1/Systems/1"]);
    expect(bmc.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "uefi" });
  });

  test("by its mode is put right, although the mode seemed to need no sending", async () => {
    const hint = await learnedOn({ machines: [new SimulatedMachine({ mode: "uefi" })] });
    await start({ machines: [new SimulatedMachine({ mode: "legacy" })] });

    await withSession(bmc, { hint }, ({ boot: driver }) => driver.write(boot("uefi"), signal));

    expect(bmc.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "uefi" });
  });

  test("never makes a mode that is to be kept another one", async () => {
    const profile = "supermicro";
    const hint = await learnedOn({ profile, machines: [new SimulatedMachine({ mode: "uefi" })] });
    await start({ profile, machines: [new SimulatedMachine({ mode: "legacy" })] });

    await withSession(bmc, { hint }, ({ boot: driver }) => driver.write(boot("keep"), signal));

    expect(bmc.machine.override).toEqual({ device: "pxe", enabled: "once", mode: "legacy" });
  });

  test("that lists fewer targets than there are refuses nothing by itself", async () => {
    const hint = await learnedOn({ profile: generic({ bootTargets: ["None", "Hdd"] }) });
    await start();

    await withSession(bmc, { hint }, ({ boot: driver }) => driver.write(boot("keep"), signal));

    expect(bmc.machine.override.device).toBe("pxe");
  });

  test("that was learned on another make is corrected by the first refusal", async () => {
    const hint = await learnedOn({});
    await start({ profile: "ami", machines: [new SimulatedMachine()] });

    await withSession(
      bmc,
      { hint: { ...Object(hint), system: "/redfish/v1/Systems/Self" } },
      ({ boot: driver }) => driver.write(boot("keep"), signal),
    );

    expect(bmc.machine.override).toMatchObject({ device: "pxe", enabled: "once" });
  });

  test("with a current one, a mode that already holds is not sent, and the read-back is the driver's", async () => {
    await start({ profile: "dell-idrac9" });
    const hint = await withSession(bmc, {}, async (session) => session.hint());
    bmc.forget();

    const read = await withSession(bmc, { hint }, async ({ boot: driver }) => {
      await driver.write(boot("uefi"), signal);
      return await driver.read(signal);
    });

    const path = "/redfish/v1/Systems/System.Embedded.1";
    expect(bmc.log).toEqual([`PATCH ${path}`, `GET ${path}`]);
    expect(read).toEqual({ device: "pxe", persistent: false, mode: "uefi" });
    expect(bmc.biosJobs).toBe(0);
  });
});

test("whatever a hint holds, power is read from the BMC that is there", async () => {
  await start();
  const system = "/redfish/v1/Systems/1";

  for (const hint of [
    { system, reset: { target: "http://192.0.2.1/x" } },
    { system, boot: [], settings: { path: "//192.0.2.1/" }, media: 7, manager: "nowhere" },
    { system, learned: ["nonesuch"], oem: [3], auth: "token", expand: "all" },
    { system: "/redfish/v1/Systems/1?x=y z" },
  ]) {
    expect(await withSession(bmc, { hint }, ({ power }) => power.read(signal))).toBe("on");
  }
});
