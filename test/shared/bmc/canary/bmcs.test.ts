import { describe, expect, test } from "vitest";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import type { ErrorClass } from "../../../../shared/contract/error-class.ts";
import { type IpmiBmc, startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import { findProgram } from "../../../interop/programs.ts";
import { careless, everythingOf, foundIn, leftBehind } from "./traces.ts";

const PASSWORD = "canary-pw-5d1e07";
const WRONG_PASSWORD = "canary-no-77ac31";
const KG = "canary-kg-0b77d2";
const WRONG_KG = "canary-kx-9921fe";

interface Lab {
  readonly machine: SimulatedMachine;
  readonly redfish: RedfishBmc;
  readonly ipmi: IpmiBmc;
  /** Tokens that the BMC gave out. */
  readonly tokens: () => readonly string[];
}

async function startLab(tls: boolean) {
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({
    machines: [machine],
    password: PASSWORD,
    ...(tls ? {} : { tls: "http" }),
  });
  const ipmi = await startIpmiBmc({ machine, users: [{ name: "admin", password: PASSWORD }], kg: KG });
  return {
    machine,
    redfish,
    ipmi,
    tokens: () =>
      redfish.requests.flatMap(({ headers }) => {
        const token = headers["x-auth-token"];
        return typeof token === "string" ? [token] : [];
      }),
    async [Symbol.asyncDispose]() {
      await Promise.all([redfish.close(), ipmi.close()]);
    },
  };
}

interface Scenario {
  readonly title: string;
  /** Undefined is success. */
  readonly class: ErrorClass | undefined;
  readonly tls?: boolean;
  readonly connection?: (lab: Lab) => Readonly<Record<string, unknown>>;
  readonly fault?: (lab: Lab) => void;
}

interface Way {
  readonly title: string;
  readonly connection: (lab: Lab) => Readonly<Record<string, unknown>>;
  readonly scenarios: readonly Scenario[];
  readonly skip?: boolean;
}

/** Where nothing listens: the system gives out higher ports by itself. */
const REFUSING_PORT = 1;

const redfishWay = (auth: "basic" | "session"): Way => {
  const options = (lab: Lab) => ({
    port: lab.redfish.port,
    scheme: lab.redfish.certificate ? "https" : "http",
    auth,
  });
  return {
    title: `redfish, ${auth}`,
    connection: (lab) => ({ providers: ["redfish"], redfish: options(lab) }),
    scenarios: [
      { title: "success", class: undefined },
      { title: "a refused password", class: "auth", connection: () => ({ password: WRONG_PASSWORD }) },
      { title: "an unknown certificate", class: "tls", tls: true },
      {
        title: "another fingerprint",
        class: "tls",
        tls: true,
        connection: () => ({ tls: { fingerprint: "ab".repeat(32) } }),
      },
      {
        title: "a BMC that is not there",
        class: "unreachable",
        connection: (lab) => ({ redfish: { ...options(lab), port: REFUSING_PORT } }),
      },
      {
        title: "an answer that is no JSON",
        class: "protocol",
        fault: ({ redfish }) => redfish.fail({ kind: "wrong-type", method: "GET", times: 99 }),
      },
      {
        title: "a connection that is lost while the credentials are on it",
        class: "unreachable",
        fault: ({ redfish }) => redfish.fail({ kind: "close-before", times: 99 }),
      },
      {
        title: "a redirect of the credentials",
        class: "protocol",
        fault: ({ redfish }) =>
          redfish.fail({ kind: "redirect", location: "http://127.0.0.1:1/redfish/v1", times: 99 }),
      },
      {
        title: "a BMC that refuses",
        class: "bmc",
        fault: ({ redfish }) =>
          redfish.fail({ kind: "refuse", status: 500, messageId: "X.1.0.No", times: 99 }),
      },
    ],
  };
};

const ipmiWay = (provider: "ipmi" | "ipmitool"): Way => {
  const options = (lab: Lab) => ({ port: lab.ipmi.port, kg: KG, cipherSuite: 17 });
  return {
    title: provider,
    skip: provider === "ipmitool" && findProgram("ipmitool") === undefined,
    connection: (lab) => ({ providers: [provider], [provider]: options(lab) }),
    scenarios: [
      { title: "success", class: undefined },
      { title: "a refused password", class: "auth", connection: () => ({ password: WRONG_PASSWORD }) },
      {
        title: "a refused BMC key",
        class: "auth",
        connection: (lab) => ({ [provider]: { ...options(lab), kg: WRONG_KG } }),
      },
      {
        title: "a BMC that is not there",
        class: "unreachable",
        connection: (lab) => ({ [provider]: { ...options(lab), port: REFUSING_PORT } }),
      },
      ...(provider === "ipmi"
        ? ([
            {
              title: "an answer that is malformed",
              class: "protocol",
              fault: ({ ipmi }) => {
                // Without its last byte RAKP2 is still this handshake's, but no longer whole.
                ipmi.faults.rewrites = (name, datagram) => {
                  if (name !== "RAKP1") return [datagram];
                  const short = Buffer.from(datagram.subarray(0, -1));
                  short.writeUInt16LE(short.readUInt16LE(14) - 1, 14);
                  return [short];
                };
              },
            },
          ] satisfies Scenario[])
        : []),
      {
        title: "a BMC that refuses",
        class: "bmc",
        fault: ({ ipmi }) => {
          ipmi.faults.refuses = (name) => (/Chassis|Boot/.test(name) ? 0xff : undefined);
        },
      },
    ],
  };
};

const ways: readonly Way[] = [
  redfishWay("basic"),
  redfishWay("session"),
  ipmiWay("ipmi"),
  ipmiWay("ipmitool"),
];

describe.concurrent.each(ways)("no secret is left behind via $title", (way) => {
  test.skipIf(way.skip).each(way.scenarios)("after $title", async (scenario) => {
    await using lab = await startLab(scenario.tls ?? false);
    const connection = Connection.parse({
      host: "127.0.0.1",
      username: "admin",
      password: PASSWORD,
      connectTimeoutMs: 10_000,
      requestTimeoutMs: 10_000,
      ...way.connection(lab),
      ...scenario.connection?.(lab),
    });
    scenario.fault?.(lab);

    const { text, classes } = await leftBehind(connection, way.title === "ipmitool" ? 1 : 10);

    expect(new Set(classes)).toEqual(new Set([scenario.class]));
    expect(foundIn(text, [PASSWORD, WRONG_PASSWORD, KG, WRONG_KG, ...lab.tokens()])).toEqual([]);
  });
});

test("the search would find a secret in a cause, a hidden property, a buffer or a log field", () => {
  const hiding = new Error("outside", { cause: new Error(`inside ${PASSWORD}`) });
  const hidden = Object.defineProperty({}, "body", { value: PASSWORD, enumerable: false });
  const log = careless();
  log.debug({ body: Buffer.from(PASSWORD) }, "sent");

  const found = [
    everythingOf(hiding),
    everythingOf(new BmcError("bmc", "outside", { cause: hidden })),
    log.text(),
    everythingOf(new BmcError("bmc", "nothing in it")),
  ].map((text) => foundIn(text, [PASSWORD]).length);

  expect(found).toEqual([1, 1, 1, 0]);
});
