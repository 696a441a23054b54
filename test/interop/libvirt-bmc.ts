import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort, freeUdpPort } from "./free-port.ts";
import { untilIpmiAnswers } from "./ipmi-peer.ts";
import { checkNamespace, DOMAIN, libvirtUri, startLibvirtHost } from "./libvirt-host.ts";
import { installPythonPackages, type PythonPackages } from "./python-packages.ts";
import type { BootSources } from "./qemu-machine.ts";
import { configureEmulator, emulatorPort } from "./sushy-emulator.ts";

/** The password of the user `admin`. */
const PASSWORD = "password";

export async function requirements() {
  await checkNamespace();
  return installPythonPackages("libvirt", ["sushy-tools==2.2.0", "virtualbmc==3.3.0"], { withSystem: true });
}

/** sushy-tools' emulator for a machine of libvirt. */
export async function startSushyTools(installed: PythonPackages, sources: BootSources, password = PASSWORD) {
  const settings = { SUSHY_EMULATOR_LIBVIRT_URI: libvirtUri(sources) };
  const config = await configureEmulator(installed, sources.folder, settings, password);
  const emulator = [installed.program("sushy-emulator"), "--config", config];
  const { consoles, stderr } = await startLibvirtHost(sources, installed, emulator);
  return { consoles, port: await emulatorPort(stderr) };
}

/** virtualbmc for a machine of libvirt. */
export async function startVirtualBmc(installed: PythonPackages, sources: BootSources, password = PASSWORD) {
  const port = await freeUdpPort();
  const [main, bmc] = [join(sources.folder, ".vbmc"), join(sources.folder, ".vbmc", DOMAIN)];
  await mkdir(bmc, { recursive: true });
  await writeFile(join(main, "virtualbmc.conf"), `[default]\nserver_port = ${await freePort()}\n`);
  await writeFile(
    join(bmc, "config"),
    `[VirtualBMC]
domain_name = ${DOMAIN}
libvirt_uri = ${libvirtUri(sources)}
address = 127.0.0.1
port = ${port}
username = admin
password = ${password}
active = true
`,
  );
  const vbmcd = [installed.program("vbmcd"), "--foreground"];
  const { consoles, stderr } = await startLibvirtHost(sources, installed, vbmcd);
  let said = "";
  stderr.on("data", (text) => (said += text));
  await untilIpmiAnswers(port).catch((cause: unknown) => {
    throw new Error(`vbmcd does not answer: ${said}`, { cause });
  });
  return { consoles, port };
}
