import { BmcError } from "../../errors.ts";
import type { NtpDriver, NtpSettings } from "../../provider.ts";
import type { ManagedManager } from "../managed-manager.ts";
import type { ManagedSystem } from "../system.ts";
import type { Writer } from "../writer.ts";
import { findDellNtp } from "./dell-attributes.ts";
import { findStandardNtp } from "./network-protocol.ts";

/** One place where a BMC keeps its NTP settings, as it was just read. */
export interface NtpPlace {
  readonly settings: NtpSettings;
  write(settings: NtpSettings, signal: AbortSignal): Promise<void>;
}

export interface NtpParts {
  readonly system: ManagedSystem;
  readonly manager: ManagedManager;
  readonly writer: Writer;
}

/** NTP in the manager's network protocols, or in Dell's attributes where those have none. */
export class RedfishNtp implements NtpDriver {
  readonly #parts: NtpParts;

  constructor(parts: NtpParts) {
    this.#parts = parts;
  }

  async read(signal: AbortSignal): Promise<NtpSettings> {
    return (await this.#find(signal)).settings;
  }

  async write(settings: NtpSettings, signal: AbortSignal): Promise<void> {
    const place = await this.#find(signal);
    await place.write(settings, signal);
  }

  async #find(signal: AbortSignal): Promise<NtpPlace> {
    const place = (await findStandardNtp(this.#parts, signal)) ?? (await findDellNtp(this.#parts, signal));
    if (!place) throw new BmcError("unsupported", "the BMC offers no NTP settings");
    return place;
  }
}
