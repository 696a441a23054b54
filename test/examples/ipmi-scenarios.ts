import { expect } from "vitest";
import { type IpmiBmc, type IpmiBmcOptions, startIpmiBmc } from "../../simulators/ipmi/bmc.ts";
import { SimulatedMachine } from "../../simulators/machine.ts";
import { newPassword, QUICK, type Scenario, writeSecret } from "./scenario.ts";

/** A run against one machine behind an IPMI BMC that has a key, for `provider`, which speaks IPMI. */
function ipmi(
  provider: "ipmi" | "ipmitool",
  name: string,
  options: Partial<IpmiBmcOptions>,
  verify: (bmc: IpmiBmc) => void,
): Scenario {
  return {
    ...(provider === "ipmitool" ? { program: "ipmitool" } : {}),
    async start(folder) {
      const machine = new SimulatedMachine({ name, ...QUICK });
      const [password, kg] = [newPassword(), newPassword()];
      const bmc = await startIpmiBmc({ machine, users: [{ name: "admin", password }], kg, ...options });
      return {
        machines: {
          [name]: {
            host: bmc.host,
            [`${provider}.port`]: bmc.port,
            [`${provider}.kgFile`]: await writeSecret(folder, "kg", kg),
            "credentials.passwordFile": await writeSecret(folder, "password", password),
          },
        },
        secrets: [password, kg],
        verify: () => verify(bmc),
        close: async () => {
          await bmc.close();
          machine.close();
        },
      };
    },
  };
}

export const ipmiScenarios: Readonly<Record<string, Scenario>> = {
  // Only the suite that the inventory names is granted.
  "examples/providers/ipmi/template.yaml": ipmi("ipmi", "old-1", { sol: [1], cipherSuites: [17] }, (bmc) => {
    expect(bmc.sol.size).toBe(0);
    expect(bmc.machine.lastBoot).toMatchObject({ device: "bios", overridden: true });
    expect(bmc.machine.power).toBe("on");
    expect(bmc.machine.override.enabled).toBe("disabled");
  }),

  "examples/providers/ipmi/network-boot-proven.yaml": ipmi("ipmi", "old-1", {}, (bmc) => {
    expect(bmc.machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
    expect(bmc.log).toContain("Activate Payload");
    expect(bmc.console.session).toBeUndefined();
    expect(bmc.console.written).toHaveLength(0);
  }),

  "examples/providers/ipmitool/template.yaml": ipmi(
    "ipmitool",
    "stubborn-1",
    { cipherSuites: [3] },
    (bmc) => {
      expect(bmc.machine.lastBoot).toMatchObject({ device: "pxe", mode: "uefi", overridden: true });
      expect(bmc.machine.power).toBe("on");
      expect(bmc.log).toContain("Get SEL Info");
    },
  ),
};
