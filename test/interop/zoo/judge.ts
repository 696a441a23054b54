import { z } from "zod";
import type { ActionResult } from "../../../shared/contract/result.ts";
import type { Tree } from "./tree.ts";

/** What an action said of a machine: the value of the recording, that the recording lacks it, or something wrong. */
export type Verdict =
  | { readonly kind: "right" }
  | { readonly kind: "lacks"; readonly reason: string }
  | { readonly kind: "wrong"; readonly reason: string };

export interface Trial {
  readonly action: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the tree holds what the action needs. */
  readonly isThere: (tree: Tree) => boolean;
  /** What is not as recorded; undefined if all is. */
  readonly differs: (data: unknown, tree: Tree) => string | undefined;
}

export function judge({ isThere, differs }: Trial, result: ActionResult, tree: Tree): Verdict {
  if (result.ok) {
    const { data, ...rest } = result;
    const reason = differs(typeof data === "object" ? { ...rest, ...data } : rest, tree);
    return reason === undefined ? { kind: "right" } : { kind: "wrong", reason };
  }
  const reason = (result.message ?? "").replace(/^redfish: /, "");
  const isLack = (!tree.system || !isThere(tree)) && result.class === "unsupported";
  return isLack ? { kind: "lacks", reason } : { kind: "wrong", reason: `${result.class}: ${reason}` };
}

const same = (what: string, found: unknown, wanted: unknown) =>
  JSON.stringify(found) === JSON.stringify(wanted)
    ? undefined
    : `${what}: ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`;
const list = z.array(z.looseObject({}));
const isListed = (values: Tree["bootTargets"], value: string) => values?.includes(value) ?? true;

const hasOverride = ({ bootTarget, bootEnabled, bootTargets }: Tree) =>
  [bootTarget, bootEnabled, bootTargets].some((value) => value !== null && value !== undefined);
const DEVICES: Readonly<Record<string, string>> = { None: "none", Pxe: "pxe", Hdd: "disk", Cd: "cdrom" };
const STATES: Readonly<Record<string, string>> = { On: "on", Off: "off" };

const unchanged = () => undefined;
/** Vendors' names for the log that IPMI calls SEL, best first. */
const LOGS = [
  /^sel$/i,
  /^iml$/i,
  /^log\d*$/i,
  /^eventlog$/i,
  /^(platform|standard|system).*log$/i,
  /^activelog$/i,
];

function bestLog({ logs }: Tree): number | undefined {
  const nameOf = (path: string) => path.split("/").at(-1) ?? "";
  for (const pattern of LOGS) {
    for (const [path, entries] of Object.entries(logs ?? {})) {
      if (entries !== null && pattern.test(nameOf(path))) return entries;
    }
  }
  return undefined;
}

/** Sources that describe the same sensors overlap: at least the larger one, at most all. */
function sensorLimits(tree: Tree): readonly [number, number] {
  // Without its collection, only the chassis that the system links to can be found.
  const isListed = tree.chassisAll > 0;
  const { sensorsAllChassis, sensorsThermalPowerAll, sensorsThermalPower, sensorsSubsystems } = tree;
  const older = isListed ? sensorsThermalPowerAll : sensorsThermalPower;
  const sources = [sensorsAllChassis, older, sensorsSubsystems];
  return [Math.max(...sources), sources.reduce((sum, one) => sum + one, 0)];
}

/** What each check needs of the tree to say that the BMC offers it. */
const CHECKS: Readonly<Record<string, (tree: Tree) => boolean>> = {
  boot: hasOverride,
  users: ({ users }) => typeof users === "number",
  sel: (tree) => bestLog(tree) !== undefined,
  bios: ({ biosAttributes }) => Boolean(biosAttributes),
  secureboot: ({ secureBoot }) => Boolean(secureBoot),
  screenshot: ({ screenshotTarget }) => screenshotTarget !== undefined,
};

