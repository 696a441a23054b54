import { BmcError } from "./errors.ts";
import type { NtpSettings } from "./provider.ts";

export interface NtpReport {
  readonly before: NtpSettings;
  readonly after: NtpSettings;
  readonly changed: boolean;
  readonly summary: string;
}

/** The BMC's time servers with retries in place; what `setNtp` needs and no more. */
export interface NtpPort {
  read(): Promise<NtpSettings>;
  write(settings: NtpSettings): Promise<void>;
  sleep(ms: number): Promise<void>;
}

/** Managers apply network settings in their own time. */
const READ_BACK_DELAYS_MS = [0, 1_000, 4_000] as const;

/** Sets the time servers and reads them back. Nothing is sent when they are so already. */
export async function setNtp(port: NtpPort, settings: NtpSettings): Promise<NtpReport> {
  const before = await port.read();
  const summary = describeNtp(settings);
  if (same(before, settings)) return { before, after: before, changed: false, summary: `already ${summary}` };
  await port.write(settings);
  let after = before;
  for (const delayMs of READ_BACK_DELAYS_MS) {
    if (delayMs > 0) await port.sleep(delayMs);
    after = await port.read();
    if (same(after, settings)) return { before, after, changed: true, summary };
  }
  throw new BmcError("verify", `asked for ${summary}, the BMC keeps ${describeNtp(after)}`);
}

/** For people: `NTP on (a, b)`, `NTP off`. */
export function describeNtp({ enabled, servers }: NtpSettings): string {
  const named = servers.length > 0 ? ` (${servers.join(", ")})` : "";
  return `NTP ${enabled ? "on" : "off"}${named}`;
}

function same(a: NtpSettings, b: NtpSettings): boolean {
  const listed = ({ servers }: NtpSettings) => servers.filter((server) => server !== "").join("\n");
  return a.enabled === b.enabled && listed(a) === listed(b);
}
