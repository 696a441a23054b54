import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { Connection, requiredCredentials, serialiseConnection } from "../../../shared/contract/connection.ts";

const problemsOf = (value: unknown) =>
  Connection.safeParse(value).error?.issues.map((issue) => `${issue.path.join(".")} ${issue.message}`) ?? [];

test("a connection's JSON opens the secrets and reads back as the same connection", () => {
  const connection = Connection.parse({
    machine: "node-01",
    host: "[2001:db8::1]",
    username: "admin",
    password: "canary-2",
    ipmi: { kg: "canary-3" },
    hint: { provider: "redfish" },
  });

  const again = Connection.parse(JSON.parse(serialiseConnection(connection)));

  expect(connection.host).toBe("2001:db8::1");
  expect(JSON.stringify(connection)).not.toMatch(/canary/);
  expect(again.password?.reveal()).toBe("canary-2");
  expect(again.ipmi.kg?.reveal()).toBe("canary-3");
  expect({ ...again, password: 0, ipmi: 0 }).toEqual({ ...connection, password: 0, ipmi: 0 });
});

test.each([
  ["https://10.0.0.1", /must not have a scheme/],
  ["10.0.0.1:443", /must not contain a port/],
  ["[10.0.0.1]", /takes no brackets/],
  ["bmc/redfish", /only a name or address/],
  ["user@bmc", /only a name or address/],
  ["", /is empty/],
  ["-bmc", /is not a host name/],
  [`${"a".repeat(64)}.example`, /is not a host name/],
])("the host %j is refused", (host, reason) => {
  expect(problemsOf({ host }).join()).toMatch(reason);
});

test.each(["bmc", "bmc.example.", "node_1-bmc.lab", "10.0.0.1", "fe80::1", "[::1]"])(
  "the host %j is taken",
  (host) => {
    expect(problemsOf({ host })).toEqual([]);
  },
);

test("every problem of a connection is found at once", () => {
  const problems = problemsOf({
    host: "http://a",
    providers: ["redfish", "redfish"],
    redfish: { port: 70_000 },
    ipmi: { cipherSuite: 4 },
    tls: { fingerprint: "aa:bb" },
    surprise: true,
  });

  expect(problems).toHaveLength(6);
});

test("a fingerprint is taken with or without colons", () => {
  const hex = "ab".repeat(32);
  const withColons = hex.replace(/(..)(?=.)/g, "$1:").toUpperCase();

  expect(Connection.parse({ host: "a", tls: { fingerprint: withColons } }).tls.fingerprint).toBe(hex);
});

