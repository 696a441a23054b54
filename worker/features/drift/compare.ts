import type { BiosState } from "../../../shared/bmc/operations/bios.ts";
import {
  attributeValue,
  type BiosAttributes,
  type BiosValue,
} from "../../../shared/bmc/operations/bios-registry.ts";
import { nameIn } from "../../../shared/bmc/operations/bios-values.ts";
import { matches } from "../../../shared/bmc/operations/boot.ts";
import { type BootOverride, describeOverride } from "../../../shared/bmc/operations/boot-port.ts";
import type { FirmwareItem } from "../../../shared/bmc/operations/firmware-driver.ts";
import { compareVersions } from "../../../shared/bmc/operations/firmware-version.ts";
import { hasNtp, type NtpSettings } from "../../../shared/bmc/operations/ntp.ts";
import type { DesiredState } from "../../../shared/contract/desired-state.ts";
import type { BootModeChoice, PowerState } from "../../../shared/contract/vocabulary.ts";
import { defined } from "../../../shared/defined.ts";
import type { Difference, Setting } from "../shared/drift-seen.ts";
import { downgradeOf } from "./next-correction.ts";

/** A value that was read, or the reason why the BMC cannot show it. */
export type Reading<Value> = { readonly value: Value } | { readonly unknown: string };

/** The settings of a machine that were read. */
export interface Observed {
  readonly power?: Reading<PowerState>;
  /** The boot device is also read before a machine is powered on, because the boot would use up a one-time override. */
  readonly bootDevice?: Reading<BootOverride>;
  readonly ntp?: Reading<NtpSettings>;
  readonly bios?: Reading<BiosState>;
  readonly firmware?: Reading<readonly FirmwareItem[]>;
}

/** The most components with the same name: an update has all of them as targets. */
const MOST_COMPONENTS = 16;

type Verdict = Pick<Difference, "actual" | "state" | "reason" | "ids">;

/** Compares every desired setting that was read. `mode` is the boot mode for boot devices. */
export function compare(
  desired: DesiredState,
  observed: Observed,
  mode: BootModeChoice,
): readonly Difference[] {
  const { power, bootDevice, ntp, bios = {}, firmware = {} } = desired;
  const all: Difference[] = [];
  const add = <Value>(
    setting: Setting,
    reading: Reading<Value> | undefined,
    wanted: Difference["wanted"],
    verdict: (value: Value) => Verdict,
    part?: string,
  ) => {
    if (!reading) return;
    const field = part === undefined ? setting : `${setting}.${part}`;
    const found = "unknown" in reading ? unknown(reading.unknown) : verdict(reading.value);
    all.push({ setting, field, wanted, ...found });
  };
  if (power) {
    add("power", observed.power, power, (state) => powerVerdict(power, state, observed.bootDevice));
  }
  if (bootDevice) {
    const request = { device: bootDevice, persistent: true, mode };
    add("bootDevice", observed.bootDevice, bootDevice, (override) => bootVerdict(request, override));
  }
  if (ntp) add("ntp", observed.ntp, ntp, (settings) => ntpVerdict(ntp, settings));
  for (const [name, wanted] of Object.entries(bios)) {
    add("bios", observed.bios, wanted, (state) => biosVerdict(name, wanted, state), name);
  }
  for (const [name, given] of Object.entries(firmware)) {
    const wanted = typeof given === "string" ? given : given.version;
    const verdict = (items: readonly FirmwareItem[]) => {
      const found = firmwareVerdict(name, wanted, items);
      if (typeof given === "string" || found.state !== "different") return found;
      return { ...found, ...defined({ reason: downgradeOf(String(found.actual), wanted) }) };
    };
    add("firmware", observed.firmware, wanted, verdict, name);
  }
  return all;
}

