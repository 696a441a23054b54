import { describe, expect, it } from "vitest";
import { readLeases } from "../../../cli/discover/leases.ts";

const DNSMASQ = `1767225600 52:54:00:12:34:56 192.0.2.10 bmc-1 01:52:54:00:12:34:56
0 52:54:00:12:34:57 192.0.2.11 * *
duid 00:01:00:01:2c:aa
1767225600 12345678 2001:db8::10 bmc-1 00:01:00:01
`;
const KEA = `address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context,pool_id
192.0.2.10,52:54:00:12:34:56,,3600,1767225600,1,0,0,bmc-1,0,,0
192.0.2.11,52:54:00:12:34:57,,3600,1767225600,1,0,0,a&#x2cb,0,,0
192.0.2.12,52:54:00:12:34:58,,3600,1767225600,1,0,0,,2,,0
192.0.2.11,52:54:00:12:34:57,,0,1767225600,1,0,0,,0,,0
`;
const ISC = `# The format of this file is documented in the dhcpd.leases(5) manual page.
authoring-byte-order little-endian;
server-duid "x";
lease 192.0.2.10 {
  starts 4 2026/01/01 00:00:00;
  binding state active;
  next binding state free;
  hardware ethernet 52:54:00:12:34:56;
  client-hostname "lease 192.0.2.99 {";
}
lease 192.0.2.11 {
  binding state active;
}
lease 192.0.2.11 {
  binding state free;
}
ia-na "x" {
  iaaddr 2001:db8::10 {
    binding state active;
  }
}
`;

describe("the addresses of a leases file", () => {
  it.each([
    ["dnsmasq", DNSMASQ, ["192.0.2.10", "192.0.2.11", "2001:db8::10"]],
    ["Kea", KEA, ["192.0.2.10"]],
    ["ISC dhcpd", ISC, ["192.0.2.10", "2001:db8::10"]],
  ])("of %s are those in use", (_, text, addresses) => {
    expect(readLeases(text)).toEqual(addresses);
    expect(readLeases(text.replaceAll("\n", "\r\n"))).toEqual(addresses);
  });

  it("are unicast addresses and nothing else", () => {
    const text = "0 a 239.255.255.250 b c\n0 a $(reboot) b c\n0 a 255.255.255.255 b c\n";

    expect(readLeases(text)).toEqual([]);
  });

  it("are none of another file's", () => {
    expect(readLeases("machines: []\n")).toBeUndefined();
  });
});
