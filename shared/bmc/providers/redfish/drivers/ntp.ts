import { BmcError } from "../../../../contract/bmc-error.ts";
import type { NtpDriver, NtpRequest, NtpSettings } from "../../../operations/ntp.ts";
import type { Writer } from "../resources/writer.ts";
import { findDellNtp } from "./ntp-dell-attributes.ts";
import { findStandardNtp } from "./ntp-network-protocol.ts";
import type { NtpParts, NtpPlace } from "./ntp-place.ts";

/** NTP in the manager's network protocols, or in Dell's attributes where those have none. */
export class RedfishNtp implements NtpDriver {
  readonly #parts: NtpParts;
  readonly #writer: Writer;

  constructor(parts: NtpParts, writer: Writer) {
    this.#parts = parts;
    this.#writer = writer;
  }

  async read(signal: AbortSignal): Promise<NtpSettings> {
    return (await this.#find(signal)).settings;
  }

  async plan(request: NtpRequest, signal: AbortSignal): Promise<string> {
    const { method, path, body } = (await this.#find(signal)).request(request);
    return `${method} ${path} ${JSON.stringify(body)}`;
  }

  async write(request: NtpRequest, signal: AbortSignal): Promise<void> {
    const place = await this.#find(signal);
    await this.#writer.write(place.request(request), signal);
  }

  async #find(signal: AbortSignal): Promise<NtpPlace> {
    const place = (await findStandardNtp(this.#parts, signal)) ?? (await findDellNtp(this.#parts, signal));
    if (!place) throw new BmcError("unsupported", "the BMC offers no NTP settings");
    return place;
  }
}
