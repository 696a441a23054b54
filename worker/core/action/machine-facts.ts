import * as z from "zod/mini";
import type { ActionResult } from "../../../shared/contract/result.ts";
import type { ProviderName } from "../../../shared/contract/vocabulary.ts";
import { defined } from "../../../shared/defined.ts";
import { shortened } from "../../../shared/printable.ts";

/** The address of a machine's BMC according to the inventory. It contains no secrets. */
export interface BmcAddress {
  /** The host, or the machine's name at a service. */
  readonly host: string;
  /** URL of the web interface of the BMC or service, without path and query, which may contain a token. */
  readonly url?: string;
  /** The providers in order of preference. */
  readonly providers: readonly ProviderName[];
  /** The accepted certificate; absent if no provider uses TLS. */
  readonly certificate?: string;
}

/** Why a machine is out of service. */
export interface Pause {
  /** One printable line. */
  readonly reason: string;
  /** Where the pause is set: `inventory machines.yaml`, or an annotation with its object. */
  readonly by: string;
}

/** Where a machine of the inventory comes from. */
export interface MachineOrigin {
  /** The name of a machine source, or `inventory file`. */
  readonly source: string;
  /** The object, such as `Machine tink-system/node-1`; absent for a file. */
  readonly object?: string;
  /** The object's namespace. */
  readonly namespace?: string;
  /** Why the machine cannot be used, or why its data may be outdated. */
  readonly problem?: string | undefined;
}

const Fact = z.optional(z.catch(z.optional(z.string()), undefined));

/** Facts about a machine that actions have read, each at most `LONGEST_FACT` characters. */
export const MachineFacts = z.object({
  vendor: Fact,
  model: Fact,
  serial: Fact,
  biosVersion: Fact,
  bmcVendor: Fact,
  bmcModel: Fact,
  bmcSerial: Fact,
  bmcFirmware: Fact,
  /** When the certificate expires. */
  certificate: Fact,
  /** Time and cause of the last restart, and when they were read. */
  lastRestart: Fact,
  bootCount: Fact,
});
export type MachineFacts = Readonly<z.infer<typeof MachineFacts>>;

const LONGEST_FACT = 200;

/** The results of `bmc-info`, `inventory`, `check` and `power-history`, and the hint of Redfish. */
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
 * Facts about the machine from an action's result; undefined if there are none. A BMC may repeat a password in any of its
 * texts, so each is redacted.
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