describe("a machine behind a service", () => {
  const rpc = { url: "https://hooks.example/bmc" };
  const homeassistant = { url: "http://ha.example:8123", entity: "switch.node_1" };
  const ironic = { url: "http://ironic.example:6385" };

  test("is reached through that service alone, whatever its host looks like", () => {
    const webhook = Connection.parse({ host: "rack 3 / node 7: left", rpc });
    const plug = Connection.parse({ host: "node 1", providers: ["homeassistant"], homeassistant });

    expect([webhook.providers, plug.providers]).toEqual([["rpc"], ["homeassistant"]]);
    expect(webhook.host).toBe("rack 3 / node 7: left");
    expect(Connection.parse(JSON.parse(serialiseConnection(webhook)))).toEqual(webhook);
  });

  test("needs no host with Ironic, whose node has the machine's name unless it is named", () => {
    const own = Connection.parse({ machine: "node-1", ironic });
    const other = Connection.parse({
      host: "10.0.0.1",
      machine: "node-1",
      ironic: { ...ironic, node: "n-2" },
    });

    expect([own.providers, own.host, own.ironic?.auth]).toEqual([["ironic"], "node-1", "none"]);
    expect([other.host, other.ironic?.node]).toEqual(["10.0.0.1", "n-2"]);
    expect(Connection.parse(JSON.parse(serialiseConnection(own)))).toEqual(own);
  });

  test("needs no credentials for a webhook and a token for Home Assistant", () => {
    expect(requiredCredentials({ rpc })).toEqual([]);
    expect(requiredCredentials({ homeassistant })).toEqual(["password"]);
    expect(requiredCredentials({})).toEqual(["username", "password"]);
    expect(
      [{}, { auth: "token" }, { auth: "basic" }].map((ironic) => requiredCredentials({ ironic })),
    ).toEqual([[], ["password"], ["username", "password"]]);
  });

  test("keeps secrets at any depth closed, and hands them over open", () => {
    const connection = Connection.parse({
      host: "h",
      rpc: {
        ...rpc,
        headers: { Authorization: ["canary-1"] },
        signature: { secrets: { sha256: ["canary-2", "canary-3"], 512: "canary-4" } },
      },
    });

    const handed = JSON.parse(serialiseConnection(connection));
    const again = Connection.parse(handed);

    expect(JSON.stringify(connection) + inspect(connection, { depth: 10 })).not.toContain("canary");
    expect(handed.rpc).toMatchObject({
      headers: { Authorization: ["canary-1"] },
      signature: { secrets: { sha256: ["canary-2", "canary-3"], sha512: ["canary-4"] } },
    });
    expect(again.rpc?.signature.secrets.sha512.map((secret) => secret.reveal())).toEqual(["canary-4"]);
  });

  test.each([
    [
      { host: "h", rpc, providers: ["redfish"] },
      "providers contains other providers than rpc, which is configured: nothing else is tried then",
    ],
    [{ host: "h", rpc, homeassistant }, "homeassistant conflicts with rpc: set only one of them"],
    [{ host: "h", providers: ["rpc"] }, "rpc.url is missing"],
    [{ host: "h", providers: ["homeassistant"] }, "homeassistant.url is missing"],
    [{ host: "h", providers: ["ironic"] }, "ironic.url is missing"],
    [{ ironic: { url: "http://i" } }, "ironic.node is missing"],
    [
      { machine: "a", ironic: { url: "http://i", auth: "password" } },
      "ironic.keystone is missing: auth needs it",
    ],
    [
      { machine: "a", ironic: { url: "http://i", node: "a/../b" } },
      "ironic.node is not the name or UUID of a node",
    ],
    [
      { host: "h", rpc, ironic: { url: "http://i", node: "n" } },
      "ironic conflicts with rpc: set only one of them",
    ],
    [{ host: "a b" }, "host must be only a name or address"],
    [{ host: "", rpc }, "host is empty"],
    [{ host: "a\nb", rpc }, "host must be one line of text"],
    [{ host: "h", rpc: { url: "ftp://a" } }, "rpc.url is not an http or https URL"],
    [{ host: "h", rpc: { url: "hooks.example" } }, "rpc.url is not an http or https URL"],
    [{ host: "h", rpc: { url: "https://u:p@a" } }, "rpc.url must not contain credentials"],
    [{ host: "h", rpc: { ...rpc, method: "get it" } }, "rpc.method is not an HTTP method"],
    [
      { host: "h", rpc: { ...rpc, headers: { "Content-Length": ["1"] } } },
      "rpc.headers.Content-Length is not a header name, or is a header that the connection sets itself",
    ],
    [
      { host: "h", rpc: { ...rpc, headers: { "X-A": ["a\r\nb"] } } },
      "rpc.headers.X-A.0 is not a header value",
    ],
    [
      { host: "h", rpc: { ...rpc, embed: { payload: {}, path: "a..b" } } },
      "rpc.embed.path is not a path such as data.request",
    ],
    [
      { host: "h", homeassistant: { ...homeassistant, entity: "light.a" } },
      "homeassistant.entity is not a switch's ID, such as switch.node_1",
    ],
    [
      { host: "h", homeassistant: { ...homeassistant, powerOperationDelayMs: 600_001 } },
      "homeassistant.powerOperationDelayMs is not a duration up to 10 minutes",
    ],
  ])("is refused where it contradicts itself: %j", (given, problem) => {
    expect(problemsOf(given)).toEqual([problem]);
  });

  test("has its contradictions found beside other problems", () => {
    expect(problemsOf({ host: "a b", headStartMs: -1, providers: ["rpc"] })).toHaveLength(3);
  });
});
