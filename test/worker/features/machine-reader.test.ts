import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import { readTextFile } from "../../../shared/read-text-file.ts";
import { startIpmiBmc } from "../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../../simulators/redfish/bmc.ts";
import { MachineLocks } from "../../../worker/core/queue/action-queue.ts";
import { compareMachine } from "../../../worker/features/drift/compare-machine.ts";
import { MachineReader } from "../../../worker/features/machine-reader.ts";
import { AuthGate } from "../../../worker/machines/auth-gate.ts";
import { parseInventory } from "../../../worker/machines/parse-inventory.ts";
import { SecretCommands } from "../../../worker/machines/secret-commands.ts";
import { quickClock, quickLibrary } from "../../support/quick-actions.ts";

const { signal } = new AbortController();

let bmc: RedfishBmc;
let folder: string;
let locks: MachineLocks;
let reader: MachineReader;
beforeEach(async () => {
  bmc = await startRedfishBmc({ username: "admin", password: "calvin", tls: "http" });
  folder = await mkdtemp(join(tmpdir(), "pbnj-power-"));
  await writeFile(join(folder, "password"), "calvin\n");
  locks = new MachineLocks();
  reader = readerOf({ providers: ["redfish"], redfish: { port: bmc.port, scheme: "http" } }).reader;
});
afterEach(async () => {
  await reader.close();
  await bmc.stop();
  await rm(folder, { recursive: true, force: true });
});

/** A reader of one machine, whose entry has these options. */
function readerOf(options: Readonly<Record<string, unknown>>) {
  const entry = {
    ...{ name: "node-1", host: "127.0.0.1" },
    credentials: { username: "admin", passwordFile: join(folder, "password") },
    ...options,
  };
  const text = JSON.stringify({ machines: [entry] });
  const parsed = parseInventory({ path: join(folder, "i.yaml"), text, env: {}, readFile: readTextFile });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const made = new MachineReader({
    inventory: parsed.value,
    actions: quickLibrary,
    locks,
    authGate: new AuthGate(),
    secretCommands: new SecretCommands(),
    clock: quickClock,
  });
  return { reader: made, [Symbol.asyncDispose]: () => made.close() };
}

describe("a client of a machine's BMC", () => {
  const compare = (desired: DesiredState, by = reader) =>
    by.useBmc(
      "node-1",
      (client, connection, redact) => compareMachine(client, connection, desired, redact, signal),
      signal,
    );

  it("compares the machine with one login, and logs out", async () => {
    const options = { username: "admin", password: "calvin", tls: "http", basic: false } as const;
    await using other = await startRedfishBmc(options);
    await using its = readerOf({ providers: ["redfish"], redfish: { port: other.port, scheme: "http" } });

    const desired: DesiredState = { power: "off", ntp: ["ntp1.example.org"], bootDevice: "none" };
    const { differences, error } = await compare(desired, its.reader);

    expect(error).toBeUndefined();
    expect(differences.map(({ field, state }) => `${field} ${state}`)).toEqual([
      "power different",
      "bootDevice same",
      "ntp different",
    ]);
    const sessions = other.log.filter((line) => /^(POST|DELETE) .*\/Sessions/.test(line));
    expect(sessions.map((line) => line.split(" ")[0])).toEqual(["POST", "DELETE"]);
  });

  it("redacts and shortens what a hostile BMC says", async () => {
    const hostile = `calvin\u001b[31m\u202e\n${"x".repeat(5_000)}`;
    const machine = new SimulatedMachine();
    machine.bios.attributes = { ...machine.bios.attributes, BootMode: hostile };
    await using other = await startRedfishBmc({ machines: [machine], tls: "http" });
    other.manager.ntp.servers.push(hostile, `another ${hostile}`);
    await using its = readerOf({ providers: ["redfish"], redfish: { port: other.port, scheme: "http" } });
    const compared = () => compare({ ntp: ["a.example"], bios: { BootMode: "Uefi" } }, its.reader);
    other.manager.ntp.enabled = true;

    const { differences } = await compared();
    other.fail({ kind: "refuse", method: "GET", path: /Bios/, status: 400, message: hostile, times: 9 });
    const { error } = await compared();

    const texts = differences.flatMap(({ actual }) => actual ?? []).map(String);
    expect(texts).toHaveLength(3);
    for (const text of [...texts, error?.message ?? ""]) {
      expect(text).not.toMatch(/calvin|\p{Cc}|\p{Cf}/u);
      expect(text).toMatch(/x{20}/);
      expect(text.length).toBeLessThanOrEqual(200);
    }
  });

  it("does not offer a refused password again", async () => {
    await writeFile(join(folder, "password"), "wrong\n");
    expect((await compare({ power: "on" })).error).toMatchObject({ class: "auth" });
    const tried = bmc.requests.length;

    await expect(compare({ power: "on" })).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("not offered again"),
    });
    expect(bmc.requests).toHaveLength(tried);
  });
});

