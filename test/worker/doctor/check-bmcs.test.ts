import { afterEach, describe, expect, it, vi } from "vitest";
import { createCertificate, fingerprintOf } from "../../../simulators/certificate.ts";
import { type IpmiBmcOptions, startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type RedfishBmcOptions, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { SESSIONS } from "../../../simulators/redfish/sessions.ts";
import { checkBmcs } from "../../../worker/doctor/check-bmcs.ts";
import type { Inventory } from "../../../worker/machines/inventory.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { eventually, tcpBlackHole } from "../../actions/lab.ts";
import { PROGRAM } from "../../cli/program.ts";
import { quickLibrary } from "../../support/quick-actions.ts";

const never = new AbortController().signal;
const own = { file: PROGRAM, actions: quickLibrary.names(), library: quickLibrary };
const TIMEOUT_MS = 20_000;
const env = { GOOD: "calvin", WRONG: "canary-5-wrong" };

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

/** It takes sessions alone, so that one that is left shows. */
async function redfish(options: RedfishBmcOptions = {}) {
  const bmc = await startRedfishBmc({ tls: "http", basic: false, ...options });
  closers.push(() => bmc.close());
  return bmc;
}

async function ipmi(options: Omit<IpmiBmcOptions, "machine"> = {}) {
  const bmc = await startIpmiBmc({ ...options, machine: new SimulatedMachine() });
  closers.push(() => bmc.close());
  return bmc;
}

type Entry = Readonly<Record<string, unknown>>;

/** A machine behind a Redfish BMC of that port, by the right password. */
const behind = (name: string, port: number, more: Entry = {}): Entry => ({
  name,
  host: "127.0.0.1",
  providers: ["redfish"],
  redfish: { port, scheme: "http" },
  credentials: { username: "admin", passwordEnv: "GOOD" },
  connectTimeout: "2s",
  ...more,
});
const refused = { credentials: { username: "admin", passwordEnv: "WRONG" } };

function inventoryOf(machines: readonly Entry[]): Inventory {
  const text = JSON.stringify({ machines });
  const readFile = () => {
    throw new Error("no file is named");
  };
  const parsed = parseInventory({ path: "rack.yaml", text, env, readFile });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.value;
}

function check(
  machines: readonly Entry[],
  more: Partial<Parameters<typeof checkBmcs>[0]> = {},
  signal = never,
) {
  const inventory = inventoryOf(machines);
  return checkBmcs({ asked: "all", inventory, own, timeoutMs: TIMEOUT_MS, ...more }, signal);
}

describe("the doctor at BMCs", () => {
  it("looks at none unless it is asked to, and at none without an inventory", async () => {
    const bmc = await redfish();

    const unasked = await check([behind("node-1", bmc.port)], { asked: undefined });
    const unknown = await check([], { inventory: undefined });

    expect(unasked).toMatchObject([{ state: "skipped", detail: "pass --bmc to check the BMCs" }]);
    expect(unknown).toMatchObject([{ state: "skipped" }]);
    expect(bmc.requests).toEqual([]);
  });

  it("looks at none that is paused, and says why", async () => {
    const bmc = await redfish();

    const found = await check([behind("node-1", bmc.port, { paused: "fan replacement" })]);

    expect(found).toEqual([
      {
        ...{ check: "bmc", state: "skipped", subject: "node-1" },
        detail: "paused: fan replacement (inventory rack.yaml)",
      },
    ]);
    expect(bmc.requests).toEqual([]);
  });

  it("looks at each, changes nothing and logs out", async () => {
    const [first, second] = [await redfish(), await ipmi()];

    const found = await check([
      behind("node-1", first.port),
      behind("node-2", 1, { providers: ["ipmi"], ipmi: { port: second.port } }),
    ]);

    expect(found).toMatchObject([
      {
        state: "ok",
        subject: "node-1",
        detail: expect.stringMatching(/^power (on|off); all 3 required checks passed/),
      },
      { state: "ok", subject: "node-2", detail: expect.stringContaining("ipmi: ") },
    ]);
    expect(first.log.filter((line) => !line.startsWith("GET ") && !line.includes(SESSIONS))).toEqual([]);
    const harmless = /^(Get|Read|Reserve|Open Session|RAKP|Set Session Privilege Level|Close Session)/;
    expect(second.log.filter((name) => !harmless.test(name))).toEqual([]);
    expect(first.log.at(-1)).toMatch(/^DELETE .*Sessions\//);
    // The doctor does not wait for the answer to it.
    await vi.waitFor(() => expect(second.log).toContain("Close Session"), { timeout: 10_000 });
  });

  it("reports each failure with its cause, the worst first", async () => {
    const [good, strict, hole] = [await redfish(), await redfish(), await tcpBlackHole()];
    closers.push(async () => hole[Symbol.asyncDispose]());
    const certificate = createCertificate({ commonName: "bmc", altNames: ["127.0.0.1"] });
    const secure = await redfish({ tls: certificate });

    const found = await check(
      [
        behind("good", good.port),
        behind("refused", strict.port, refused),
        behind("away", 1),
        behind("silent", hole.port, { requestTimeout: "1s" }),
        behind("untrusted", secure.port, { redfish: { port: secure.port, scheme: "https" } }),
        behind("secretless", good.port, { credentials: { username: "admin", passwordEnv: "NOT_SET" } }),
      ],
      { timeoutMs: 4_000 },
    );

    expect(
      found.map(({ subject, state, cause, class: errorClass }) => [subject, state, cause, errorClass]),
    ).toEqual([
      ["refused", "problem", "bmc-auth", "auth"],
      ["away", "problem", "bmc-unreachable", "unreachable"],
      ["silent", "problem", expect.stringMatching(/^bmc-(timeout|unreachable)$/), expect.anything()],
      ["untrusted", "problem", "bmc-tls", "tls"],
      ["secretless", "problem", "bmc-secret", "usage"],
      ["good", "ok", undefined, undefined],
    ]);
    expect(found.find(({ subject }) => subject === "secretless")?.detail).toBe(
      "passwordEnv NOT_SET is not set",
    );
    expect(JSON.stringify(found)).not.toContain("canary-5");
  });

  it("reports a certificate that is not the pinned one, although IPMI would answer, and how to accept it", async () => {
    const certificate = createCertificate({ commonName: "bmc", altNames: ["127.0.0.1"] });
    const [bmc, other] = [await redfish({ tls: certificate }), await ipmi()];
    const ways = { providers: ["redfish", "ipmi"], redfish: { port: bmc.port }, ipmi: { port: other.port } };

    const found = await check([
      behind("node-1", bmc.port, { ...ways, tls: { fingerprint: "ab".repeat(32) } }),
      behind("node-2", bmc.port, { ...ways, tls: { fingerprint: "ab".repeat(32), fallback: true } }),
    ]);

    expect(found).toMatchObject([
      { subject: "node-1", state: "problem", cause: "bmc-tls", class: "tls" },
      { subject: "node-2", state: "ok", detail: expect.stringContaining("redfish: TLS failed, ipmi:") },
    ]);
    expect(found[0]?.detail).toContain(`tls: {fingerprint: "${fingerprintOf(certificate)}"}`);
    expect(found[0]?.remedy).toContain("tls.fingerprint");
  });

  it("offers what was refused once only, whatever the machine is called and however many providers it has", async () => {
    const [bmc, other] = [await redfish({ basic: true }), await ipmi()];
    const both = { ...refused, providers: ["redfish", "ipmi"], ipmi: { port: other.port } };

    const found = await check([behind("node-1", bmc.port, both), behind("node-1-again", bmc.port, both)]);

    expect(found.map(({ cause }) => cause)).toEqual(["bmc-auth", "bmc-auth"]);
    expect(found[1]?.detail).toContain("accounts lock");
    expect(found[0]?.remedy).toContain("pbnj-worker doctor --bmc node-1");
    expect(bmc.refusedCredentials).toBe(1);
    expect(other.log.filter((name) => name.startsWith("RAKP"))).toEqual([]);
  });

  it("looks at those that are named, and finds what was meant", async () => {
    const [first, second] = [await redfish(), await redfish()];
    const machines = [behind("node-1", first.port), behind("node-2", second.port)];

    const found = await check(machines, { asked: ["node-2", "nod-1"] });

    expect(found).toMatchObject([
      {
        subject: "nod-1",
        cause: "machine-unknown",
        detail: "there is no such machine in the inventory, did you mean node-1?",
      },
      { subject: "node-2", state: "ok" },
    ]);
    expect(first.requests).toEqual([]);
  });

  it("warns of a clock that is far away, and says what to do", async () => {
    const bmc = await redfish();
    bmc.manager.clockSkewMs = -3 * 3_600_000 - 30_000;

    const found = await check([behind("node-1", bmc.port)]);

    expect(found).toMatchObject([
      { state: "warning", cause: "bmc-clock", remedy: expect.stringContaining("set-ntp") },
    ]);
    expect(found[0]?.detail).toMatch(/^clock: 3h 0m behind this host's/);
  });

  it("looks at many machines, some fifty at a time", async () => {
    const bmcs = await Promise.all(Array.from({ length: 60 }, () => redfish()));
    const machines = bmcs.map(({ port }, index) =>
      behind(`node-${index}`, port, index === 55 ? refused : {}),
    );
    let most = 0;
    const looking = setInterval(() => {
      const visited = bmcs.filter(({ log }) => log.length > 0 && !log.at(-1)?.startsWith("DELETE "));
      most = Math.max(most, visited.length);
    }, 50);

    const found = await check(machines, { timeoutMs: 60_000 }).finally(() => clearInterval(looking));

    expect(found).toHaveLength(60);
    expect(found[0]).toMatchObject({ subject: "node-55", cause: "bmc-auth" });
    expect(found.slice(1).every(({ state }) => state === "ok")).toBe(true);
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(50);
  });

  it("ends at once when it is stopped, and logs out", async () => {
    const bmc = await redfish({ latencyMs: 300 });
    const stop = new AbortController();

    const checking = check([behind("node-1", bmc.port)], {}, stop.signal);
    checking.catch(() => undefined);
    await eventually(() => bmc.log.some((line) => line.startsWith("POST ")));
    await eventually(() => bmc.log.at(-1)?.startsWith("GET ") ?? false);
    stop.abort(new Error("stopped by SIGINT"));

    await expect(checking).rejects.toThrow("stopped by SIGINT");
    expect(bmc.log.at(-1)).toMatch(/^DELETE /);
  });
});
