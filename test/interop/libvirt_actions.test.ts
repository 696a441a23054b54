import { it } from "vitest";
import { EVERY_ACTION_MS, tryEveryAction } from "./compatibility/every-action.ts";
import { fromPython, provenWith } from "./compatibility/peer.ts";
import { requirements, startSushyTools, startVirtualBmc } from "./libvirt-bmc.ts";
import { describeWithProgram } from "./programs.ts";
import { describeWithPython } from "./python-packages.ts";
import { startBootSources } from "./qemu-machine.ts";
import { PEER_PASSWORD, tryRecordedActions } from "./recorded-peer.ts";

const env = { BMC_HOST: "127.0.0.1", BMC_USERNAME: "admin", BMC_PASSWORD: PEER_PASSWORD };

await describeWithPython(requirements, "the actions and a machine of QEMU and libvirt", (installed) => {
  describeWithProgram("libvirtd", "a machine of libvirt", () => {
    it("carries out each action, or sushy-tools says why not", {
      timeout: EVERY_ACTION_MS,
      ...provenWith(fromPython("sushy-tools (libvirt)", installed.python, "sushy-tools")),
    }, async ({ task }) => {
      const { port } = await startSushyTools(installed, await startBootSources(), PEER_PASSWORD);
      const redfish = { BMC_PROVIDERS: "redfish", REDFISH_PORT: String(port), REDFISH_SCHEME: "http" };

      const outcomes = await tryEveryAction({ provider: "redfish", env: { ...env, ...redfish } });

      task.meta.actions = { server: "sushy-tools (libvirt)", outcomes };
    });

    it("carries out each action, or virtualbmc says why not, and so does its recording", {
      timeout: EVERY_ACTION_MS,
      ...provenWith(fromPython("virtualbmc", installed.python, "virtualbmc")),
    }, async ({ task }) => {
      const { port } = await startVirtualBmc(installed, await startBootSources(), PEER_PASSWORD);
      const ipmi = { BMC_PROVIDERS: "ipmi", IPMI_PORT: String(port), IPMI_CIPHER_SUITE: "3" };

      const outcomes = await tryRecordedActions({
        provider: "ipmi",
        env: { ...env, ...ipmi, IPMI_PRIVILEGE: "administrator" },
        bootDeviceOnlyOff: true,
        inputs: { "wait-for-boot": { STAGE_TIMEOUT: "3s" } },
        limits: {
          "wait-for-boot": ["timeout", "no boot progress, and a one-time override stays after a boot"],
        },
      });

      task.meta.actions = { server: "virtualbmc", outcomes };
    });
  });
});