/** Redacts the texts that the BMC wrote. */
export function withoutSecrets<Of extends Difference>(one: Of, redact: (text: string) => string): Of {
  const { actual, ids, reason } = one;
  const shown = Array.isArray(actual)
    ? actual.map(redact)
    : typeof actual === "string"
      ? redact(actual)
      : actual;
  const texts = { ids: ids?.map(redact), reason: reason === undefined ? undefined : redact(reason) };
  return { ...one, ...defined({ actual: shown, ...texts }) };
}

function unknown(reason: string): Verdict {
  return { state: "unknown", reason };
}

function verdictOf(isSame: boolean, actual: NonNullable<Difference["actual"]>): Verdict {
  return { state: isSame ? "same" : "different", actual };
}

function powerVerdict(
  wanted: "on" | "off",
  state: PowerState,
  boot: Reading<BootOverride> | undefined,
): Verdict {
  if (state === "unknown") return unknown("the machine is neither on nor off");
  const verdict = verdictOf(state === wanted, state);
  const isPoweredOn = verdict.state === "different" && wanted === "on";
  const reason = isPoweredOn && boot && "value" in boot ? reasonToStayOff(boot.value) : undefined;
  return { ...verdict, ...defined({ reason }) };
}

/** Why a machine is not powered on to correct it: a one-time override is meant for another boot. */
export function reasonToStayOff(override: BootOverride): string | undefined {
  if (!isOnce(override)) return undefined;
  return `powering on would use the boot override ${describeOverride(override)}`;
}

function isOnce({ device, persistent }: BootOverride): boolean {
  return persistent === false && device !== "none";
}

function bootVerdict(request: Parameters<typeof matches>[0], override: BootOverride): Verdict {
  if (override.device === "unknown") return unknown("the BMC reports no device that is known");
  // A workflow may have set a one-time override, which the next boot removes.
  if (isOnce(override)) return { state: "pending", actual: describeOverride(override) };
  return verdictOf(matches(request, override), describeOverride(override));
}

function ntpVerdict(servers: readonly string[], settings: NtpSettings): Verdict {
  const isSame = hasNtp(settings, { enabled: true, servers });
  return verdictOf(isSame, settings.enabled ? settings.servers : "off");
}

function biosVerdict(
  given: string,
  wanted: BiosValue,
  { attributes, pending, scheduled }: BiosState,
): Verdict {
  const name = nameIn(Object.keys({ ...attributes, ...pending }), given);
  if (name === undefined) return unknown("the BIOS does not show this attribute");
  // Text is converted to the attribute's type, like in `setBios`.
  const has = (values: BiosAttributes) => {
    const value = attributeValue(values, name);
    return value !== undefined && textOf(value) === textOf(wanted, value);
  };
  const actual = attributeValue(attributes, name);
  const now: Verdict = { state: "same", ...(actual === undefined ? {} : { actual }) };
  const isPending = attributeValue(pending, name) !== undefined && scheduled !== false;
  if (!isPending) return has(attributes) ? now : { ...now, state: "different" };
  if (!has(pending)) return { ...now, state: "different" };
  return has(attributes) ? now : { ...now, state: "pending" };
}

/** The text to compare. `True` equals true if the attribute is a boolean. */
function textOf(value: BiosValue, like: BiosValue = value): string {
  return typeof like === "boolean" ? String(value).toLowerCase() : String(value);
}

function firmwareVerdict(given: string, wanted: string, items: readonly FirmwareItem[]): Verdict {
  const byId = items.filter(({ id }) => id === given);
  const found =
    byId.length > 0 ? byId : items.filter(({ name }) => name.toLowerCase() === given.toLowerCase());
  const versions = [...new Set(found.flatMap(({ version }) => version ?? []))];
  const [version] = versions;
  if (found.length === 0) return unknown("the BMC lists no such firmware");
  if (version === undefined) return unknown("the BMC does not report its version");
  if (versions.length > 1) return unknown("several components have this name: use the ID of one");
  if (found.length > MOST_COMPONENTS) return unknown("too many components have this name: use the ID of one");
  const ids = found.map(({ id }) => id);
  return { ...verdictOf(compareVersions(version, wanted) === 0 || version === wanted, version), ids };
}
