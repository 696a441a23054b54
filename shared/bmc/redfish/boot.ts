import type { Logger } from "../../logger.ts";
import { BmcError } from "../errors.ts";
import type { BootDriver, BootOverride, BootRequest } from "../provider.ts";
import { type BootFields, bootFields, bootOverride, holds } from "./boot-fields.ts";
import { type BootAttempt, BootLadder } from "./boot-ladder.ts";
import { type Boot, BootSettings } from "./schema.ts";
import type { ManagedSystem } from "./system.ts";
import { awaitTask } from "./task.ts";

/** The resource that takes the override, with the tag it was last seen with. */
interface BootOwner {
  readonly path: string;
  readonly etag: string | undefined;
}

export class RedfishBoot implements BootDriver {
  readonly #system: ManagedSystem;
  readonly #log: Logger;
  /** Whether the settings resource takes the override; undefined until it was looked at. */
  #settingsTakeBoot: boolean | undefined;

  constructor(system: ManagedSystem, log: Logger, settingsTakeBoot: boolean | undefined) {
    this.#system = system;
    this.#log = log;
    this.#settingsTakeBoot = settingsTakeBoot;
  }

  get settingsTakeBoot(): boolean | undefined {
    return this.#settingsTakeBoot;
  }

  async read(signal: AbortSignal): Promise<BootOverride> {
    const { value } = await this.#system.read(signal);
    return bootOverride(value.Boot ?? {});
  }

  async plan(request: BootRequest, signal: AbortSignal): Promise<string> {
    const fields = this.#fields(request);
    const { path } = await this.#owner(signal);
    return `PATCH ${path} ${JSON.stringify({ Boot: fields })}`;
  }

  async write(request: BootRequest, signal: AbortSignal): Promise<void> {
    const fields = this.#fields(request);
    const { path, etag } = await this.#owner(signal);
    const { behaviour } = this.#system;
    const ladder = new BootLadder(this.#system, this.#log);
    let attempt: BootAttempt = { path, fields, etag: behaviour.ifMatch === "first" ? etag : undefined };
    for (;;) {
      const refusal = await this.#attempt(attempt, signal);
      if (!refusal) {
        ladder.climbed();
        return;
      }
      const { error, answer } = refusal;
      // Neither refused credentials nor "not now" becomes better by asking in another form.
      if (error.class === "auth" || error.class === "busy" || answer.status === 404) throw error;
      if (behaviour.readBack === "each-refusal" && (await this.#holds(request, signal))) return;
      const next = await ladder.next(attempt, answer, signal);
      if (next === undefined) {
        if (behaviour.readBack === "before-failing" && (await this.#holds(request, signal))) return;
        throw error;
      }
      attempt = next;
    }
  }

  #fields(request: BootRequest): BootFields {
    const boot: Boot | undefined = this.#system.last.value.Boot;
    if (!boot) throw new BmcError("unsupported", "the BMC offers no boot override");
    return bootFields(request, boot, this.#system.behaviour);
  }

  async #attempt(attempt: BootAttempt, signal: AbortSignal) {
    const { service, clock } = this.#system;
    this.#system.markChanged();
    const request = {
      method: "PATCH",
      path: attempt.path,
      body: { Boot: attempt.fields },
      ...(attempt.etag === undefined ? {} : { headers: { "if-match": attempt.etag } }),
    } as const;
    const answer = await service.send(request, signal);
    if (answer.status >= 300) return { error: service.refusal(answer, request), answer };
    await awaitTask(service, answer, clock, signal);
    return undefined;
  }

  /**
   * Where the override is written: the resource `@Redfish.Settings` points to when it is the one that holds
   * `Boot` (DSP0266 section 9.10), else the system itself.
   */
  async #owner(signal: AbortSignal): Promise<BootOwner> {
    const { service, last, path, behaviour } = this.#system;
    const link = last.value["@Redfish.Settings"]?.SettingsObject["@odata.id"];
    const settingsPath = service.localPath(link);
    if (settingsPath === undefined || this.#settingsTakeBoot === false) return { path, etag: last.etag };
    if (this.#settingsTakeBoot === true && behaviour.ifMatch === "on-demand")
      return { path: settingsPath, etag: undefined };
    const settings = await service.find(settingsPath, BootSettings, signal);
    const boot = settings?.value.Boot;
    const holdsBoot = boot !== undefined && Object.values(boot).some((value) => value !== undefined);
    this.#settingsTakeBoot = settings !== undefined && (behaviour.settings === "always" || holdsBoot);
    return this.#settingsTakeBoot ? { path: settingsPath, etag: settings?.etag } : { path, etag: last.etag };
  }

  /** Some BMCs refuse and apply nevertheless: a refusal counts only when the system says the same. */
  async #holds(request: BootRequest, signal: AbortSignal): Promise<boolean> {
    try {
      return holds(request, await this.read(signal));
    } catch (error) {
      signal.throwIfAborted();
      this.#log.debug({ reason: BmcError.from(error).message }, "could not read the boot override back");
      return false;
    }
  }
}
