import { expect, test } from "vitest";
import { Connection, serialiseConnection } from "../../../shared/contract/connection.ts";

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
  ["10.0.0.1:443", /must not carry a port/],
  ["[10.0.0.1]", /takes no brackets/],
  ["bmc/redfish", /name or address alone/],
  ["user@bmc", /name or address alone/],
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
