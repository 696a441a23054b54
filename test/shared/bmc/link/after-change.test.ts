import { describe, expect, it } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { Secret } from "../../../../shared/secret.ts";
import { startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { startRedfishBmc } from "../../../../simulators/redfish/bmc.ts";
import type { Fault } from "../../../../simulators/redfish/faults.ts";
import { startTcpProxy } from "../../../support/proxy/tcp-proxy.ts";
import { scaledClock } from "../../../support/scaled-clock.ts";
import { eventually } from "../faults/attempt.ts";

const signal = new AbortController().signal;

/** A machine behind Redfish and IPMI. From its first change on, Redfish answers this many reads like this. */
async function twoProviders(answer: Omit<Fault, "method">) {
  const machine = new SimulatedMachine({ power: "on" });
  const redfish = await startRedfishBmc({ machines: [machine], tls: "http" });
  redfish.sel.add("Critical", "Fan 1 has stopped.");
  const ipmi = await startIpmiBmc({ machine });
  let changes = 0;
  const proxy = await startTcpProxy({
    port: redfish.port,
    onRequest: ({ method }) => {
      if (method === "GET" || changes++ > 0) return;
      redfish.fail({ ...answer, method: "GET" });
    },
  });
  const client = new BmcClient(
    Connection.parse({
      host: "127.0.0.1",
      username: "admin",
      password: "calvin",
      providers: ["redfish", "ipmi"],
      // On the fast clock, a busy machine would seem slow to log in.
      headStartMs: 60_000,
      redfish: { port: proxy.port, scheme: "http" },
      ipmi: { port: ipmi.port },
    }),
    { clock: scaledClock(50) },
  );
  return {
    machine,
    redfish,
    ipmi,
    client,
    async [Symbol.asyncDispose]() {
      await client.close();
      await proxy.close();
      await Promise.all([redfish.close(), ipmi.close()]);
    },
  };
}

const OPERATIONS: readonly (readonly [string, (client: BmcClient) => Promise<unknown>])[] = [
  [
    "power off",
    (client) => client.setPower({ verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs: 120_000 }, signal),
  ],
  ["reset", (client) => client.setPower({ verb: "reset", onIfOff: false, timeoutMs: 120_000 }, signal)],
  ["cycle", (client) => client.setPower({ verb: "cycle", offDurationMs: 1_000, timeoutMs: 120_000 }, signal)],
  ["boot device", (client) => client.setBoot({ device: "pxe", persistent: false, mode: "uefi" }, signal)],
  ["media", (client) => client.insertMedia("http://192.0.2.1/x.iso", signal)],
  ["NTP", (client) => client.setNtp({ enabled: true, servers: ["192.0.2.9"] }, signal)],
  ["identify LED", (client) => client.setIndicator(true, signal)],
  [
    "firmware",
    (client) =>
      client.updateFirmware(
        {
          image: { uri: "https://192.0.2.1/bmc-1.3.0.bin" },
          targets: ["BMC"],
          version: "1.3.0",
          allowDowngrade: false,
        },
        { updateMs: 120_000, verifyMs: 120_000 },
        signal,
      ),
  ],
  [
    "firmware file",
    (client) =>
      client.updateFirmware(
        {
          image: { name: "bmc-1.3.0.bin", content: new Blob(["the image"]) },
          targets: [],
          allowDowngrade: false,
        },
        { updateMs: 120_000, verifyMs: 120_000 },
        signal,
      ),
  ],
  [
    "BIOS attributes",
    (client) => client.setBios({ values: { ProcTurboMode: "Disabled" }, applyTime: "on-reset" }, signal),
  ],
  ["BIOS reset", (client) => client.resetBios(signal)],
  ["event log", (client) => client.clearSel(signal)],
  ["network", (client) => client.setNetwork({ hostName: "bmc-8" }, 60_000, signal)],
  [
    "user",
    (client) =>
      client.putUser({ name: "eve", password: new Secret("correct-horse-9"), role: "operator" }, signal),
  ],
];

describe.each(OPERATIONS)("after its change was accepted, %s", (_, run) => {
  it.each<[string, Omit<Fault, "method">]>([
    ["404", { kind: "refuse", status: 404, messageId: "Base.1.8.ResourceMissingAtURI", times: 4 }],
    ["501", { kind: "refuse", status: 501, messageId: "Base.1.8.ActionNotSupported", times: 4 }],
    ["500", { kind: "refuse", status: 500, messageId: "Base.1.8.InternalError", times: 4 }],
    ["403", { kind: "refuse", status: 403, messageId: "Base.1.8.InsufficientPrivilege", times: 4 }],
    ["no Redfish", { kind: "wrong-type", times: 4 }],
    ["one 401", { kind: "refuse", status: 401, messageId: "Base.1.8.NoValidSession", times: 1 }],
  ])("waits through %s, with the provider that it has", async (_answer, answer) => {
    await using lab = await twoProviders(answer);

    await run(lab.client);

    expect(lab.redfish.requests.some(({ method }) => method !== "GET")).toBe(true);
    expect(lab.ipmi.received).toBe(0);
    const done = lab.machine.commands.map(({ action }) => action);
    expect(done).toEqual([...new Set(done)]);
  });
});

it("a BMC that never reads again is an error of the provider that has changed it", async () => {
  await using lab = await twoProviders({
    kind: "refuse",
    status: 404,
    messageId: "Base.1.8.ResourceMissingAtURI",
    times: 999,
  });

  const failed = lab.client.setPower(
    { verb: "off", mode: "hard", softTimeoutMs: 0, timeoutMs: 20_000 },
    signal,
  );

  await expect(failed).rejects.toMatchObject({
    class: "timeout",
    message: expect.stringMatching(/^redfish: not off after 20.0 s, although the BMC accepted "off": .*404/),
  });
  expect(lab.machine.commands.map(({ action }) => action)).toEqual(["off"]);
});

it("waits for BIOS attributes through what a BMC answers during the boot, also if they were pending already", async () => {
  await using lab = await twoProviders({ kind: "refuse", status: 503, times: 0 });
  const asked = { values: { ProcTurboMode: "Disabled" }, applyTime: "on-reset" } as const;
  await lab.client.setBios(asked, signal);
  lab.redfish.fail({
    kind: "refuse",
    path: /\/Bios$/,
    status: 404,
    skip: 2,
    times: 4,
  });

  const reads = () => lab.redfish.log.filter((request) => /^GET .*\/Bios$/.test(request)).length;
  const before = reads();
  const waiting = lab.client.setBios({ ...asked, waitMs: 600_000 }, signal);
  // The second read follows the answer of the first, which shows the pending value.
  await eventually(() => reads() > before + 1);
  lab.machine.do("reset");

  expect(await waiting).toMatchObject({ changed: false, summary: "already ProcTurboMode=Disabled" });
});
