import { describe, expect, it } from "vitest";
import { isUnicast, parseTargets } from "../../../cli/discover/targets.ts";

const hosts = (...words: readonly string[]) => {
  const { hosts: found, problems } = parseTargets(words);
  expect(problems).toEqual([]);
  return found;
};

describe("the addresses to probe", () => {
  it.each<[string, readonly string[]]>([
    ["192.0.2.5", ["192.0.2.5"]],
    ["192.0.2.9/30", ["192.0.2.9", "192.0.2.10"]],
    ["192.0.2.8/31", ["192.0.2.8", "192.0.2.9"]],
    ["192.0.2.8/32", ["192.0.2.8"]],
    ["10.0.0.254-10.0.1.1", ["10.0.0.254", "10.0.0.255", "10.0.1.0", "10.0.1.1"]],
    ["2001:db8::/126", ["2001:db8::", "2001:db8::1", "2001:db8::2", "2001:db8::3"]],
    ["2001:db8::ffff-2001:db8::1:1", ["2001:db8::ffff", "2001:db8::1:0", "2001:db8::1:1"]],
    ["[2001:DB8:0:0::1]", ["2001:db8::1"]],
    ["fe80::1%eth0", ["fe80::1%eth0"]],
    ["bmc-1.example", ["bmc-1.example"]],
  ])("of %s", (word, expected) => {
    expect(hosts(word)).toEqual(expected);
  });

  it("are named once, in the order of the words", () => {
    expect(hosts("192.0.2.2", "192.0.2.0/30", "192.0.2.1-192.0.2.3")).toEqual([
      "192.0.2.2",
      "192.0.2.1",
      "192.0.2.3",
    ]);
  });

  it("are refused with all problems at once", () => {
    const words = [
      "192.0.2.0/33",
      "10.0.0.9-10.0.0.1",
      "10.0.0.1-::1",
      "10.0.0.300",
      "224.0.0.1",
      "a b",
      "0.0.0.0/8",
    ];

    const { hosts: found, problems } = parseTargets(words);

    expect(found).toEqual([]);
    expect(problems).toEqual([
      '"192.0.2.0/33" is not a block of addresses, such as 192.0.2.0/28 or 2001:db8::/120',
      '"10.0.0.9-10.0.0.1" ends before it starts',
      '"10.0.0.1-::1" is not a range of addresses, such as 10.0.0.5-10.0.0.40',
      '"10.0.0.300" is not an IPv4 address',
      '"224.0.0.1" is not a unicast address',
      '"a b" must be only a name or address',
      '"0.0.0.0/8" has addresses that are not unicast',
    ]);
  });

  it("are at most 65,536, counted before they are listed", () => {
    expect(hosts("2001:db8::/112")).toHaveLength(65_536);
    expect(parseTargets(["2001:db8::/112", "192.0.2.1"]).problems).toEqual([
      "the ranges have 65537 addresses: name at most 65536",
    ]);
    expect(parseTargets(["2001:db8::/32"]).problems).toEqual([
      `the ranges have ${2n ** 96n} addresses: name at most 65536`,
    ]);
  });

  it("may be those of a BMC", () => {
    const unicast = ["10.0.0.1", "fe80::1"];
    const others = ["255.255.255.255", "239.0.0.1", "0.1.2.3", "::", "ff02::c", "name"];

    expect([...unicast, ...others].filter(isUnicast)).toEqual(unicast);
  });
});
