import { BmcError } from "../../../../contract/bmc-error.ts";
import type { BootDriver, BootOverride, BootRequest } from "../../../operations/boot-port.ts";
import {
  type BootFlags,
  encodeBootFlags,
  GET_BOOT_FLAGS,
  NO_BOOT_FLAGS,
  overrideOf,
  parseBootFlags,
  REMOTE_MEDIA,
  STOP_BOOT_FLAG_EXPIRY,
  selectorOf,
  setBootFlags,
} from "../commands/boot-options.ts";
import { request as ask, type CommandChannel, dataOf, exchange } from "../commands/channel.ts";
import { GET_DEVICE_ID, parseManufacturer } from "../commands/device-id.ts";
import { bootsUefiDiskAsRemoteMedia, reportsNoBootFlags } from "../session/quirks.ts";

/** Flags that were never set: all bits are zero by the specification. */
const UNSET = { efi: false };

/** The boot override through System Boot Options (IPMI 2.0 sections 28.12 to 28.14). */
export class IpmiBoot implements BootDriver {
  readonly #channel: CommandChannel;
  #manufacturer: number | undefined;
  /** The boot flags that this session read or wrote last. */
  #flags: BootFlags | undefined;

  constructor(channel: CommandChannel, manufacturer: number | undefined) {
    this.#channel = channel;
    this.#manufacturer = manufacturer;
  }

  /** The IANA enterprise number; undefined until it was needed. */
  get manufacturer(): number | undefined {
    return this.#manufacturer;
  }

  async read(signal: AbortSignal): Promise<BootOverride | undefined> {
    const flags = await this.#readFlags(signal);
    if (!flags) return undefined;
    const isBare = !flags.valid && !flags.persistent && !flags.efi && flags.selector !== 0;
    if (isBare && reportsNoBootFlags(await this.#askManufacturer(signal))) return undefined;
    const isUefiDisk =
      flags.valid &&
      flags.efi &&
      flags.selector === REMOTE_MEDIA &&
      bootsUefiDiskAsRemoteMedia(await this.#askManufacturer(signal));
    return overrideOf(isUefiDisk ? { ...flags, selector: selectorOf("disk") } : flags);
  }

  async plan(request: BootRequest, signal: AbortSignal): Promise<string> {
    const bytes = encodeBootFlags(await this.#flagsFor(request, signal)).toString("hex");
    return `Set System Boot Options: parameter 5 = ${bytes.replace(/..(?=.)/g, "$& ")}`;
  }

  async write(request: BootRequest, signal: AbortSignal): Promise<void> {
    const flags = await this.#flagsFor(request, signal);
    // A BMC that cannot stop the expiry of the flags still boots as requested if power follows within a minute.
    const beside = flags.selector === 0 ? [] : [STOP_BOOT_FLAG_EXPIRY];
    const answers = await this.#channel.run([...beside, setBootFlags(flags)], signal);
    const stored = answers.at(-1);
    if (!stored) throw new BmcError("internal", "Set System Boot Options: no answer was kept");
    dataOf(stored);
    this.#flags = flags;
  }

  async #flagsFor({ device, persistent, mode }: BootRequest, signal: AbortSignal): Promise<BootFlags> {
    const standard = selectorOf(device);
    // Every write sets a boot mode. Repeating the BMC's own value is the only way to keep it.
    const kept = mode === "keep" ? (this.#flags ?? (await this.#readFlags(signal)) ?? UNSET) : undefined;
    const efi = kept ? kept.efi : mode === "uefi";
    const asRemoteMedia =
      device === "disk" && efi && bootsUefiDiskAsRemoteMedia(await this.#askManufacturer(signal));
    return {
      valid: true,
      persistent: persistent && device !== "none",
      efi,
      selector: asRemoteMedia ? REMOTE_MEDIA : standard,
    };
  }

  /** Reads the flags; undefined if the BMC has none, or none before they are set. */
  async #readFlags(signal: AbortSignal): Promise<BootFlags | undefined> {
    const answer = await exchange(this.#channel, GET_BOOT_FLAGS, signal);
    if (answer.completionCode === NO_BOOT_FLAGS) return undefined;
    this.#flags = parseBootFlags(dataOf(answer));
    return this.#flags;
  }

  async #askManufacturer(signal: AbortSignal): Promise<number | undefined> {
    this.#manufacturer ??= parseManufacturer(await ask(this.#channel, GET_DEVICE_ID, signal));
    return this.#manufacturer;
  }
}
