import { describe, expect, it } from "vitest";
import { ADDRESS_SCHEMES, readAddress } from "../../../../worker/features/cluster-machines/host-address.ts";

const ADMIN = { privilege: "administrator" };

describe("an address of a BareMetalHost", () => {
  it.each([
    ["192.0.2.1", { host: "192.0.2.1", providers: ["ipmi"], ipmi: ADMIN }],
    ["192.0.2.1:6230", { host: "192.0.2.1", ipmi: { ...ADMIN, port: 6230 } }],
    ["bmc.example:6230", { host: "bmc.example", ipmi: { ...ADMIN, port: 6230 } }],
    ["ipmi:192.0.2.1", { host: "192.0.2.1", ipmi: ADMIN }],
    ["ipmi://[2001:db8::1]:624", { host: "2001:db8::1", ipmi: { ...ADMIN, port: 624 } }],
    ["[2001:db8::1]:624", { host: "2001:db8::1", ipmi: { ...ADMIN, port: 624 } }],
    ["2001:db8::1", { host: "2001:db8::1", ipmi: ADMIN }],
    ["ipmi://bmc?privilegelevel=OPERATOR", { host: "bmc", ipmi: { privilege: "operator" } }],
    ["libvirt://192.0.2.1:6233/", { host: "192.0.2.1", ipmi: { ...ADMIN, port: 6233, allowSuite3: true } }],
    [
      "redfish://bmc.example/redfish/v1/Systems/1/",
      { host: "bmc.example", providers: ["redfish"], redfish: { system: "/redfish/v1/Systems/1" } },
    ],
    ["redfish+http://bmc:8000/redfish/v1", { host: "bmc", redfish: { scheme: "http", port: 8000 } }],
    ["idrac-virtualmedia+https://[2001:db8::2]:443", { host: "2001:db8::2", redfish: { port: 443 } }],
  ])("%s is a connection", (text, address) => {
    expect(readAddress(text)).toMatchObject({ ok: true, address });
  });

  it("may have every scheme of Metal3, those of Redfish also with a transport", () => {
    const all = ADDRESS_SCHEMES.flatMap((scheme) =>
      scheme === "ipmi" || scheme === "libvirt" ? [scheme] : [scheme, `${scheme}+http`, `${scheme}+https`],
    );

    expect(all).toHaveLength(23);
    for (const scheme of all) expect(readAddress(`${scheme}://bmc/x`), scheme).toMatchObject({ ok: true });
  });

  it.each([
    ["irmc://192.0.2.1", /^has the scheme irmc, which is none of ipmi, libvirt, redfish/],
    ["ipmi+http://192.0.2.1", /^has the scheme ipmi\+http/],
    ["redfish+http+http://bmc", /^has the scheme/],
    ["redfish://", /no valid host/],
    ["redfish://root:calvin@bmc", /must not contain credentials/],
    ["redfish://bmc:99999", /no valid host/],
    [`ipmi://${"a".repeat(3_000)}`, /too long/],
  ])("%s is refused", (text, problem) => {
    expect(readAddress(text)).toEqual({ problem: expect.stringMatching(problem) });
  });
});
