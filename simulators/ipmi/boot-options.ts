import type { BootDevice } from "../../shared/contract/vocabulary.ts";
import type { SimulatedMachine } from "../machine.ts";
import type { Reply } from "./reply.ts";

/** The boot device selectors of parameter 5 (IPMI 2.0 table 28-14) that this machine's firmware understands. */
const DEVICES: Readonly<Record<number, BootDevice>> = {
  0: "none",
  1: "pxe",
  2: "disk",
  3: "safe",
  4: "diag",
  5: "cdrom",
  6: "bios",
  9: "disk",
  15: "floppy",
};

export interface BootOptionsOptions {
  /** How long boot flags are valid without a chassis control (60 s by the specification). */
  readonly expiryMs: number;
  /** Whether parameter 3 is supported; some BMCs refuse it. */
  readonly expiryCanBeStopped: boolean;
}

/**
 * The system boot options: set in progress (0), valid bit clearing (3), acknowledge (4) and boot flags (5). Setting the
 * flags sets the machine's override, and a boot that uses up the override clears the flags.
 */
export class BootOptions {
  readonly #machine: SimulatedMachine;
  readonly #options: BootOptionsOptions;
  #setInProgress = 0;
  #validBitClearing = 0;
  #acknowledge: Buffer = Buffer.from([0, 0]);
  #flags: Buffer = Buffer.alloc(5);
  #expiry: NodeJS.Timeout | undefined;

  constructor(machine: SimulatedMachine, options: BootOptionsOptions) {
    this.#machine = machine;
    this.#options = options;
    machine.on("boot", this.#onBoot);
  }

  set(data: Buffer): Reply {
    const parameter = (data[0] ?? 0) & 0x7f;
    const value = data.subarray(1);
    if (parameter === 0 && value.length === 1) {
      this.#setInProgress = value.readUInt8(0) & 0x03;
      return {};
    }
    if (parameter === 3 && value.length === 1) {
      if (!this.#options.expiryCanBeStopped) return { code: 0x80 };
      this.#validBitClearing = value.readUInt8(0) & 0x1f;
      if (this.#neverExpires) this.keepFlags();
      return {};
    }
    if (parameter === 4 && value.length === 2) {
      this.#acknowledge = Buffer.from(value);
      return {};
    }
    if (parameter === 5 && value.length === 5) return this.#setFlags(Buffer.from(value));
    return { code: [0, 3, 4, 5].includes(parameter) ? 0xc7 : 0x80 };
  }

  get(data: Buffer): Reply {
    if (data.length !== 3) return { code: 0xc7 };
    const parameter = data.readUInt8(0) & 0x7f;
    const value = this.#value(parameter);
    return value ? { data: Buffer.from([0x01, parameter, ...value]) } : { code: 0x80 };
  }

  /** Keeps the flags until the next boot, because a chassis control came in time. */
  keepFlags(): void {
    clearTimeout(this.#expiry);
  }

  close(): void {
    this.keepFlags();
    this.#machine.off("boot", this.#onBoot);
  }

  #value(parameter: number): Uint8Array | undefined {
    if (parameter === 0) return Uint8Array.of(this.#setInProgress);
    if (parameter === 3) return Uint8Array.of(this.#validBitClearing);
    if (parameter === 4) return this.#acknowledge;
    return parameter === 5 ? this.#flags : undefined;
  }

  #setFlags(flags: Buffer): Reply {
    const device = DEVICES[(flags.readUInt8(1) >> 2) & 0x0f];
    if (device === undefined) return { code: 0xcc };
    const [first] = flags;
    const valid = ((first ?? 0) & 0x80) !== 0;
    const persistent = ((first ?? 0) & 0x40) !== 0;
    this.#flags = flags;
    this.#machine.override = {
      device: valid ? device : "none",
      enabled: !valid || device === "none" ? "disabled" : persistent ? "continuous" : "once",
      mode: ((first ?? 0) & 0x20) !== 0 ? "uefi" : "legacy",
    };
    this.keepFlags();
    if (valid && !this.#neverExpires) {
      this.#expiry = setTimeout(() => this.#invalidate(), this.#options.expiryMs);
      this.#expiry.unref();
    }
    return {};
  }

  get #neverExpires(): boolean {
    return (this.#validBitClearing & 0x08) !== 0;
  }

  #invalidate(): void {
    this.#flags[0] = (this.#flags[0] ?? 0) & 0x7f;
    this.#machine.override = { ...this.#machine.override, device: "none", enabled: "disabled" };
  }

  readonly #onBoot = () => {
    this.keepFlags();
    if (this.#machine.override.enabled === "disabled") this.#flags[0] = (this.#flags[0] ?? 0) & 0x7f;
  };
}
