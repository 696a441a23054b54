import { describe, expect, it } from "vitest";
import type { NetworkChange } from "../../../../../shared/bmc/operations/network-port.ts";
import type { Session } from "../../../../../shared/bmc/operations/provider.ts";
import type { IpmiBmc } from "../../../../../simulators/ipmi/bmc.ts";
import { scaledClock } from "../../../../support/scaled-clock.ts";
import { AS_ADMINISTRATOR, limit, openSession, startBmc } from "./bench.ts";

const SET = "Set LAN Configuration Parameters";
const PROGRESS = 0;
const ADDRESS = 3;
const MASK = 6;
const GATEWAY = 12;
const VLAN = 20;

function network(session: Session) {
  if (!session.network) throw new Error("the session has no network");
  return session.network;
}

async function start() {
  const bmc = await startBmc();
  bmc.machine.network = {
    ...bmc.machine.network,
    mode: "static",
    address: "127.0.0.1",
    prefix: 8,
    gateway: "127.0.0.254",
  };
  const session = await openSession(bmc, { overrides: AS_ADMINISTRATOR, clock: scaledClock(20) });
  const sent: string[] = [];
  const close = async () => {
    await session.close();
    await bmc.close();
  };
  return { bmc, session, sent, network: network(session), [Symbol.asyncDispose]: close };
}

/** Refuses a parameter with this code, as often as said. */
function refusing(
  bmc: IpmiBmc,
  sent: string[],
  codes: Readonly<Record<number, number>>,
  times = Number.POSITIVE_INFINITY,
) {
  let count = 0;
  bmc.faults.refuses = (name, data) => {
    if (name !== SET) return undefined;
    const parameter = data[1] ?? 0xff;
    sent.push(`${parameter}=${data.subarray(2).join(".")}`);
    const code = codes[parameter];
    // Whatever is refused of the progress is its beginning.
    if (code === undefined || (parameter === PROGRESS && data[2] === 0)) return undefined;
    count += 1;
    return count <= times ? code : undefined;
  };
}

async function changeOf(driver: ReturnType<typeof network>, fields: Partial<NetworkChange["target"]>) {
  const [before] = await driver.list(limit());
  if (!before) throw new Error("no interface");
  return { before, target: { ...before, ...fields } };
}

const isSetComplete = (line: string | undefined) => line === "0=0";

