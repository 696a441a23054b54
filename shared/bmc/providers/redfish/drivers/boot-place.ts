import { defined } from "../../../../defined.ts";
import type { Resources } from "../resources/resources.ts";
import { settingsPathOf, writeSettings } from "../resources/settings-place.ts";
import type { ManagedSystem } from "../resources/system.ts";
import { FUTURE_STATE } from "../service/behaviour-quirks.ts";
import type { HttpAnswer } from "../service/http-client.ts";
import { readRefusal } from "../service/refusal.ts";
import { type Boot, BootSettings } from "../service/schema.ts";

/** The resource that accepts a field of `Boot`, with its latest content. */
export interface BootPlace {
  readonly path: string;
  readonly etag: string | undefined;
  readonly boot: Boot;
}

/** Whether a refusal shows that the system's `/SD` resource accepts the properties, like in MegaRAC. */
export function leadsToFutureState(answer: HttpAnswer): boolean {
  return readRefusal(answer).messageIds.some((id) => FUTURE_STATE.messageId.test(id));
}

/**
 * Writes a field of `Boot`. If a settings resource with the field refuses it, it is written to the system itself, whose
 * answer counts. If the system refuses it in favour of its `/SD`, it is written there.
 */
export async function writeBootField(
  { system, writer }: Pick<Resources, "system" | "writer">,
  place: BootPlace,
  field: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<void> {
  const request = { method: "PATCH", path: place.path, body: { Boot: field }, etag: place.etag } as const;
  const own = { path: system.path, etag: system.last.etag };
  if (request.path !== own.path) {
    await writeSettings({ system, writer }, { request, own }, signal);
    return;
  }
  const answer = await writer.attempt(request, signal);
  if (answer.status < 300) return;
  if (!leadsToFutureState(answer)) throw system.service.refusal(answer, request);
  const path = `${own.path}${FUTURE_STATE.suffix}`;
  await writer.write({ ...request, path, etag: undefined }, signal);
  system.learn("ami-future-state");
}

/**
 * The resource that accepts a field of `Boot`: the settings resource of the system if it has the field, because it then
 * contains the value for the next boot (DSP0266 section 9.10), otherwise the system. Undefined if the system lacks the
 * field.
 */
export async function bootPlace(
  system: ManagedSystem,
  has: (boot: Boot) => boolean,
  signal: AbortSignal,
): Promise<BootPlace | undefined> {
  const { service, behaviour } = system;
  const own = await system.read(signal);
  const { Boot: boot } = own.value;
  const path =
    behaviour.bootOwner === "future-state"
      ? `${own.path}${FUTURE_STATE.suffix}`
      : settingsPathOf(service, own);
  const pending = path === undefined ? undefined : await service.find(path, BootSettings, signal);
  const waiting = pending?.value.Boot;
  if (waiting && has(waiting)) {
    // iDRAC 7.10 and NVIDIA's OpenBMC show an empty order there if none waits for the next boot.
    const order = waiting.BootOrder?.length === 0 ? boot?.BootOrder : undefined;
    return { path: pending.path, etag: pending.etag, boot: { ...waiting, ...defined({ BootOrder: order }) } };
  }
  return boot && has(boot) ? { path: own.path, etag: own.etag, boot } : undefined;
}
