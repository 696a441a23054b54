import { BmcError } from "../../../../contract/bmc-error.ts";
import type { NtpDriver, NtpRequest, NtpSettings } from "../../../operations/ntp.ts";
import type { Writer } from "../resources/writer.ts";
import { findDellNtp } from "./ntp-dell-attributes.ts";
import { findStandardNtp } from "./ntp-network-protocol.ts";
import type { NtpOptions, NtpPlace } from "./ntp-place.ts";

/** NTP in the manager's network protocols, or in Dell's attributes where those have none. */
export class RedfishNtp implements NtpDriver {
  readonly #options: NtpOptions;
  readonly #writer: Writer;

  constructor(options: NtpOptions, writer: Writer) {
    this.#options = options;
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
    const place =
      (await findStandardNtp(this.#options, signal)) ?? (await findDellNtp(this.#options, signal));
    if (!place) throw new BmcError("unsupported", "the BMC offers no NTP settings");
    return place;
  }
}
