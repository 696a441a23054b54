import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { hardwareData } from "../../../worker/template/hardware-data.ts";
import { fileFolder } from "../../support/test-folder.ts";

const { folder } = await fileFolder();
async function dataOf(text: string) {
  const path = join(folder, "hardware.yaml");
  await writeFile(path, text);
  return hardwareData(path);
}

it("a Hardware object is there as a whole, and by the names of the controller's code", async () => {
  const data = await dataOf(`kind: Secret
---
apiVersion: tinkerbell.org/v1alpha1
kind: Hardware
metadata: { name: node-1 }
spec:
  bmcRef: { name: bm-1 }
  disks: [{ device: /dev/sda }]
  userData: hello
  metadata: { instance: { id: i-1 } }
  interfaces: [{ dhcp: { mac: "02:00:00:00:00:01", iface_name: eth0, name_servers: [192.0.2.1], ip: { address: 192.0.2.9 } } }]
`);

  expect(data).toMatchObject({
    ok: true,
    value: {
      hardware: { metadata: { name: "node-1" }, spec: { bmcRef: { name: "bm-1" } } },
      Hardware: {
        Disks: ["/dev/sda"],
        UserData: "hello",
        Metadata: { Instance: { ID: "i-1" } },
        Interfaces: [
          {
            DHCP: {
              ...{ MAC: "02:00:00:00:00:01", IfaceName: "eth0", NameServers: ["192.0.2.1"] },
              IP: { Address: "192.0.2.9" },
            },
          },
        ],
      },
      references: {},
    },
  });
});

it.each([
  ["kind: Machine", "holds no object of kind Hardware"],
  ["a: [", "is no YAML"],
])("a file with %s is refused", async (text, message) => {
  expect(await dataOf(text)).toEqual({ ok: false, problems: [{ source: expect.any(String), message }] });
});

it("a file that is missing is refused", async () => {
  const data = await hardwareData(join(folder, "none.yaml"));

  expect(data).toEqual({
    ok: false,
    problems: [{ source: "--hardware", message: expect.stringMatching(/^\S+ does not exist$/) }],
  });
});
