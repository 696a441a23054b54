import { z } from "zod";
import type { Reply } from "../http-listener.ts";
import type { PowerAction, SimulatedMachine } from "../machine.ts";
import { fault, json } from "./reply.ts";

const HOST = "conductor-1";
const LED = "/management/indicators/led%40system";
const DEVICES: readonly string[] = ["pxe", "disk", "cdrom", "bios"];
const ACTIONS: Readonly<Record<string, PowerAction>> = {
  "power on": "on",
  "power off": "off",
  "soft power off": "soft-off",
  rebooting: "cycle",
};
const PowerTarget = z.object({ target: z.string(), timeout: z.number().int().min(1).optional() });
const BootTarget = z.object({ boot_device: z.string(), persistent: z.boolean() });
const ModeTarget = z.object({ target: z.enum(["uefi", "bios"]) });
const Media = z.object({ device_type: z.literal("cdrom"), image_url: z.string() });

/** A node of Ironic. After the answer its conductor carries out a change and holds the node's lock meanwhile. */
export class SimulatedNode {
  readonly machine: SimulatedMachine;
  /** The fields of the node that Ironic shows; tests may change them. */
  readonly facts: Record<string, unknown> = {
    provision_state: "manageable",
    maintenance: false,
    maintenance_reason: null,
    instance_uuid: null,
    owner: null,
    lessee: null,
    last_error: null,
  };
  /** The result of the last inspection; undefined before the first. */
  inventory: unknown;
  image: string | null = null;
  /** The minimum time for which a change holds the lock. */
  lockMs = 20;
  /** The error with which the next change fails. */
  nextError: string | undefined;
  #lockedUntilMs = 0;
  /** When a graceful shutdown times out. */
  #softUntilMs: number | undefined;

  constructor(machine: SimulatedMachine) {
    this.machine = machine;
  }

  /** Locks the node for this long, as another task would. */
  lock(ms: number): void {
    this.#lockedUntilMs = performance.now() + ms;
  }

  get state(): Readonly<Record<string, unknown>> {
    const { power, override } = this.machine;
    this.#endShutdown();
    const isLocked = this.#isLocked();
    const going = power === "powering-on" ? "power on" : power === "powering-off" ? "power off" : null;
    return {
      ...this.facts,
      power_state: power === "on" || power === "powering-off" ? "power on" : "power off",
      target_power_state: this.#softUntilMs === undefined ? going : "power off",
      reservation: isLocked ? HOST : null,
      boot_mode: override.mode === "uefi" ? "uefi" : "bios",
      secure_boot: this.machine.secureBoot.enabled,
    };
  }

  /** Answers a request about this node. `rest` is the path after the node's name. */
  answer(method: string, rest: string, body: unknown): Reply {
    if (method === "GET") return this.#read(rest);
    if (this.#isLocked()) {
      return fault(
        409,
        `Node is locked by host ${HOST}, please retry after the current operation is completed.`,
      );
    }
    switch (`${method} ${rest.replace(/\?.*/, "")}`) {
      case "PUT /states/power":
        return this.#setPower(body);
      case "PUT /states/boot_mode":
        return this.#change(202, ModeTarget, body, ({ target }) => {
          const mode = target === "uefi" ? "uefi" : "legacy";
          this.machine.override = { ...this.machine.override, mode };
        });
      case "PUT /management/boot_device":
        return this.#setBootDevice(body);
      case "PUT /states/secure_boot":
        return this.#change(202, z.object({ target: z.boolean() }), body, ({ target }) => {
          this.machine.secureBoot.enabled = target;
        });
      case `PUT ${LED}`:
        return this.#setIndicator(body);
      case "PUT /management/inject_nmi":
        this.machine.do("nmi");
        return { status: 204 };
      case "POST /vmedia":
        return this.#change(204, Media, body, ({ image_url }) => {
          this.image = image_url;
        });
      case "DELETE /vmedia":
        return this.#change(204, z.undefined(), undefined, () => {
          this.image = null;
        });
      default:
        return fault(404, "Not Found");
    }
  }

  #read(rest: string): Reply {
    switch (rest) {
      case "":
        return json(200, this.state);
      case "/management/boot_device": {
        const { device, enabled } = this.machine.override;
        const boot_device = enabled === "disabled" ? null : device;
        return json(200, { boot_device, persistent: boot_device === null ? null : enabled === "continuous" });
      }
      case "/management/indicators":
        return json(200, {
          indicators: [
            { name: "led-0@chassis", component: "chassis", readonly: true, states: ["off", "on"] },
            { name: "led@system", component: "system", readonly: false, states: ["blinking", "off", "on"] },
          ],
        });
      case LED:
        return json(200, { state: this.machine.indicator === "off" ? "off" : "on" });
      case "/vmedia":
        return json(200, [
          { media_types: ["USBStick"], inserted: false, image: "" },
          { media_types: ["CD", "DVD"], inserted: this.image !== null, image: this.image ?? "" },
        ]);
      case "/inventory":
        return this.inventory === undefined
          ? fault(404, "Node inventory record for node could not be found.")
          : json(200, { inventory: this.inventory, plugin_data: {} });
      default:
        return fault(404, "Not Found");
    }
  }

  #setPower(body: unknown): Reply {
    return this.#change(202, PowerTarget, body, ({ target, timeout = 600 }) => {
      const action = ACTIONS[target];
      if (action === undefined) return fault(400, `Power target ${target} is not supported.`);
      if (action === "soft-off") this.#softUntilMs = performance.now() + timeout * 1_000;
      this.machine.do(action);
      return undefined;
    });
  }

  #setBootDevice(body: unknown): Reply {
    const asked = BootTarget.safeParse(body);
    if (!asked.success || !DEVICES.includes(asked.data.boot_device)) {
      return fault(400, "Invalid boot device specified.");
    }
    const { boot_device: device, persistent } = asked.data;
    this.machine.override = {
      ...this.machine.override,
      device: device as "pxe" | "disk" | "cdrom" | "bios",
      enabled: persistent ? "continuous" : "once",
    };
    return { status: 204 };
  }

  #setIndicator(body: unknown): Reply {
    const asked = z.object({ state: z.enum(["on", "off"]) }).safeParse(body);
    if (!asked.success) return fault(400, "Invalid indicator state.");
    this.machine.indicator = asked.data.state;
    return { status: 204 };
  }

  #change<T>(
    status: number,
    schema: z.ZodType<T>,
    body: unknown,
    apply: (asked: T) => Reply | undefined,
  ): Reply {
    const asked = schema.safeParse(body);
    if (!asked.success) return fault(400, "Schema error for body");
    const error = this.nextError;
    this.nextError = undefined;
    const refused = error === undefined ? apply(asked.data) : undefined;
    if (refused) return refused;
    this.facts["last_error"] = error ?? null;
    this.lock(this.lockMs);
    return { status };
  }

  #isLocked(): boolean {
    this.#endShutdown();
    const isMoving = this.machine.power.startsWith("powering");
    return performance.now() < this.#lockedUntilMs || isMoving || this.#softUntilMs !== undefined;
  }

  #endShutdown(): void {
    if (this.#softUntilMs === undefined) return;
    if (this.machine.power === "off") this.#softUntilMs = undefined;
    else if (performance.now() > this.#softUntilMs) {
      this.#softUntilMs = undefined;
      this.facts["last_error"] = "Timed out waiting for power off.";
    }
  }
}
