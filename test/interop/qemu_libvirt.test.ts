import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { fromPython, provenWith } from "./compatibility/peer.ts";
import { freeUdpPort, untilIpmiAnswers } from "./ipmi-peer.ts";
import { checkNamespace, DOMAIN, DOMAIN_ID, libvirtUri, startLibvirtHost } from "./libvirt-host.ts";
import { describeWithProgram } from "./programs.ts";
import { describeWithPython, installPythonPackages } from "./python-packages.ts";
import { type BootSources, INSTALLED, INSTALLER, startBootSources } from "./qemu-machine.ts";
import { runTemplate, SLOW_TEST_MS } from "./qemu-template.ts";
import { configureEmulator, emulatorPort } from "./sushy-emulator.ts";

const PASSWORD = "password";
const BOOT_MS = 90_000;
const POWER_OFF = { action: "power-off", inputs: { MODE: "hard" } };

async function requirements() {
  await checkNamespace();
  return installPythonPackages("libvirt", ["sushy-tools==2.2.0", "virtualbmc==3.3.0"], { withSystem: true });
}

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
  describeWithProgram("libvirtd", "a machine of libvirt", () => {
    it("boots an installer from the network behind sushy-tools, which keeps the override", {
      timeout: SLOW_TEST_MS,
      ...provenWith(fromPython("sushy-tools (libvirt)", installed.python, "sushy-tools")),
    }, async () => {
      const sources = await startBootSources();
      const settings = { SUSHY_EMULATOR_LIBVIRT_URI: libvirtUri(sources) };
      const config = await configureEmulator(installed, sources.folder, settings, PASSWORD);
      const emulator = [installed.program("sushy-emulator"), "--config", config];
      const { consoles, stderr } = await startLibvirtHost(sources, installed, emulator);
      const redfish = { port: await emulatorPort(stderr), scheme: "http", system: DOMAIN_ID };

      const stdout = await bootBoth(sources, consoles, { providers: ["redfish"], redfish });

      expect(stdout).toContain("boot pxe persistent: the BMC keeps one-time overrides");
    });

    it("boots an installer from the network behind virtualbmc, which keeps the override and calls it one-time", {
      timeout: SLOW_TEST_MS,
      ...provenWith(fromPython("virtualbmc", installed.python, "virtualbmc")),
    }, async () => {
      const sources = await startBootSources();
      const port = await freeUdpPort();
      const [main, bmc] = [join(sources.folder, ".vbmc"), join(sources.folder, ".vbmc", DOMAIN)];
      await mkdir(bmc, { recursive: true });
      await writeFile(join(main, "virtualbmc.conf"), `[default]\nserver_port = ${await freeUdpPort()}\n`);
      await writeFile(
        join(bmc, "config"),
        `[VirtualBMC]
domain_name = ${DOMAIN}
libvirt_uri = ${libvirtUri(sources)}
address = 127.0.0.1
port = ${port}
username = admin
password = ${PASSWORD}
active = true
`,
      );
      const vbmcd = [installed.program("vbmcd"), "--foreground"];
      const { consoles, stderr } = await startLibvirtHost(sources, installed, vbmcd);
      stderr.resume();
      await untilIpmiAnswers(port);
      const ipmi = { port, allowSuite3: true };

      const stdout = await bootBoth(sources, consoles, { providers: ["ipmi"], ipmi });

      expect(stdout).toContain("boot pxe once (legacy)");
    });
  });
});
