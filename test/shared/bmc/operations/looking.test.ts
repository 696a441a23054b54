import { describe, expect, it } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { mergeHints } from "../../../../shared/bmc/link/hint.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { redfishProfile } from "../../../../simulators/redfish/profiles.ts";
import { redfishLab } from "../../../support/bmc-lab.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { connectionTo, recordingLogger, startBmc } from "../providers/ipmi/bench.ts";
import { errorOf, signal } from "../service-lab.ts";

/** 16 bytes of an event, which the log gives its number. */
const RECORD = Buffer.from("000002a53769692000040c216f31ff03", "hex");

async function ipmiLab(options: Parameters<typeof startBmc>[0], overrides: Record<string, unknown> = {}) {
  const bmc = await startBmc(options);
  const client = new BmcClient(connectionTo(bmc, { providers: ["ipmi"], ...overrides }));
  const close = async () => {
    await client.close();
    await bmc.close();
  };
  return { bmc, client, [Symbol.asyncDispose]: close };
}

describe("opening", () => {
  it("proves the credentials and reports what the provider can do, with no request beyond the login", async () => {
    await using lab = await redfishLab();

    const session = await lab.client.open(signal);
    await lab.client.open(signal);

    expect(session.capabilities).toContain("media");
    expect(session.capabilities).not.toContain("sol");
    expect(session).not.toHaveProperty("certificateExpiresMs");
    expect(lab.bmc.log).toEqual(["GET /redfish/v1/Systems", "GET /redfish/v1/Systems/1"]);
  });

  it("reports the level that an IPMI session asks for", async () => {
    await using lab = await ipmiLab({}, { ipmi: { privilege: "administrator" } });

    const session = await lab.client.open(signal);

    expect(session).toMatchObject({ privilege: "administrator" });
    expect(lab.bmc.log).toEqual(["Open Session", "RAKP1", "RAKP3"]);
  });
});

describe("what a BMC offers", () => {
  it.each([
    ["generic", "offered"],
    ["openbmc", "offered"],
    ["unlisted", "unknown"],
  ])("%s: the NMI is %s", async (profile, offer) => {
    await using lab = await redfishLab({}, { profile });

    expect(await lab.client.getOffer("nmi", signal)).toBe(offer);

    expect(lab.machine.commands).toEqual([]);
    expect(lab.bmc.log.filter((line) => !line.startsWith("GET "))).toEqual([]);
  });

  it("is unsupported where the BMC lists other resets only", async () => {
    const generic = redfishProfile("generic");
    await using lab = await redfishLab({}, { profile: { ...generic, resetTypes: ["On", "ForceOff"] } });

    const error = await errorOf(lab.client.getOffer("nmi", signal));

    expect(error.class).toBe("unsupported");
  });

  it("reports screenshots without taking one", async () => {
    await using dell = await redfishLab({}, { profile: "dell-idrac9" });
    await using other = await redfishLab();

    expect(await dell.client.getOffer("screenshot", signal)).toBe("offered");
    expect((await errorOf(other.client.getOffer("screenshot", signal))).class).toBe("unsupported");

    expect(dell.bmc.log.filter((line) => !line.startsWith("GET "))).toEqual([]);
  });

  it("reports serial over LAN without ending a session of it", async () => {
    await using lab = await ipmiLab({ sol: [1] });

    expect(await lab.client.getOffer("sol", signal)).toBe("offered");
    lab.bmc.faults.refuses = () => 0xc1;
    expect(await lab.client.getOffer("sol", signal)).toBe("unknown");
    expect(await lab.client.getOffer("nmi", signal)).toBe("unknown");

    expect([...lab.bmc.sol]).toEqual([1]);
    expect(lab.bmc.log).not.toContain("Deactivate Payload");
  });
});

describe("counting the event log", () => {
  it.each(["generic", "lenovo-xcc", "paging", "dell-13g"])("of %s reads one page", async (profile) => {
    await using lab = await redfishLab({}, { profile });
    for (let entry = 1; entry <= 4; entry += 1) lab.bmc.sel.add("OK", `entry ${entry}`);

    expect(await lab.client.countSel(signal)).toBe(4);

    expect(lab.bmc.log.filter((line) => /Entries/.test(line))).toHaveLength(1);
    expect(await lab.client.listSel(signal)).toHaveLength(4);
  });

  it("is unsupported where there is none", async () => {
    await using lab = await redfishLab({}, { profile: "bare" });

    expect((await errorOf(lab.client.countSel(signal))).class).toBe("unsupported");
  });

  it.each([255, 8])("by IPMI reads one record, in parts of %d bytes", async (partBytes) => {
    await using lab = await ipmiLab({ log: { records: [RECORD, RECORD, RECORD], partBytes } });

    expect(await lab.client.countSel(signal)).toBe(3);

    expect(lab.bmc.log.filter((name) => name === "Get SEL Entry").length).toBeLessThanOrEqual(3);
  });

  it("by IPMI reads no record of an empty log", async () => {
    await using lab = await ipmiLab({});

    expect(await lab.client.countSel(signal)).toBe(0);

    expect(lab.bmc.log).not.toContain("Get SEL Entry");
  });

  it("by IPMI fails where the records cannot be read", async () => {
    await using lab = await ipmiLab({ log: { records: [RECORD] } });
    lab.bmc.faults.refuses = (name) => (name === "Get SEL Entry" ? 0xff : undefined);

    expect((await errorOf(lab.client.countSel(signal))).class).toBe("bmc");
  });
});

describe("a client that takes silence for an answer", () => {
  it("tries neither a login nor a read again, and a busy BMC all the same", async () => {
    await using lab = await redfishLab();
    const log = recordingLogger();
    const connection = Connection.parse({
      host: "127.0.0.1",
      username: "admin",
      password: "calvin",
      providers: ["redfish"],
      redfish: { port: lab.bmc.port, scheme: "http" },
    });
    const client = new BmcClient(connection, { log, clock: scaledClock(50), retriesSilence: false });
    lab.bmc.fail({ kind: "close-before" });

    expect((await errorOf(client.open(signal))).class).toBe("unreachable");
    expect(lab.bmc.requests).toHaveLength(1);
    lab.bmc.fail({ kind: "refuse", status: 503 });
    await client.open(signal);
    await client.close();

    const waits = log.lines.filter(({ message }) => message === "BMC call failed, retrying");
    expect(waits.map(({ fields }) => fields["class"])).toEqual(["busy"]);
  });
});

describe("the hints of several clients", () => {
  const known = { provider: "ipmi", providers: { ipmi: { cipherSuite: 3 }, amt: { reading: "get" } } };

  it("are one: the first that answered, and of each provider what was learned last", () => {
    const redfish = { provider: "redfish", providers: { redfish: { system: "/1" } } };
    const ipmi = { provider: "ipmi", providers: { ipmi: { cipherSuite: 17 } } };

    expect(mergeHints(known, [redfish, undefined, ipmi])).toEqual({
      provider: "redfish",
      providers: { redfish: { system: "/1" }, ipmi: { cipherSuite: 17 }, amt: { reading: "get" } },
    });
  });

  it("are what was known where none has learned anything", () => {
    expect(mergeHints(known, [undefined])).toBe(known);
    expect(mergeHints(undefined, [])).toBeUndefined();
  });
});
