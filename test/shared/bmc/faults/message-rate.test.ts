import { describe, expect, it } from "vitest";
import { BmcClient } from "../../../../shared/bmc/client.ts";
import { BmcError } from "../../../../shared/contract/bmc-error.ts";
import { Connection } from "../../../../shared/contract/connection.ts";
import { startIpmiBmc } from "../../../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../../../simulators/machine.ts";
import { redfishConnection } from "../../../support/bmc-lab.ts";
import { startTree, type TreeAnswer, treeOf } from "../../../support/redfish-tree.ts";

/** A person could read along: what asks more often than this asks without a pause. */
const MOST_PER_SECOND = 25;

const signal = new AbortController().signal;

/** The error of reading the power, and how many messages per second it took. */
async function rateOf(connection: Readonly<Record<string, unknown>>, messages: () => number) {
  const client = new BmcClient(Connection.parse(connection));
  const startedMs = performance.now();
  try {
    await client.getPower(signal);
    throw new Error("it was answered");
  } catch (thrown) {
    const error = BmcError.from(thrown);
    const seconds = Math.max(1, (performance.now() - startedMs) / 1_000);
    return { error, perSecond: messages() / seconds };
  } finally {
    await client.close();
  }
}

describe.concurrent("a BMC that always refuses is asked a few times, with pauses", () => {
  it.each([
    [0x02, "invalid session ID"],
    [0x08, "inactive session ID"],
  ])("over IPMI with RAKP status %i, and its reason is the error", async (status, reason) => {
    await using bmc = await startIpmiBmc({ machine: new SimulatedMachine() });
    bmc.faults.rewrites = (name, datagram) => {
      if (name !== "RAKP1") return [datagram];
      const tag = datagram.readUInt8(16);
      const answer = Buffer.concat([datagram.subarray(0, 16), Buffer.of(tag, status, 0, 0, 0, 0, 0, 0)]);
      answer.writeUInt16LE(8, 14);
      datagram.copy(answer, 20, 20, 24);
      return [answer];
    };
    const connection = {
      host: "127.0.0.1",
      username: "admin",
      password: "calvin",
      providers: ["ipmi"],
      ipmi: { port: bmc.port },
    };

    const { error, perSecond } = await rateOf(connection, () => bmc.received);

    expect(error).toMatchObject({ class: "protocol", message: expect.stringContaining(reason) });
    expect(perSecond).toBeLessThan(MOST_PER_SECOND);
  });

  it.each<[string, TreeAnswer]>([
    ["busy, ask again at once", [503, {}, { "retry-after": "0" }]],
    ["a redirect to itself", [308, {}, { location: "/redfish/v1/Systems" }]],
    ["another encoding", [406, {}]],
    ["other credentials", [401, {}, { "www-authenticate": 'X realm="a"' }]],
  ])("over Redfish with %s", async (_, answer) => {
    await using bmc = await startTree(treeOf({}), () => answer);

    const { perSecond } = await rateOf(redfishConnection(bmc.port), () => bmc.requests.length);

    expect(perSecond).toBeLessThan(MOST_PER_SECOND);
  });

  const account = { host: "127.0.0.1", username: "admin", password: "calvin" };
  const DIGEST = 'Digest realm="amt", nonce="n", qop="auth", stale=true';
  let version = 95;

  it.each<[string, (port: number) => Record<string, unknown>, () => TreeAnswer]>([
    [
      "amt with a digest that is always stale",
      (port) => ({ ...account, providers: ["amt"], amt: { scheme: "http", port } }),
      () => [401, {}, { "www-authenticate": DIGEST }],
    ],
    [
      "rpc with 503",
      (port) => ({ ...account, providers: ["rpc"], rpc: { url: `http://127.0.0.1:${port}/` } }),
      () => [503, {}, { "retry-after": "0" }],
    ],
    [
      "homeassistant with 503",
      (port) => ({
        host: "127.0.0.1",
        password: "token",
        providers: ["homeassistant"],
        homeassistant: { url: `http://127.0.0.1:${port}`, entity: "switch.a" },
      }),
      () => [503, {}, { "retry-after": "0" }],
    ],
    [
      "ironic with an older version each time",
      (port) => ({
        host: "127.0.0.1",
        providers: ["ironic"],
        ironic: { url: `http://127.0.0.1:${port}`, node: "a" },
      }),
      () => [406, {}, { "x-openstack-ironic-api-maximum-version": `1.${--version}` }],
    ],
  ])("over %s", async (_, connectionTo, answer) => {
    await using bmc = await startTree({}, answer);

    const { perSecond } = await rateOf(connectionTo(bmc.port), () => bmc.requests.length);

    expect(bmc.requests.length).toBeGreaterThan(0);
    expect(perSecond).toBeLessThan(MOST_PER_SECOND);
  });
});
