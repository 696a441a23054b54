import { describe, expect, it } from "vitest";
import { GET_CHASSIS_STATUS } from "../../../../../shared/bmc/providers/ipmi/commands/chassis.ts";
import { parseLanResponse } from "../../../../../shared/bmc/providers/ipmi/session/message.ts";
import { bridged, DIRECT, routeTo } from "../../../../../shared/bmc/providers/ipmi/session/route.ts";
import { SimulatedMachine } from "../../../../../simulators/machine.ts";
import { eventually, limit, openSession, startBmc } from "./bench.ts";

const BRIDGE = { channel: 7, address: 0x72 };

async function startWithSatellite(answer: "after" | "within") {
  const machine = new SimulatedMachine({ power: "off" });
  const bmc = await startBmc({ machine: { power: "on" }, satellites: [{ ...BRIDGE, machine, answer }] });
  const close = async () => {
    await bmc.close();
    machine.close();
  };
  return { bmc, machine, [Symbol.asyncDispose]: close };
}

describe("a bridged request", () => {
  it("is the command for the target inside Send Message, tracked", () => {
    const wrapped = bridged(BRIDGE).wrap(GET_CHASSIS_STATUS, 5);

    expect([wrapped.netFn, wrapped.command]).toEqual([0x06, 0x34]);
    // Channel and tracking; target, netFn, checksum; BMC, sequence, command, checksum.
    expect(Buffer.from(wrapped.data).toString("hex")).toBe("47" + "72008e" + "201401cb");
  });

  it("is not needed for the BMC itself", () => {
    expect(routeTo({ channel: 0, address: 0x20 })).toBe(DIRECT);
    expect(routeTo(undefined)).toBe(DIRECT);
  });
});

describe("the answer to a bridged request", () => {
  const route = bridged(BRIDGE);
  const parsed = (hex: string) => {
    const response = parseLanResponse(Buffer.from(hex, "hex"));
    if (!response) throw new Error("the test's response is malformed");
    return response;
  };
  const forwarded = parsed("811c6320143400" + "98");
  const answered = parsed("81047b72140100610000" + "18");

  it("is still to come when the BMC has only passed the request on", () => {
    expect(route.answer(forwarded, GET_CHASSIS_STATUS, 5)).toBe("forwarded");
  });

  it.each([
    ["IW044: the BMC's address in it", 0x20],
    ["IW045: addresses that were not exchanged", 0x81],
    ["the target's address", 0x72],
  ])("is the target's own with %s", (_, responder) => {
    expect(route.answer({ ...answered, responder }, GET_CHASSIS_STATUS, 5)).toMatchObject({
      completionCode: 0,
    });
  });

  it("is another's when address or sequence differ", () => {
    expect(route.answer(answered, GET_CHASSIS_STATUS, 6)).toBeUndefined();
    expect(route.answer({ ...answered, responder: 0x74 }, GET_CHASSIS_STATUS, 5)).toBeUndefined();
  });

  it("is the BMC's when that could not pass the request on", () => {
    const refused = { ...forwarded, completionCode: 0x83 };

    expect(route.answer(refused, GET_CHASSIS_STATUS, 5)).toMatchObject({
      completionCode: 0x83,
      command: { name: "Get Chassis Status to address 0x72 on channel 7" },
    });
  });
});

describe.each(["after", "within"] as const)("a controller whose answer comes %s the BMC's", (answer) => {
  it("is what power and boot are about, and the BMC's own machine is left alone", async () => {
    await using lab = await startWithSatellite(answer);
    const { bmc, machine } = lab;
    await using session = await openSession(bmc, { overrides: { ipmi: { bridge: BRIDGE } } });

    expect(await session.power.read(limit())).toBe("off");
    await session.power.send("on", limit());
    await eventually(() => machine.power === "on");

    expect(await session.power.read(limit())).toBe("on");
    expect(machine.count("on")).toBe(1);
    expect(bmc.machine.commands).toEqual([]);
  });

  it("costs no round trip more than the BMC itself", async () => {
    await using lab = await startWithSatellite(answer);
    const { bmc } = lab;

    await using session = await openSession(bmc, { overrides: { ipmi: { bridge: BRIDGE } } });
    await session.power.send("on", limit());

    expect(session.roundTrips()).toBe(4);
  });

  it("gets a repeated read when a packet is lost", async () => {
    await using lab = await startWithSatellite(answer);
    const { bmc } = lab;
    await using session = await openSession(bmc, { overrides: { ipmi: { bridge: BRIDGE } } });
    let losses = 0;
    bmc.faults.ignores = (name) => name === "Get Chassis Status" && losses++ === 0;

    expect(await session.power.read(limit())).toBe("off");
  });
});

describe("a controller that is not there", () => {
  it("is unreachable, with its address and channel", async () => {
    await using bmc = await startBmc();
    await using session = await openSession(bmc, { overrides: { ipmi: { bridge: BRIDGE } } });

    await expect(session.power.read(limit())).rejects.toMatchObject({
      class: "unreachable",
      message: expect.stringContaining("address 0x72 on channel 7"),
    });
  });
});
