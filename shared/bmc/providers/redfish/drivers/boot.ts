import { BmcError } from "../../../../contract/bmc-error.ts";
import { defined } from "../../../../defined.ts";
import type { Logger } from "../../../../logger.ts";
import type { BootDriver, BootOverride, BootRequest, BootSight } from "../../../operations/boot-port.ts";
import type { Members } from "../resources/members.ts";
import type { Resources } from "../resources/resources.ts";
import type { ManagedSystem } from "../resources/system.ts";
import type { Writer } from "../resources/writer.ts";
import { FUTURE_STATE } from "../service/behaviour-quirks.ts";
import { BootSettings } from "../service/schema.ts";
import { type BootFields, bootFields, bootOverride, hasOverride, holds } from "./boot-fields.ts";
import { type BootAttempt, BootLadder } from "./boot-ladder.ts";
import { bootProgress } from "./boot-progress.ts";
import { postCodeProgress } from "./post-codes.ts";
import { powerState } from "./power.ts";

/** The resource that takes the override, with the tag it was last seen with. */
interface BootOwner {
  readonly path: string;
  readonly etag: string | undefined;
}

/** The settings resource of the system, and whether it takes the override; undefined until it was looked at. */
export interface SettingsHint {
  readonly path: string;
  readonly takesOverride?: boolean | undefined;
}

export class RedfishBoot implements BootDriver {
  readonly #system: ManagedSystem;
  readonly #members: Members;
  readonly #writer: Writer;
  readonly #log: Logger;
  #looked: SettingsHint | undefined;
  #written = false;

  constructor(
    { system, members, writer, log }: Pick<Resources, "system" | "members" | "writer" | "log">,
    settings: SettingsHint | undefined,
  ) {
    this.#system = system;
    this.#members = members;
    this.#writer = writer;
    this.#log = log;
    this.#looked = settings;
  }

  get settings(): SettingsHint | undefined {
    const path = this.#settingsPath();
    if (path === undefined) return undefined;
    const takesOverride = this.#settingsTakeOverride(path);
    return takesOverride === undefined ? { path } : { path, takesOverride };
  }

  get keepsOverrides(): boolean {
    return this.#system.behaviour.once === "persistent";
  }

