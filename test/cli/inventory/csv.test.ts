import { describe, expect, it } from "vitest";
import { readCsv } from "../../../cli/inventory/import/csv.ts";

const revealed = (text: string) =>
  readCsv(text, "machines.csv").machines.map(({ password, ...machine }) => ({
    ...machine,
    password: password?.reveal(),
  }));

describe("machines in CSV", () => {
  it("are read with the line, whatever the columns are called", () => {
    const text =
      "\uFEFFHost Name;BMC_IP;User;Password;MAC;Protocol;Port\r\n" +
      'Node-1;192.0.2.1;admin;"a;""b"" ";aa:bb;redfish;8443\r\n\r\n' +
      "node-2;bmc-2;root;;;IPMI+Redfish;\r\n";

    const [one, two] = revealed(text);

    expect(one).toEqual({
      source: "machines.csv:2",
      name: "node-1",
      entry: { host: "192.0.2.1", providers: ["redfish"], redfish: { port: 8443 } },
      username: "admin",
      password: 'a;"b" ',
    });
    expect(two).toMatchObject({ source: "machines.csv:4", entry: { providers: ["ipmi", "redfish"] } });
    expect(two?.password).toBeUndefined();
    expect(readCsv(text, "m.csv").notes).toEqual([]);
  });

  it.each([["bmc"], ["BMC IP"], ["bmc address"], ["host"], ["ipmi_ip"], ["OOB"]])(
    "have their BMC in %s",
    (title) => {
      expect(revealed(`name,${title}\na,b\n`)).toMatchObject([{ name: "a", entry: { host: "b" } }]);
    },
  );

  it.each([
    ["", ["machines.csv: is empty"]],
    [
      "a,b\n",
      [
        "machines.csv:1: no column is the name: name one name, hostname, machine",
        expect.stringMatching(/:1: no column is the BMC/),
      ],
    ],
    ["name,bmc,host\n", ["machines.csv:1: two columns are the host"]],
    ['name,bmc,password\na,b,"hunter2\n', ["machines.csv:2: a quote is not closed"]],
    ['name,bmc,password\na,b,"hunter"2\n', [expect.stringMatching(/:2: text follows a closing quote/)]],
    ["name,bmc\na,b,hunter2\n", [expect.stringMatching(/:2: has more fields than the header/)]],
    [
      "name,bmc,type\na,b,redfsh\n",
      ["machines.csv:2: the provider is not one of redfish, ipmi, ipmitool, amt, did you mean redfish?"],
    ],
    [
      "name,bmc,type\na,b,constructor\n",
      ["machines.csv:2: the provider is not one of redfish, ipmi, ipmitool, amt"],
    ],
    ["name,bmc,port\na,b,443\n", ["machines.csv:2: has a port, which needs exactly one provider"]],
    [`name,bmc\na,${"b".repeat(70_000)}\n`, [expect.stringMatching(/a line has more than 65536 bytes/)]],
  ])("are refused with the line and without the text: %j", (text, expected) => {
    const { problems } = readCsv(text, "machines.csv");

    expect(problems.map(({ source, message }) => `${source}: ${message}`)).toEqual(expected);
  });

  it("have labels from columns of places and of `label:`", () => {
    const [first, second] = readCsv("name,bmc,Rack,label:team\na,b,Rack 12,web\nc,d,,\n", "m.csv").machines;

    expect(first?.entry).toMatchObject({ labels: { rack: "Rack-12", team: "web" } });
    expect(second?.entry["labels"]).toBeUndefined();
  });

  it("name the columns that are ignored", () => {
    expect(readCsv("name,bmc,asset,MAC Address\na,b,7,\n", "m.csv").notes).toEqual([
      "ignored columns: asset",
    ]);
  });
});
