import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { loadAction } from "../../../../actions/catalogue.ts";
import { readInput } from "../../../../actions/harness/input/read-input.ts";
import { parseImageReference } from "../../../../shared/contract/image-reference.ts";
import { actionOf, readTask, unknownFields } from "../../../../worker/features/rufio/rufio-task-action.ts";
import { RUFIO_AGENT_ID } from "../../../../worker/features/shared/source-agent-ids.ts";

const terms = {
  ...{
    workflowId: "default/j1",
    task: { name: "j1-task-0", uid: "u1" },
    machine: "node-01",
    version: "1.2.3",
  },
  ...{ image: "registry.example/pbnj/{action}:v{version}" },
};

const tasks: readonly (readonly [object, string, Readonly<Record<string, unknown>>])[] = [
  [{ powerAction: "on" }, "power-on", { stateTimeout: 540_000 }],
  [{ powerAction: "off" }, "power-off", { mode: "hard", stateTimeout: 540_000 }],
  [{ powerAction: "soft" }, "power-off", { mode: "soft", softTimeout: 540_000 }],
  [{ powerAction: "status" }, "power-status", {}],
  [{ powerAction: "cycle" }, "power-cycle", { stateTimeout: 540_000 }],
  [{ powerAction: "reset" }, "power-reset", { onIfOff: false, stateTimeout: 540_000 }],
  [
    { oneTimeBootDeviceAction: { device: ["pxe", "disk"] } },
    "set-boot-device",
    { device: "pxe", persistent: false },
  ],
  [
    { oneTimeBootDeviceAction: { device: ["cdrom"], efiBoot: true } },
    "set-boot-device",
    { device: "cdrom", persistent: false, efiBoot: true },
  ],
  [
    { bootDevice: { device: "uefi_http", efiBoot: true } },
    "set-boot-device",
    { device: "uefi-http", persistent: false, efiBoot: true },
  ],
  [{ bootDevice: { device: "uefi-http" } }, "set-boot-device", { device: "uefi-http" }],
  [{ oneTimeBootDeviceAction: { device: ["remote_drive"] } }, "set-boot-device", { device: "remote-drive" }],
  [{ bootDevice: { device: "sd_card" } }, "set-boot-device", { device: "sd-card" }],
  [{ bootDevice: { device: "utilities" } }, "set-boot-device", { device: "utilities" }],
  [{ bootDevice: { device: "bios" } }, "set-boot-device", { device: "bios", persistent: false }],
  [
    { bootDevice: { device: "safe", persistent: true, efiBoot: false } },
    "set-boot-device",
    { device: "safe", persistent: true, efiBoot: false },
  ],
  [
    { virtualMediaAction: { kind: "CD", mediaURL: "http://192.0.2.9/hook.iso?a=b" } },
    "insert-virtual-media",
    { mediaUrl: "http://192.0.2.9/hook.iso?a=b" },
  ],
  [{ virtualMediaAction: { kind: "CD", mediaURL: "" } }, "eject-virtual-media", {}],
  [{ virtualMediaAction: { kind: "CD" } }, "eject-virtual-media", {}],
  [{ secureBoot: { enable: true } }, "set-secure-boot", { enabled: true }],
  [{ secureBoot: { enable: false } }, "set-secure-boot", { enabled: false }],
  [
    { secureBootResetKeys: { resetType: "ResetAllKeysToDefault" } },
    "reset-secure-boot-keys",
    { keys: "default" },
  ],
  [{ secureBootResetKeys: { resetType: "DeleteAllKeys" } }, "reset-secure-boot-keys", { keys: "delete-all" }],
  [{ secureBootResetKeys: { resetType: "DeletePK" } }, "reset-secure-boot-keys", { keys: "delete-pk" }],
  [
    { secureBootDatabaseResetKeys: { database: "KEK", resetType: "DeleteAllKeys" } },
    "reset-secure-boot-keys",
    { keys: "delete-all", database: "kek" },
  ],
  [
    { allowCustomSecureBootKeys: { enable: true } },
    "set-bios",
    { attributes: { SecureBootPolicy: "Custom" }, wait: false },
  ],
  [
    { allowCustomSecureBootKeys: { enable: false } },
    "set-bios",
    { attributes: { SecureBootPolicy: "Standard" } },
  ],
];