  async read(signal: AbortSignal): Promise<BootOverride> {
    const { value } = await this.#system.read(signal);
    // What took a write and now shows nothing offers it all the same.
    if (!hasOverride(value.Boot) && !this.#written) throw noOverride();
    return bootOverride(value.Boot ?? {});
  }

  async see(postCodes: boolean, signal: AbortSignal): Promise<BootSight> {
    const { value } = await this.#system.read(signal);
    const progress = postCodes
      ? await postCodeProgress(this.#system.service, this.#members, value, signal)
      : bootProgress(value);
    const override = hasOverride(value.Boot) ? bootOverride(value.Boot) : undefined;
    return { power: powerState(value.PowerState), ...defined({ override, progress }) };
  }

  async plan(request: BootRequest, signal: AbortSignal): Promise<string> {
    const fields = await this.#fields(request, signal);
    const { path } = await this.#owner(signal);
    return `PATCH ${path} ${JSON.stringify({ Boot: fields })}`;
  }

  async write(request: BootRequest, signal: AbortSignal): Promise<void> {
    let attempt = await this.#draft(request, signal);
    this.#written = true;
    const { behaviour } = this.#system;
    let ladder = new BootLadder(this.#system, this.#log);
    for (;;) {
      const refusal = await this.#attempt(attempt, signal);
      if (!refusal) {
        ladder.climbed();
        const settingsPath = this.#settingsPath();
        const { bootOwner } = behaviour;
        if (settingsPath !== undefined && bootOwner !== "future-state")
          this.#looked = { path: settingsPath, takesOverride: attempt.path === settingsPath };
        const next = await this.#afterGuess(request, attempt, signal);
        if (next === undefined) return;
        attempt = next;
        continue;
      }
      const { error, answer } = refusal;
      // Neither refused credentials, "not now" nor a lost answer becomes better by asking in another form.
      if (error.class === "auth" || error.class === "busy" || error.uncertain) throw error;
      if (await this.#system.refresh(signal)) {
        if (holds(request, bootOverride(this.#system.last.value.Boot ?? {}))) return;
        const seen = await this.#draft(request, signal);
        if (!isSame(seen, attempt)) {
          attempt = seen;
          ladder = new BootLadder(this.#system, this.#log);
          continue;
        }
      }
      if (behaviour.readBack === "each-refusal" && (await this.#holds(request, signal))) return;
      const next = await ladder.next(attempt, answer, request, signal);
      if (next === undefined) {
        if (behaviour.readBack === "before-failing" && (await this.#holds(request, signal))) return;
        throw error;
      }
      attempt = next;
    }
  }

  async #draft(request: BootRequest, signal: AbortSignal): Promise<BootAttempt> {
    const fields = await this.#fields(request, signal);
    const { path, etag } = await this.#owner(signal);
    return { path, fields, etag: this.#system.behaviour.ifMatch === "first" ? etag : undefined };
  }

  /** What to send. What a hint remembers does where a wrong guess can only be refused; else the system is read. */
  async #fields(request: BootRequest, signal: AbortSignal): Promise<BootFields> {
    if (this.#system.isRemembered && !this.#memoryWillDo(request)) await this.#system.refresh(signal);
    try {
      const boot = this.#system.last.value.Boot;
      if (!hasOverride(boot)) throw noOverride();
      return bootFields(request, boot, this.#system.behaviour);
    } catch (error) {
      if (!(await this.#system.refresh(signal))) throw error;
      return await this.#fields(request, signal);
    }
  }

  #memoryWillDo({ mode }: BootRequest): boolean {
    const { behaviour, last } = this.#system;
    const { Boot: boot } = last.value;
    // A tag that is needed has to be read anyway.
    if (!boot || behaviour.ifMatch === "first") return false;
    if (behaviour.sendMode === "always") return mode !== "keep";
    return mode === "keep" || !isDifferent(mode, bootOverride(boot));
  }

  /**
   * A mode that was left out because a hint has it so must be so: the read-back that follows every write is made
   * here, where another mode can still be put right, and serves the next `read`.
   */
  async #afterGuess(
    request: BootRequest,
    { fields }: BootAttempt,
    signal: AbortSignal,
  ): Promise<BootAttempt | undefined> {
    const guessed = request.mode !== "keep" && fields.BootSourceOverrideMode === undefined;
    if (!guessed || !(await this.#system.refresh(signal))) return undefined;
    const stored = bootOverride(this.#system.last.value.Boot ?? {});
    return isDifferent(request.mode, stored) ? await this.#draft(request, signal) : undefined;
  }

  async #attempt(attempt: BootAttempt, signal: AbortSignal) {
    const { service } = this.#system;
    this.#system.markChanged();
    const request = {
      method: "PATCH",
      path: attempt.path,
      body: { Boot: attempt.fields },
      ...(attempt.etag === undefined ? {} : { headers: { "if-match": attempt.etag } }),
    } as const;
    const answer = await service.send(request, signal);
    if (answer.status >= 300) return { error: service.refusal(answer, request), answer };
    await this.#writer.follow(answer, request, signal);
    return undefined;
  }

  /**
   * Where the override is written: the resource `@Redfish.Settings` points to if it has the override's target itself (DSP0266
   * section 9.10; as sushy decides), else the system itself.
   */
  async #owner(signal: AbortSignal): Promise<BootOwner> {
    const { service, last, path, behaviour } = this.#system;
    if (behaviour.bootOwner === "future-state") return await this.#futureState(signal);
    const settingsPath = this.#settingsPath();
    if (settingsPath === undefined || this.#settingsTakeOverride(settingsPath) === false)
      return { path, etag: last.etag };
    if (this.#settingsTakeOverride(settingsPath) === true && behaviour.ifMatch === "on-demand")
      return { path: settingsPath, etag: undefined };
    const settings = await service.find(settingsPath, BootSettings, signal);
    const hasTarget = settings?.value.Boot?.BootSourceOverrideTarget !== undefined;
    const takesOverride = settings !== undefined && (behaviour.bootOwner === "settings" || hasTarget);
    this.#looked = { path: settingsPath, takesOverride };
    return takesOverride ? { path: settingsPath, etag: settings?.etag } : { path, etag: last.etag };
  }

  async #futureState(signal: AbortSignal): Promise<BootOwner> {
    const { service, behaviour } = this.#system;
    const path = `${this.#system.path}${FUTURE_STATE.suffix}`;
    if (behaviour.ifMatch === "on-demand") return { path, etag: undefined };
    return { path, etag: (await service.find(path, BootSettings, signal))?.etag };
  }

  #settingsPath(): string | undefined {
    const { service, last } = this.#system;
    return service.localPath(last.value["@Redfish.Settings"]?.SettingsObject["@odata.id"]);
  }

  #settingsTakeOverride(path: string): boolean | undefined {
    return this.#looked?.path === path ? this.#looked.takesOverride : undefined;
  }

  /** Some BMCs refuse and apply nevertheless: a refusal counts only when the system says the same. */
  async #holds(request: BootRequest, signal: AbortSignal): Promise<boolean> {
    try {
      return holds(request, await this.read(signal));
    } catch (error) {
      signal.throwIfAborted();
      this.#log.debug({ reason: BmcError.from(error).message }, "boot override readback failed");
      return false;
    }
  }
}

function isDifferent(asked: BootRequest["mode"], { mode }: BootOverride): boolean {
  return asked !== "keep" && mode !== undefined && mode !== asked;
}

function isSame(a: BootAttempt, b: BootAttempt): boolean {
  return a.path === b.path && a.etag === b.etag && JSON.stringify(a.fields) === JSON.stringify(b.fields);
}

function noOverride(): BmcError {
  return new BmcError("unsupported", "the BMC offers no boot override");
}