/** In this order: later ones change what earlier ones read. */
export const TRIALS: readonly Trial[] = [
  {
    action: "power-status",
    isThere: () => true,
    differs: (data, { powerState }) =>
      same("power", z.object({ power: z.string() }).parse(data).power, STATES[powerState ?? ""] ?? "unknown"),
  },
  {
    action: "get-boot-device",
    isThere: hasOverride,
    differs: (data, { bootTarget, bootEnabled }) => {
      const wanted = bootEnabled === "Disabled" ? "none" : (DEVICES[bootTarget ?? ""] ?? "unknown");
      return same("device", z.object({ device: z.string() }).parse(data).device, wanted);
    },
  },
  {
    action: "inventory",
    isThere: () => true,
    differs(data, tree) {
      const found = z
        .object({ processors: list, memory: list, nics: list, firmware: list, gpus: list })
        .extend({ disks: z.array(z.object({ serial: z.optional(z.string()) })) })
        .parse(data);
      const serials = found.disks.flatMap(({ serial }) => serial ?? []);
      const elsewhere = tree.simpleStorageDevices || tree.smartStorageDrives || tree.drivesElsewhere;
      return (
        (tree.processorsRecorded
          ? same("processors", found.processors.length, tree.processors)
          : undefined) ??
        same("memory", found.memory.length, tree.dimms) ??
        // The summary of the recording knows no accelerator boards.
        (found.gpus.length >= tree.processorsGpu
          ? undefined
          : same("GPUs", found.gpus.length, tree.processorsGpu)) ??
        // Drives elsewhere may be recorded without what leads to them.
        (found.disks.length <= elsewhere ? undefined : same("disks", found.disks.length, tree.drives)) ??
        same(
          "serials",
          tree.driveSerials.filter((serial) => !serials.includes(serial)),
          [],
        ) ??
        same("NICs", found.nics.length, tree.nics || tree.adapterMacsElsewhere) ??
        same("firmware", found.firmware.length, tree.firmwareWithVersion)
      );
    },
  },
  {
    action: "bmc-info",
    isThere: ({ manager }) => Boolean(manager),
    differs: (data, { bmcFirmware }) =>
      same(
        "firmware",
        z.object({ firmware: z.optional(z.string()) }).parse(data).firmware ?? null,
        bmcFirmware,
      ),
  },
  {
    action: "list-users",
    isThere: ({ users }) => typeof users === "number",
    differs: (data, { users }) => same("users", z.object({ users: list }).parse(data).users.length, users),
  },
  {
    action: "read-sensors",
    isThere: (tree) => sensorLimits(tree)[1] > 0,
    differs(data, tree) {
      const Sensors = z.object({ sensors: z.array(z.object({ state: z.string().optional() })) });
      // A chassis that is listed and answers with an error is named as not read.
      const { length } = Sensors.parse(data).sensors.filter(({ state }) => state !== "not read");
      const [least, most] = sensorLimits(tree);
      // Each of several machines behind one BMC has its own sensors.
      const share = tree.systems.length > 1 ? 1 / tree.systems.length : 1;
      const isWithin = length >= least * share && length <= most;
      return isWithin ? undefined : `${length} sensors instead of ${least} to ${most}`;
    },
  },
  {
    action: "list-sel",
    env: { LIMIT: "1" },
    isThere: (tree) => bestLog(tree) !== undefined,
    differs: (data, tree) =>
      same("entries", z.object({ total: z.number() }).parse(data).total, bestLog(tree)),
  },
  {
    action: "power-history",
    env: { WINDOW: "0", LIMIT: "0" },
    isThere: () => true,
    differs(data, { powerState, lastResetTime }) {
      const { power, lastReset } = z
        .object({
          power: z.string().default("unknown"),
          lastReset: z.optional(z.object({ time: z.string() })),
        })
        .parse(data);
      const shownMs = Date.parse(lastResetTime ?? "");
      const isKnown = shownMs > Date.UTC(2005);
      return (
        same("power", power, STATES[powerState ?? ""] ?? "unknown") ??
        (isKnown ? same("last reset", lastReset?.time, new Date(shownMs).toISOString()) : undefined)
      );
    },
  },
  {
    action: "get-bios",
    isThere: ({ biosAttributes }) => Boolean(biosAttributes),
    differs(data, { biosAttributes, biosPasswordNames }) {
      const attributes = z.object({ attributes: z.record(z.string(), z.unknown()) }).parse(data).attributes;
      return same(
        "attributes",
        Object.keys(attributes).length,
        (biosAttributes ?? 0) - (biosPasswordNames ?? 0),
      );
    },
  },
  {
    action: "get-secure-boot",
    isThere: ({ secureBoot }) => Boolean(secureBoot),
    differs: (data, { secureBoot }) =>
      same("enabled", z.object({ enabled: z.boolean() }).parse(data).enabled, secureBoot?.enable ?? false),
  },
  {
    action: "list-firmware",
    isThere: ({ firmwareWithVersion }) => firmwareWithVersion > 0,
    differs(data, { firmwareWithVersion }) {
      const items = z
        .object({ firmware: z.array(z.looseObject({ version: z.optional(z.string()) })) })
        .parse(data);
      const versions = items.firmware.filter(({ version }) => version !== undefined);
      return same("versions", versions.length, firmwareWithVersion);
    },
  },
  {
    action: "get-ntp",
    isThere: ({ ntp }) => Boolean(ntp),
    differs(data, { ntp }) {
      const { servers } = z.object({ servers: z.array(z.string()) }).parse(data);
      const recorded = ntp?.servers.map((server) => server.trim()).filter((server) => server !== "");
      // The summary of the recording knows the standard place alone.
      return recorded && same("servers", servers, recorded);
    },
  },
  {
    action: "get-bmc-network",
    isThere: ({ bmcInterfaces }) => Boolean(bmcInterfaces),
    differs(data, { bmcMacs }) {
      const found = z
        .object({ interfaces: z.array(z.object({ mac: z.optional(z.string()) })) })
        .parse(data)
        .interfaces.flatMap(({ mac }) => mac ?? []);
      const known = (bmcMacs ?? []).map((mac) => mac.toLowerCase());
      return same(
        "unknown MACs",
        found.filter((mac) => !known.includes(mac.toLowerCase())),
        [],
      );
    },
  },
  {
    action: "check",
    env: { REQUIRE: "login" },
    isThere: () => true,
    differs(data, tree) {
      const { checks } = z
        .object({ checks: z.array(z.object({ check: z.string(), state: z.string() })) })
        .parse(data);
      const states = new Map(checks.map(({ check, state }) => [check, state]));
      const names = Object.keys(CHECKS);
      // A power state that cannot be read is a warning.
      const power = same("power", states.get("power"), tree.powerState ? "ok" : "warning");
      if (power) return power;
      return same(
        "checks",
        names.map((name) => `${name} ${states.get(name)}`),
        names.map((name) => `${name} ${CHECKS[name]?.(tree) ? "ok" : "unsupported"}`),
      );
    },
  },
  {
    action: "screenshot",
    // The server of the recordings takes no screenshot, so what would be sent is compared.
    env: { DRY_RUN: "true", SCREENSHOT_INLINE: "true" },
    isThere: ({ screenshotTarget }) => screenshotTarget !== undefined,
    differs(data, { screenshotTarget }) {
      const { wouldSend } = z.object({ wouldSend: z.array(z.string()) }).parse(data);
      const isSent = wouldSend.length === 1 && wouldSend[0]?.startsWith(`POST ${screenshotTarget} `);
      return isSent ? undefined : same("request", wouldSend, [`POST ${screenshotTarget}`]);
    },
  },
  {
    action: "set-pxe-once",
    isThere: (tree) => hasOverride(tree) && isListed(tree.bootTargets, "Pxe"),
    differs: unchanged,
  },
  {
    action: "set-disk-persistent",
    isThere: (tree) =>
      hasOverride(tree) &&
      isListed(tree.bootTargets, "Hdd") &&
      // Lenovo takes no lasting override that it does not list.
      (tree.bootEnableds?.includes("Continuous") ?? !tree.system?.endsWith("/Systems/1")),
    differs: unchanged,
  },
  {
    action: "power-off",
    env: { MODE: "hard" },
    isThere: ({ resetTarget }) => Boolean(resetTarget),
    differs: (data) => same("power", z.object({ after: z.string() }).parse(data).after, "off"),
  },
  {
    action: "power-on",
    isThere: ({ resetTarget, resetTypes }) =>
      Boolean(resetTarget) && (isListed(resetTypes, "On") || isListed(resetTypes, "ForceOn")),
    differs: (data) => same("power", z.object({ after: z.string() }).parse(data).after, "on"),
  },
];
