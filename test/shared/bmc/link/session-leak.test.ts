import { expect, test } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { systemClock } from "../../../../shared/clock.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { ActionProcess } from "../../../actions/action-process.ts";
import { startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { dice } from "../../../support/dice.ts";
import { eventually } from "../faults/attempt.ts";

const SLOTS = 8;
const RUNS = 1_000;
/** Clients at the same time; a leak of any of them would soon fill the slots that the others need. */
const AT_ONCE = 4;
/** Where a slow machine stops; it must have got through a fair share by then. */
const LONGEST_MS = 45_000;
const FAIR_SHARE = 200;
/**
 * A cancelled handshake waits a quarter of a second for the answer that names the slot to give back; on a machine
 * that is busy with other tests a few may come later, and are left to the BMC's own idle time.
 */
const LATE_ANSWERS = 3;
const CHILDREN = 16;
const TEST_MS = 120_000;

type Kind = "redfish" | "ipmi";

/** One machine behind a BMC of each kind, both with few slots. */
async function startLab(idleMs = 60_000) {
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({
    machines: [machine],
    tls: "http",
    sessionLimit: SLOTS,
    latencyMs: 2,
  });
  const ipmi = await startIpmiBmc({
    machine,
    sessionSlots: SLOTS,
    sessionIdleMs: idleMs,
    network: { latencyMs: 2 },
  });
  const used = { redfish: () => redfish.sessions.count, ipmi: () => ipmi.sessions() };
  return {
    used,
    connection: (providers: readonly Kind[]) =>
      Connection.parse({
        host: "127.0.0.1",
        username: "admin",
        password: "calvin",
        providers,
        headStartMs: 5,
        redfish: { port: redfish.port, scheme: "http", auth: "session" },
        ipmi: { port: ipmi.port },
      }),
    env: (provider: Kind, auth: "auto" | "session") => ({
      BMC_HOST: "127.0.0.1",
      BMC_USERNAME: "admin",
      BMC_PASSWORD: "calvin",
      BMC_PROVIDERS: provider,
      REDFISH_SCHEME: "http",
      REDFISH_PORT: String(redfish.port),
      REDFISH_AUTH: auth,
      IPMI_PORT: String(ipmi.port),
    }),
    async [Symbol.asyncDispose]() {
      await Promise.all([redfish.close(), ipmi.close()]);
    },
  };
}

/** One run that is left alone, aborted, or closed in its middle; resolves with the class of its error. */
async function run(connection: Connection, roll: () => number): Promise<string> {
  const client = new BmcClient(connection);
  const abort = new AbortController();
  const fate = roll();
  const disturbed = systemClock.sleep(roll() * 30).then(() => {
    if (fate < 0.4) abort.abort(new BmcError("cancelled", "a random end"));
    else if (fate < 0.6) return client.close();
    return undefined;
  });
  try {
    await client.readPower(abort.signal);
    await client.setBoot({ device: "pxe", persistent: false, mode: "uefi" }, abort.signal);
    return "none";
  } catch (thrown) {
    return BmcError.from(thrown).class;
  } finally {
    await disturbed;
    await client.close();
  }
}

test.each<[string, readonly Kind[]]>([
  ["redfish with sessions", ["redfish"]],
  ["ipmi", ["ipmi"]],
  ["a race of both", ["redfish", "ipmi"]],
])(
  "a thousand runs with random ends leave no session behind: %s",
  async (_, providers) => {
    await using lab = await startLab();
    const roll = dice(20_261_121);
    const outcomes = new Map<string, number>();
    const endMs = performance.now() + LONGEST_MS;
    let begun = 0;
    const worker = async () => {
      while (begun < RUNS && performance.now() < endMs) {
        begun += 1;
        const outcome = await run(lab.connection(providers), roll);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
    };

    await Promise.all(Array.from({ length: AT_ONCE }, worker));

    expect(begun).toBeGreaterThanOrEqual(FAIR_SHARE);
    // With more than a few leaked slots the others would be told that the BMC is full: busy.
    expect([...outcomes.keys()].toSorted()).toEqual(["cancelled", "none"]);
    await eventually(() => lab.used.redfish() === 0 && lab.used.ipmi() <= LATE_ANSWERS);
  },
  TEST_MS,
);

/** Runs of an action that are ended from outside at any time of their life, one after the other. */
async function endChildren(
  env: Readonly<Record<string, string>>,
  signal: NodeJS.Signals,
  afterEach: () => Promise<void> | void,
): Promise<void> {
  const roll = dice(7);
  const startMs = performance.now();
  await new ActionProcess("power-status", { env }).ended;
  const lifeMs = performance.now() - startMs;
  for (let child = 0; child < CHILDREN; child += 1) {
    const action = new ActionProcess("power-status", { env });
    await systemClock.sleep(lifeMs * (0.5 + roll() * 0.5));
    action.child.kill(signal);
    await action.ended;
    await afterEach();
  }
}

test.each<[Kind, "auto" | "session"]>([
  ["redfish", "session"],
  ["ipmi", "auto"],
])(
  "children that are told to end by SIGTERM, at any time, log out first: %s",
  async (kind, auth) => {
    await using lab = await startLab();

    await endChildren(lab.env(kind, auth), "SIGTERM", () => eventually(() => lab.used[kind]() === 0));

    expect(await run(lab.connection([kind]), () => 0.99)).toBe("none");
  },
  TEST_MS,
);

test(
  "killed children cannot log out, but with Redfish's default authentication there is nothing to log out of",
  async () => {
    await using lab = await startLab();
    let most = 0;

    await endChildren(lab.env("redfish", "auto"), "SIGKILL", () => {
      most = Math.max(most, lab.used.redfish());
    });

    expect(most).toBe(0);
  },
  TEST_MS,
);

test(
  "killed children keep an IPMI BMC's slots no longer than its idle time, and the next run succeeds",
  async () => {
    await using lab = await startLab(1_500);

    await endChildren(lab.env("ipmi", "auto"), "SIGKILL", () => undefined);

    await eventually(() => lab.used.ipmi() === 0);
    expect(await run(lab.connection(["ipmi"]), () => 0.99)).toBe("none");
  },
  TEST_MS,
);
