import { execa } from "execa";
import { countOf, type IpmiCount, withIpmiRelay } from "./ipmi.ts";
import type { Operation } from "./operations.ts";

const LONGEST_MS = 60_000;

/** What an operator types for each operation, one command a run of the program. */
const COMMANDS: Readonly<Record<Operation, readonly string[]>> = {
  "power state": ["chassis power status"],
  "power on from off, unverified": ["chassis power on"],
  "off, verified at the first poll": ["chassis power off", "chassis power status"],
  "PXE once, UEFI, read back": ["chassis bootdev pxe options=efiboot", "chassis bootparam get 5"],
  "8 sensors": ["sensor"],
};

/** Counts the same operation done by the `ipmitool` program, through the same relay to the same BMC. */
export async function countIpmitool(operation: Operation, roundTripMs = 0): Promise<IpmiCount> {
  return withIpmiRelay(operation, [3, 17], roundTripMs, async (relay) => {
    const reach = [
      "-I",
      "lanplus",
      "-H",
      "127.0.0.1",
      "-p",
      String(relay.port),
      "-U",
      "admin",
      "-E",
      "-C",
      "17",
    ];
    const startedMs = performance.now();
    for (const command of COMMANDS[operation]) {
      await execa("ipmitool", [...reach, ...command.split(" ")], {
        env: { IPMI_PASSWORD: "calvin" },
        stdin: "ignore",
        timeout: LONGEST_MS,
      });
    }
    return { ...countOf(relay), ms: performance.now() - startedMs };
  });
}

/** Whether the program is installed. */
export async function hasIpmitool(): Promise<boolean> {
  const { exitCode } = await execa("ipmitool", ["-V"], { reject: false });
  return exitCode === 0;
}
