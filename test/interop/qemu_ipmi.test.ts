import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { startIpmiSim } from "./ipmi-sim.ts";
import { describeWithProgram } from "./programs.ts";
import { INSTALLED, INSTALLER, listenOnLoopback, QemuMachine, startBootSources } from "./qemu-machine.ts";
import { runTemplate, SLOW_TEST_MS } from "./qemu-template.ts";

/** A chassis script of ipmi_sim for the machine; the machine uses a boot device once. */
async function startChassis(machine: QemuMachine): Promise<string> {
  let boot = "none";
  async function answer([verb, name, value]: readonly string[]): Promise<string> {
    if (verb === "get") return name === "boot" ? `boot:${boot}` : `power:${machine.isOn ? 1 : 0}`;
    if (name === "boot" && value) boot = value;
    if (name === "power" && value === "0") await machine.powerOff();
    if (name === "power" && value === "1") {
      machine.powerOn(boot === "pxe" ? "network" : "disk");
      boot = "none";
    }
    return "";
  }
  const server = createServer(async (socket) => {
    const [line] = await once(createInterface(socket), "line");
    socket.end(`${await answer(line.split(" "))}\n`);
  });
  onTestFinished(() => void server.close());
  return `#!/bin/bash
shift
exec 3<>/dev/tcp/127.0.0.1/${await listenOnLoopback(server)}
echo "$@" >&3
cat <&3
`;
}

describeWithProgram("ipmi_sim", "the ipmi provider and a machine of QEMU behind ipmi_sim", () => {
  describeWithProgram("qemu-system-x86_64", "a machine of QEMU", () => {
    it("boots an installer from the network, once, and shows it on its serial console", {
      timeout: SLOW_TEST_MS,
    }, async () => {
      const sources = await startBootSources();
      const machine = new QemuMachine(sources);
      machine.powerOn("disk");
      const { port, serial } = await startIpmiSim({ chassis: await startChassis(machine) });
      machine.watcher = serial;
      const connection = { providers: ["ipmi"], ipmi: { port, allowSuite3: true } };

      const installed = await runTemplate(sources.folder, connection, [
        { action: "power-off", inputs: { MODE: "soft-then-hard", SOFT_TIMEOUT: "1s" } },
        { action: "set-pxe-once" },
        { action: "power-on" },
        { action: "watch-console", inputs: { UNTIL: `^${INSTALLER}`, FAIL_ON: `^${INSTALLED}` } },
      ]);

      expect(installed).toMatchObject({ code: 0, stdout: expect.stringContaining("(forced") });
      expect(machine.console).toContain("Open Source Network Boot Firmware");
      expect(sources.fetched).toEqual([expect.stringMatching(/^\/installer\.ipxe by iPXE/)]);

      const restarted = await runTemplate(sources.folder, connection, [
        { action: "power-cycle" },
        { action: "watch-console", inputs: { UNTIL: `^${INSTALLED}` } },
      ]);

      expect(restarted).toMatchObject({ code: 0 });
      expect(machine.console).not.toContain("Open Source Network Boot Firmware");
      expect(sources.fetched).toHaveLength(1);
    });
  });
});