describe("a machine's power as the worker reads it", () => {
  it("is the BMC's, with fewer requests once it is known how to ask it", async () => {
    expect(await reader.getPower("node-1", signal)).toBe("on");
    const first = bmc.requests.length;
    expect(await reader.getPower("node-1", signal)).toBe("on");

    expect(bmc.requests.length - first).toBeLessThan(first);
  });

  it("is read when the machine's turn has come", async () => {
    const release = await locks.acquire("machine node-1", signal);
    const reading = reader.getPower("node-1", signal);
    await new Promise((resolve) => setImmediate(resolve));
    expect(bmc.requests).toHaveLength(0);

    release();

    expect(await reading).toBe("on");
    expect(bmc.requests.length).toBeGreaterThan(0);
  });

  it("is not asked for again with a password that the BMC refused", async () => {
    await writeFile(join(folder, "password"), "wrong\n");
    await expect(reader.getPower("node-1", signal)).rejects.toMatchObject({ class: "auth" });
    const tried = bmc.requests.length;

    await expect(reader.getPower("node-1", signal)).rejects.toMatchObject({
      class: "auth",
      message: expect.stringContaining("not offered again"),
    });
    expect(bmc.requests).toHaveLength(tried);

    await writeFile(join(folder, "password"), "calvin\n");
    expect(await reader.getPower("node-1", signal)).toBe("on");
  });

  it("is not read by IPMI where the certificate is another one than the pinned", async () => {
    const secure = await startRedfishBmc({ username: "admin", password: "calvin" });
    const ipmi = await startIpmiBmc({ machine: new SimulatedMachine() });
    onTestFinished(async () => {
      await secure.close();
      await ipmi.close();
    });
    const ways = { redfish: { port: secure.port }, ipmi: { port: ipmi.port } };
    await using untrusting = readerOf({ ...ways, tls: { fingerprint: "ab".repeat(32) } });

    await expect(untrusting.reader.getPower("node-1", signal)).rejects.toMatchObject({ class: "tls" });

    expect(ipmi.log).not.toContain("Get Chassis Status");
  });

  it("fails for an unknown machine and for a BMC that does not answer", async () => {
    await expect(reader.getPower("node-2", signal)).rejects.toMatchObject({ class: "usage" });
    await bmc.stop();
    await expect(reader.getPower("node-1", signal)).rejects.toMatchObject({ class: "unreachable" });
  });

  it("is given up with the signal's reason while it waits for its turn", async () => {
    const release = await locks.acquire("machine node-1", signal);
    const stop = new AbortController();
    const reading = reader.getPower("node-1", stop.signal);
    const reason = new Error("enough");
    stop.abort(reason);
    await expect(reading).rejects.toBe(reason);
    release();
    expect(await reader.getPower("node-1", signal)).toBe("on");
  });
});
