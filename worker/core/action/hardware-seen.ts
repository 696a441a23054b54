import * as z from "zod/mini";
import type { Hardware } from "../../../shared/bmc/operations/inventory.ts";
import type { ActionResult } from "../../../shared/contract/result.ts";
import { defined } from "../../../shared/defined.ts";
import { printableLine, shortened } from "../../../shared/printable.ts";

/** A machine's hardware, as its BMC reported it. */
export interface HardwareReading {
  readonly hardware: Hardware;
  /** The provider that read it, such as `redfish`. */
  readonly provider?: string | undefined;
  readonly readAt: Date;
}

/** The known hardware of the inventory's machines, by the machine's name. */
export interface HardwareOfMachines {
  /** Returns a machine's hardware. If it is unknown or too old, it is read in the background. */
  find(machine: string): HardwareReading | undefined;
  /** Returns a signal that aborts when the machine's hardware becomes known. */
  awaited(machine: string): AbortSignal;
  refresh(machine: string): void;
  onRead(listener: (machine: string) => void): void;
}

/** The maximum number of parts of each kind. */
const MOST_PARTS = 128;
const LONGEST_TEXT = 128;

const optional = <T extends z.ZodMiniType>(schema: T) => z.catch(z.optional(schema), undefined);
const Text = optional(z.string());
const Amount = optional(z.number().check(z.nonnegative(), z.maximum(Number.MAX_SAFE_INTEGER)));
const Name = z.catch(z.string(), "");
const nameplate = { vendor: Text, model: Text, serial: Text };
const condition = { firmware: Text, health: Text, state: Text };
const component = { name: Name, ...nameplate, ...condition };

/** Reads the first parts of a list with elements of any type. */
const parts = <T extends z.ZodMiniType>(part: T) =>
  z.catch(
    z.pipe(
      z.array(z.unknown()),
      z.transform((values: unknown[]) =>
        values.slice(0, MOST_PARTS).flatMap((value) => {
          const parsed = z.safeParse(part, value);
          return parsed.success ? [parsed.data] : [];
        }),
      ),
    ),
    [],
  );

const nics = parts(z.object({ name: Name, mac: Text, speedMbps: Amount, up: optional(z.boolean()) }));

const HardwareData = z.object({
  system: z.object({ ...nameplate, uuid: Text, biosVersion: Text, memoryBytes: Amount }),
  chassis: optional(z.object(nameplate)),
  mainboard: optional(z.object(nameplate)),
  bmc: optional(z.object({ ...nameplate, ...condition, nics: z.optional(nics) })),
  processors: parts(z.object({ name: Name, vendor: Text, model: Text, cores: Amount, threads: Amount })),
  memory: parts(z.object({ name: Name, bytes: Amount, kind: Text, vendor: Text, serial: Text })),
  disks: parts(z.object({ ...component, bytes: Amount, kind: Text })),
  nics,
  firmware: parts(z.object({ name: Name, version: Name })),
  powerSupplies: z.optional(parts(z.object({ ...component, watts: Amount }))),
  tpms: z.optional(parts(z.object({ ...component, interfaceType: Text }))),
  storageControllers: z.optional(parts(z.object(component))),
  gpus: z.optional(parts(z.object(component))),
  complete: z.optional(parts(z.string())),
});

/**
 * The hardware in a result of `inventory`; undefined for other results. The BMC wrote the texts and may repeat a password in
 * any of them, so each is redacted and shortened to one printable line. Lists are cut at `MOST_PARTS`.
 */
export function hardwareSeen(
  { action, data }: Pick<ActionResult, "action" | "data">,
  redact: (text: string) => string,
): Hardware | undefined {
  if (action !== "inventory") return undefined;
  const bounded = HardwareData.safeParse(data);
  if (!bounded.success) return undefined;
  const line = (text: string) => shortened(printableLine(redact(text)).trim(), LONGEST_TEXT);
  return withoutUndefined(HardwareData.parse(withTexts(bounded.data, line))) as Hardware;
}

/** Replaces every text in a value and removes empty ones. */
function withTexts(value: unknown, line: (text: string) => string): unknown {
  if (typeof value === "string") return line(value) || undefined;
  return mapped(value, (part) => withTexts(part, line));
}

function withoutUndefined(value: unknown): unknown {
  const clean = mapped(value, withoutUndefined);
  return typeof clean === "object" && clean !== null && !Array.isArray(clean) ? defined(clean) : clean;
}

function mapped(value: unknown, change: (part: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, change(part)]));
}
