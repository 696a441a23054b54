import { expect, it } from "vitest";
import { fromPython, provenWith } from "./compatibility/peer.ts";
import { requirements, startSushyTools, startVirtualBmc } from "./libvirt-bmc.ts";
import { DOMAIN_ID } from "./libvirt-host.ts";
import { describeWithProgram } from "./programs.ts";
import { describeWithPython } from "./python-packages.ts";
import { type BootSources, INSTALLED, INSTALLER, startBootSources } from "./qemu-machine.ts";
import { runTemplate, SLOW_TEST_MS } from "./qemu-template.ts";

const BOOT_MS = 90_000;
const POWER_OFF = { action: "power-off", inputs: { MODE: "hard" } };

/** Boots the network, again, and the disk. Resolves to what the first template printed. */
async function bootBoth(
  { folder, fetched }: BootSources,
  consoles: readonly string[],
  connection: Readonly<Record<string, unknown>>,
): Promise<string> {
  const networkBoot = [POWER_OFF, { action: "set-pxe-once" }, { action: "power-on" }];
  const first = await runTemplate(folder, connection, networkBoot);
  expect(first).toMatchObject({ code: 0 });
  await expect.poll(() => consoles[0], { timeout: BOOT_MS }).toContain(INSTALLER);
  expect(fetched).toEqual([expect.stringMatching(/^\/installer\.ipxe by iPXE/)]);

  // libvirt has no one-time boot device, and both BMCs keep what was set.
  expect(await runTemplate(folder, connection, [POWER_OFF, { action: "power-on" }])).toMatchObject({
    code: 0,
  });
  await expect.poll(() => consoles[1], { timeout: BOOT_MS }).toContain(INSTALLER);

  const diskBoot = [
    POWER_OFF,
    { action: "set-boot-device", inputs: { DEVICE: "disk" } },
    { action: "power-on" },
  ];
  expect(await runTemplate(folder, connection, diskBoot)).toMatchObject({ code: 0 });
  await expect.poll(() => consoles[2], { timeout: BOOT_MS }).toContain(INSTALLED);
  expect(fetched).toHaveLength(2);
  return first.stdout;
}

await describeWithPython(requirements, "a machine of QEMU and libvirt", (installed) => {
  describeWithProgram("libvirtd", "a machine of libvirt behind sushy-tools", () => {
    const proven = provenWith(fromPython("sushy-tools (libvirt)", installed.python, "sushy-tools"));

    it("boots an installer from the network, although the override stays", {
      timeout: SLOW_TEST_MS,
      ...proven,
    }, async () => {
      const sources = await startBootSources();
      const { consoles, port } = await startSushyTools(installed, sources);
      const redfish = { port, scheme: "http", system: DOMAIN_ID };

      const stdout = await bootBoth(sources, consoles, { providers: ["redfish"], redfish });

      expect(stdout).toContain("boot pxe persistent: the BMC keeps one-time overrides");
    });
  });

  describeWithProgram("libvirtd", "a machine of libvirt behind virtualbmc", () => {
    const proven = provenWith(fromPython("virtualbmc", installed.python, "virtualbmc"));

    it("boots an installer from the network, although the override stays and looks one-time", {
      timeout: SLOW_TEST_MS,
      ...proven,
    }, async () => {
      const sources = await startBootSources();
      const { consoles, port } = await startVirtualBmc(installed, sources);
      const ipmi = { port, allowSuite3: true };

      const stdout = await bootBoth(sources, consoles, { providers: ["ipmi"], ipmi });

      expect(stdout).toContain("boot pxe once (legacy)");
    });
  });
});