describe.concurrent("a change of the LAN settings", () => {
  it.each([
    ["IW114", PROGRESS, 0x80],
    ["IW114", PROGRESS, 0xcc],
    ["IW114", PROGRESS, 0xd5],
    ["IW114", PROGRESS, 0xc9],
    ["IW114", PROGRESS, 0xff],
  ])("%s: needs no lock where the BMC refuses parameter %i with %i", async (_, parameter, code) => {
    await using there = await start();
    refusing(there.bmc, there.sent, { [parameter]: code });

    await there.network.write(await changeOf(there.network, { vlan: 7 }), limit());

    expect(there.bmc.machine.network).toMatchObject({ vlan: 7 });
    expect(there.sent).toEqual(["0=1", "20=7.128"]);
  });

  it("IW115: says how a lock is freed that another program has left", async () => {
    await using there = await start();
    refusing(there.bmc, there.sent, { [PROGRESS]: 0x81 });

    await expect(
      there.network.write(await changeOf(there.network, { vlan: 7 }), limit()),
    ).rejects.toMatchObject({
      class: "busy",
      message: expect.stringContaining("ipmitool raw 0x0c 0x01 0x01 0x00 0x00"),
    });
    expect(there.sent).toEqual(["0=1"]);
  });

  it.each([0xcc, 0xc0, 0xff])("IW116: sends a parameter again that is refused at first: %i", async (code) => {
    await using there = await start();
    refusing(there.bmc, there.sent, { [MASK]: code }, 2);

    await there.network.write(await changeOf(there.network, { prefix: 16 }), limit());

    expect(there.bmc.machine.network).toMatchObject({ prefix: 16 });
  });

  it("IW117: believes what the BMC has, not the 0xFF with which it stores", async () => {
    await using there = await start();
    there.bmc.faults.refuses = (name, data) => {
      if (name !== SET) return undefined;
      if (data[1] === PROGRESS) return 0x80;
      there.sent.push(String(data[1]));
      there.bmc.machine.changeNetwork({ vlan: 7 });
      return 0xff;
    };

    await there.network.write(await changeOf(there.network, { vlan: 7 }), limit());

    expect(there.sent).toEqual(["20"]);
  });

  it.each([
    ["answers with the version alone", { data: Buffer.of(0x11) }],
    ["refuses with 0xCC", { code: 0xcc }],
    ["refuses with 0xFF", { code: 0xff }],
  ])("IW118, IW119: is possible beside an optional parameter that the BMC %s", async (_, reply) => {
    await using there = await start();
    there.bmc.faults.answers = ({ netFn, command, data }) =>
      netFn === 0x0c && command === 2 && data[1] === VLAN ? reply : undefined;

    const change = await changeOf(there.network, { gateway: "127.0.0.253" });
    await there.network.write(change, limit());

    expect(change.before).not.toHaveProperty("vlan");
    expect(there.bmc.machine.network).toMatchObject({ gateway: "127.0.0.253" });
  });

  it("IW120: finds the channel where the BMC does not know the number for this channel", async () => {
    await using there = await start();
    there.bmc.faults.refuses = (name, data) =>
      name === "Get Channel Info" && data[0] === 0x0e ? 0xcc : undefined;

    expect(await there.network.list(limit())).toMatchObject([{ id: "1", address: "127.0.0.1" }]);
  });

  it("IW123: sends the gateway behind a mask, which BMCs overwrite with it", async () => {
    await using there = await start();
    refusing(there.bmc, there.sent, {});

    await there.network.write(await changeOf(there.network, { prefix: 16 }), limit());

    expect(there.sent).toEqual(["0=1", "6=255.255.0.0", "12=127.0.0.254", "0=2", "0=0"]);
  });

  it.each([0xd5, 0x82, 0xcc, 0x80])(
    "that stops in the middle goes back and ends with Set Complete: gateway refused with %i",
    async (code) => {
      await using there = await start();
      refusing(there.bmc, there.sent, { [GATEWAY]: code }, 5);

      const change = await changeOf(there.network, { prefix: 16, gateway: "127.0.0.253" });
      await expect(there.network.write(change, limit())).rejects.toMatchObject({
        message: expect.stringContaining("the settings before it are taken back"),
        uncertain: false,
      });

      expect(there.sent.at(-2)).toBe("6=255.0.0.0");
      expect(isSetComplete(there.sent.at(-1))).toBe(true);
      expect(there.bmc.machine.network).toMatchObject({ prefix: 8, gateway: "127.0.0.254" });
    },
  );

  it("repeats Set Complete until it is taken", async () => {
    await using there = await start();
    let refusals = 0;
    there.bmc.faults.refuses = (name, data) =>
      name === SET && data[1] === PROGRESS && data[2] === 0 && refusals++ < 3 ? 0xc0 : undefined;

    await there.network.write(await changeOf(there.network, { vlan: 7 }), limit());

    expect(refusals).toBe(4);
    expect(there.bmc.machine.network).toMatchObject({ vlan: 7 });
  });

  it("that is cancelled ends with Set Complete, and goes back", async () => {
    await using there = await start();
    const cancelling = new AbortController();
    refusing(there.bmc, there.sent, {});
    const refuses = there.bmc.faults.refuses;
    there.bmc.faults.refuses = (name, data) => {
      if (name === SET && data[1] === ADDRESS) cancelling.abort();
      return refuses?.(name, data);
    };
    const change = await changeOf(there.network, { prefix: 16, address: "127.0.0.9" });

    await expect(there.network.write(change, cancelling.signal)).rejects.toThrow();

    expect(isSetComplete(there.sent.at(-1))).toBe(true);
    expect(there.bmc.machine.network).toMatchObject({ prefix: 8, address: "127.0.0.1" });
  });
});
