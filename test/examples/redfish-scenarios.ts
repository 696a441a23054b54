import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { SimulatedMachine, type SimulatedMachineOptions } from "../../simulators/machine.ts";
import { type RedfishBmc, startRedfishBmc } from "../../simulators/redfish/bmc.ts";
import { SESSIONS } from "../../simulators/redfish/sessions.ts";
import { newPassword, QUICK, type Scenario, writeSecret } from "./scenario.ts";

const ISO = "http://192.0.2.1/images/rescue.iso";

interface RedfishMachine {
  readonly machine: SimulatedMachine;
  readonly bmc: RedfishBmc;
  readonly password: string;
}

/** A run against these machines of an inventory, each behind a Redfish BMC of its own. */
function redfish(
  names: readonly string[],
  verify: (machines: readonly RedfishMachine[], folder: string) => Promise<void> | void,
  options: {
    readonly machine?: SimulatedMachineOptions;
    readonly prepare?: (bmc: RedfishBmc) => void;
    readonly passwordFile?: (name: string) => string;
  } = {},
): Scenario {
  const { passwordFile = (name) => `${name}-password`, prepare } = options;
  return {
    async start(folder) {
      const started = await Promise.all(
        names.map(async (name) => {
          const machine = new SimulatedMachine({ name, ...QUICK, ...options.machine });
          const password = newPassword();
          const bmc = await startRedfishBmc({ machines: [machine], password });
          prepare?.(bmc);
          const file = await writeSecret(folder, passwordFile(name), password);
          const credentials = { username: bmc.username, passwordFile: file };
          const { host, port, fingerprint } = bmc;
          const edits = { host, "redfish.port": port, "tls.fingerprint": fingerprint, credentials };
          return { name, machine, bmc, password, edits };
        }),
      );
      return {
        machines: Object.fromEntries(started.map(({ name, edits }) => [name, edits])),
        secrets: started.map(({ password }) => password),
        verify: () => verify(started, folder),
        close: async () => {
          await Promise.all(started.map(({ bmc }) => bmc.close()));
          for (const { machine } of started) machine.close();
        },
      };
    },
  };
}

const done = (machine: SimulatedMachine) => machine.commands.map(({ action }) => action);
const inserted = ({ media }: RedfishBmc) =>
  media.slots.filter((slot) => slot.inserted).map(({ image }) => image);

function insertIso({ slots }: RedfishBmc["media"]): void {
  for (const slot of slots.filter(({ types }) => types.includes("CD"))) {
    slot.image = ISO;
    slot.inserted = true;
  }
}

const bootedFromNetwork = redfish(["node-1"], ([one]) => {
  expect(one && done(one.machine)).toEqual(["soft-off", "on"]);
  expect(one?.machine.power).toBe("on");
  expect(one?.machine.boots).toMatchObject([{ device: "pxe", mode: "uefi", overridden: true }]);
  expect(one?.machine.override.enabled).toBe("disabled");
});

export const redfishScenarios: Readonly<Record<string, Scenario>> = {
  "examples/network-boot.yaml": bootedFromNetwork,
  "examples/network-boot-run-tasks.yaml": bootedFromNetwork,
  "examples/reprovision.yaml": bootedFromNetwork,

  "examples/power-cycle-rack.yaml": redfish(["node-1", "node-2", "node-3"], (machines) => {
    const times = machines.map(({ machine }) => {
      expect(done(machine)).toEqual(["off", "on"]);
      expect(machine.power).toBe("on");
      expect(machine.boots).toHaveLength(1);
      return machine.commands.map(({ at }) => at);
    });
    // One after the other, and each off for as long as the template says.
    expect(times.flat()).toEqual(times.flat().toSorted((a, b) => a - b));
    for (const [off = 0, on = 0] of times) expect(on - off).toBeGreaterThanOrEqual(3_000);
  }),

  "examples/rescue-iso.yaml": redfish(["node-1"], ([one]) => {
    expect(one && inserted(one.bmc)).toEqual([ISO]);
    expect(one?.machine.lastBoot).toMatchObject({ device: "cdrom", mode: "uefi", overridden: true });
    expect(one?.machine.power).toBe("on");
    expect(one?.machine.override.enabled).toBe("disabled");
  }),

  "examples/rescue-end.yaml": redfish(
    ["node-1"],
    ([one]) => {
      expect(one && inserted(one.bmc)).toEqual([]);
      expect(one?.machine.boots).toMatchObject([{ device: "disk", overridden: false }]);
      expect(one?.machine.power).toBe("on");
    },
    {
      prepare({ media, machine }) {
        insertIso(media);
        machine.override = { device: "cdrom", enabled: "continuous", mode: "uefi" };
      },
    },
  ),

  "examples/rotate-bmc-password.yaml": redfish(
    ["node-2"],
    async ([one], folder) => {
      const kept = join(folder, "secrets/node-2");
      const written = (await readFile(join(kept, "password"), "utf8")).trim();

      expect(await readdir(kept)).toEqual(["password"]);
      expect((await stat(join(kept, "password"))).mode & 0o777).toBe(0o600);
      expect(written).not.toBe(one?.password);
      expect(one?.bmc.accounts.accepts("admin", written)).toBe(true);
      expect(one?.bmc.accounts.accepts("admin", one.password)).toBe(false);
      // The action after the rotation has the new one from the start.
      expect(one?.bmc.refusedCredentials).toBe(0);
      expect(one && done(one.machine)).toEqual([]);
    },
    { passwordFile: (name) => `secrets/${name}/password` },
  ),

  "examples/decommission.yaml": redfish(
    ["node-1"],
    ([one]) => {
      expect(one?.machine.power).toBe("off");
      expect(one && done(one.machine)).toEqual(["soft-off"]);
      expect(one?.machine.override.enabled).toBe("disabled");
      expect(one && inserted(one.bmc)).toEqual([]);
      expect(one?.bmc.accounts.all.map(({ name }) => name)).toEqual(["admin"]);
    },
    {
      prepare({ accounts, media, machine }) {
        const tenant = { UserName: "tenant", Password: "tenant-password", RoleId: "Operator" };
        accounts.answer({ method: "POST", path: accounts.path, body: tenant, ifMatch: undefined });
        expect(accounts.find("tenant")).toBeDefined();
        insertIso(media);
        machine.override = { device: "pxe", enabled: "continuous", mode: "uefi" };
      },
    },
  ),

  "examples/providers/redfish/template.yaml": redfish(["node-1"], ([one]) => {
    expect(one?.bmc.manager.ntp).toMatchObject({
      enabled: true,
      servers: ["ntp-1.example.org", "ntp-2.example.org"],
    });
    expect(one?.machine.lastBoot).toMatchObject({ device: "uefi-http", mode: "uefi", overridden: true });
    expect(one?.machine.power).toBe("on");
    // Every session that was opened is closed again.
    expect(one?.bmc.log.filter((line) => line === `POST ${SESSIONS}`)).toHaveLength(4);
    expect(one?.bmc.sessions.count).toBe(0);
  }),
};
