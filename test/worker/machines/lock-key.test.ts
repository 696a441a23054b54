import { describe, expect, it } from "vitest";
import { lockKeyOf, mayBeSameBmc, serviceLockKey } from "../../../worker/machines/lock-key.ts";

describe("mayBeSameBmc", () => {
  it.each([
    ["10.0.0.1", "10.0.0.1 redfish:8443", true],
    ["10.0.0.1 redfish:8001", "10.0.0.1 redfish:8002", false],
    ["10.0.0.1", "10.0.0.2", false],
  ])("%s and %s: %s", (one, other, same) => {
    expect(mayBeSameBmc(one, other)).toBe(same);
    expect(mayBeSameBmc(other, one)).toBe(same);
  });
});

it.each([
  [
    "127.0.0.1",
    ["127.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.0.0.1.", "::ffff:127.0.0.1", "[::FFFF:7f00:1]"],
  ],
  ["fe80::1%eth0", ["fe80:0::1%eth0", "FE80:0:0:0:0:0:0:1%eth0", "[fe80::0001%eth0]"]],
  ["bmc.example", ["BMC.Example", "bmc.example.", " bmc.example"]],
])("a BMC at %s has one key, however its host is written", (host, others) => {
  expect(others.map((other) => lockKeyOf(other, { redfish: 443 }))).toEqual(
    others.map(() => lockKeyOf(host)),
  );
});

it("a machine behind a service has one key, however the service's address and its own host are written", () => {
  const same = [
    ["http://127.0.0.1/rpc", "bmc.example"],
    ["http://127.1:80/rpc/", "BMC.example."],
    ["http://user@127.0.0.1./rpc#part", "bmc.example"],
    ["http://127.0.0.1:0080/a/../rpc", "bmc.example"],
  ] as const;
  const other = serviceLockKey("rpc", "http://127.0.0.1/rpc?site=2", "bmc.example");

  const keys = new Set(same.map(([url, host]) => serviceLockKey("rpc", url, host)));

  expect([...keys]).toEqual(["rpc http://127.0.0.1/rpc bmc.example"]);
  expect(keys).not.toContain(other);
});
