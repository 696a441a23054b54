import * as z from "zod/mini";
import type { ActionResult } from "../../../shared/contract/result.ts";
import type { ProviderName } from "../../../shared/contract/vocabulary.ts";
import { defined } from "../../../shared/defined.ts";
import { shortened } from "../../../shared/printable.ts";

/** Where a machine's BMC is, as the inventory says it. Without secrets. */
export interface BmcAddress {
  /** The host, or the name that a service knows the machine by. */
  readonly host: string;
  /** URL of the BMC's web interface, or of the service; without path and query, which may hold a token. */
  readonly url?: string;
  /** In order of preference. */
  readonly providers: readonly ProviderName[];
  /** Which certificate is accepted; absent if no provider uses TLS. */
  readonly certificate?: string;
}

/** Why a machine is out of service. */
export interface Pause {
  /** One printable line. */
  readonly reason: string;
  /** Where it is set: `inventory machines.yaml`, or an annotation with its object. */
  readonly by: string;
}

/** Where the inventory has a machine from. */
export interface MachineOrigin {
  /** The name of a machine source, or `inventory file`. */
  readonly source: string;
  /** Such as `Machine tink-system/node-1`; absent for a file. */
  readonly object?: string;
  /** The object's namespace. */
  readonly namespace?: string;
  /** Why it cannot be used, or what is known of it may be outdated. */
  readonly problem?: string;
}

const Fact = z.optional(z.catch(z.optional(z.string()), undefined));

/** What actions have read of a machine, each at most `LONGEST_FACT` characters. */
export const MachineFacts = z.object({
  vendor: Fact,
  model: Fact,
  serial: Fact,
  biosVersion: Fact,
  bmcVendor: Fact,
  bmcModel: Fact,
  bmcSerial: Fact,
  bmcFirmware: Fact,
  /** When it expires. */
  certificate: Fact,
  /** When and why, and when that was read. */
  lastRestart: Fact,
  bootCount: Fact,
});
export type MachineFacts = Readonly<z.infer<typeof MachineFacts>>;

const LONGEST_FACT = 200;

/** Results of `bmc-info`, `inventory`, `check` and `power-history`, and the hint of Redfish. */
const BmcInfo = z.object({ vendor: Fact, model: Fact, serial: Fact, firmware: Fact });
const Hardware = z.object({
  system: z.object({ vendor: Fact, model: Fact, serial: Fact, biosVersion: Fact }),
});
const Checks = z.object({ checks: z.array(z.object({ check: z.string(), detail: z.string() })) });
const PowerHistory = z.object({
  lastReset: z.catch(z.optional(z.object({ time: Fact, cause: Fact })), undefined),
  bootCount: z.catch(z.optional(z.int()), undefined),
  clock: z.catch(z.optional(z.object({ time: Fact })), undefined),
});
const RedfishHint = z.object({
  providers: z.object({ redfish: z.object({ manufacturer: Fact, model: Fact }) }),
});

/**
 * What an action's result says about the machine; undefined if nothing. A BMC may repeat a password in any of its texts, so
 * `redact` is applied to each.
 */
export function factsSeen(
  { action, data, hint }: Pick<ActionResult, "action" | "data" | "hint">,
  redact: (text: string) => string,
): MachineFacts | undefined {
  const facts = Object.entries({ ...ofHint(hint), ...ofData(action, data) }).flatMap(([name, text]) =>
    text?.trim() ? [[name, shortened(redact(text.trim()), LONGEST_FACT)]] : [],
  );
  return facts.length > 0 ? Object.fromEntries(facts) : undefined;
}

function ofHint(hint: unknown): MachineFacts {
  const { manufacturer: vendor, model } = RedfishHint.safeParse(hint).data?.providers.redfish ?? {};
  return defined({ vendor, model });
}

function ofData(action: string, data: unknown): MachineFacts {
  switch (action) {
    case "bmc-info": {
      const { vendor, model, serial, firmware } = BmcInfo.safeParse(data).data ?? {};
      return defined({ bmcVendor: vendor, bmcModel: model, bmcSerial: serial, bmcFirmware: firmware });
    }
    case "inventory":
      return defined({ ...Hardware.safeParse(data).data?.system });
    case "check": {
      const checks = Checks.safeParse(data).data?.checks ?? [];
      return defined({ certificate: checks.find(({ check }) => check === "certificate")?.detail });
    }
    case "power-history": {
      const { lastReset, bootCount, clock } = PowerHistory.safeParse(data).data ?? {};
      const shown = [lastReset?.time, lastReset?.cause].filter((one) => one !== undefined).join(": ");
      const read = clock?.time === undefined ? "" : ` (read at ${clock.time})`;
      return {
        ...(shown !== "" && { lastRestart: `${shown}${read}` }),
        ...(bootCount !== undefined && { bootCount: String(bootCount) }),
      };
    }
    default:
      return {};
  }
}
