import { describe, expect, it } from "vitest";
import { lockKeyOf, mayBeSameBmc } from "../../../worker/machines/lock-key.ts";

describe("lockKeyOf", () => {
  it.each([
    [
      "127.0.0.1",
      [
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.0.0.1.",
        "::ffff:127.0.0.1",
        "[::ffff:7f00:1]",
      ],
    ],
    ["2001:db8::1", ["2001:DB8:0:0:0:0:0:1", "[2001:db8::1]", "2001:0db8::0001"]],
    ["bmc-1.example", ["BMC-1.example", "bmc-1.example."]],
  ])("has one key for every spelling of %s", (host, spellings) => {
    expect(new Set([host, ...spellings].map((spelling) => lockKeyOf(spelling)))).toEqual(new Set([host]));
  });
});

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