describe("a Task", () => {
  it.each(tasks)("%j becomes the action %s, which takes its inputs", async (task, name, input) => {
    const read = readTask(task);
    if (!read.ok) throw new Error(read.reason);
    const action = actionOf(read, terms);
    const { MACHINE, ...environment } = action.environment;
    const loaded = await loadAction(action.name);
    if (!loaded) throw new Error("there is no such action");

    const taken = await readInput(loaded, {
      env: { BMC_HOST: "192.0.2.1", BMC_USERNAME: "admin", BMC_PASSWORD: "calvin", ...environment },
      flags: {},
      stdin: () => Readable.from([]),
      signal: AbortSignal.timeout(10_000),
    });

    expect(taken).toMatchObject({ ok: true, input: { own: input } });
    expect(MACHINE).toBe("node-01");
    expect(action).toMatchObject({
      ...{ name, workflowId: "default/j1", taskId: "j1-task-0", actionId: "u1", agentId: RUFIO_AGENT_ID },
      ...{ image: `registry.example/pbnj/${name}:v1.2.3`, timeoutMs: 600_000, command: [], volumes: [] },
    });
    expect(parseImageReference(action.image)).toMatchObject({ name, tag: "v1.2.3" });
    expect(read.idempotent).toBe(loaded.idempotent);
  });

  it.each([
    [{}, "no action specified in Task, nothing to do"],
    [undefined, "no action specified in Task, nothing to do"],
    [
      { powerAction: "on", bootDevice: { device: "pxe" } },
      "names powerAction and bootDevice: a Task does one thing",
    ],
    [{ nmi: true }, "nmi is not known to this worker"],
    [{ constructor: true }, "constructor is not known to this worker"],
    [{ secureBoot: {} }, "secureBoot.enable: "],
    [{ secureBoot: { enable: true, mode: "User" } }, "secureBoot.mode is not known to this worker"],
    [
      { secureBoot: { enable: true }, powerAction: "on" },
      "names powerAction and secureBoot: a Task does one",
    ],
    [{ secureBootResetKeys: { resetType: "ResetPK" } }, "secureBootResetKeys.resetType: Invalid option"],
    [
      { secureBootDatabaseResetKeys: { database: "PK", resetType: "DeleteAllKeys" } },
      "secureBootDatabaseResetKeys.database: Invalid option",
    ],
    [
      { secureBootDatabaseResetKeys: { database: "db", resetType: "DeletePK" } },
      "secureBootDatabaseResetKeys.resetType: Invalid option",
    ],
    [
      { secureBootCertificateImport: { database: "db", certificatePEMConfigMapRef: {} } },
      "secureBootCertificateImport is not known to this worker: use the action enroll-secure-boot-key in a template",
    ],
    [
      { networkBootConfig: { httpBootEnabled: true } },
      "networkBootConfig is not known to this worker: use the action set-http-boot, set-nic-pxe or set-bios in a template",
    ],
    [{ bootDevice: { device: "pxe", nic: 2 } }, "bootDevice.nic is not known to this worker"],
    [{ bootDevice: {} }, "bootDevice.device is missing: must be one of none, pxe"],
    [{ bootDevice: { device: "PXE" } }, "bootDevice.device is PXE: must be one of none, pxe"],
    [
      { bootDevice: { device: "hdd" } },
      "bootDevice.device is hdd: must be one of none, pxe, disk, bios, cdrom, safe, diag, floppy, usb, utilities, uefi_http, remote_drive, sd_card",
    ],
    [
      { oneTimeBootDeviceAction: { device: [] } },
      "oneTimeBootDeviceAction.device is missing: must be one of",
    ],
    [
      { virtualMediaAction: { kind: "DVD", mediaURL: "" } },
      "virtualMediaAction.kind is DVD: only CD can be inserted",
    ],
    [{ powerAction: "off-and-on" }, "powerAction: Invalid option"],
  ])("%j is refused, saying why", (task, reason) => {
    const read = readTask(task);

    expect(read).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  });
});

it("a spec with many unknown fields is refused in a short line", () => {
  const fields = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`f${index}`, 1]));

  expect(unknownFields({ ...fields, tasks: [] }, ["tasks"], { f3: "use another" })).toBe(
    "spec.f0, spec.f1, spec.f2, spec.f3, spec.f4, 995 more is not known to this worker: use another",
  );
  expect(unknownFields({ ["x".repeat(10_000)]: 1, constructor: 1 }, [])?.length).toBeLessThan(200);
  expect(unknownFields({ tasks: [] }, ["tasks"])).toBeUndefined();
});
