import { isDeepStrictEqual } from "node:util";
import { readWsmanRequest } from "../../shared/bmc/recording/wsman-message.ts";
import {
  type RecordedExchange,
  WSMAN_REQUEST,
  WsmanAnswer,
  WsmanRequest,
} from "../../shared/recording/recording.ts";
import {
  type Answer as AmtAnswer,
  enumerated,
  envelope,
  fault,
  instance,
  outputOf,
  pulled,
} from "../amt/answers.ts";
import { type Asked, valueIn } from "../amt/request.ts";
import type { Reply } from "../http-listener.ts";
import type { SimulatedMachine } from "../machine.ts";
import type { Answer } from "../redfish/answer.ts";
import { escaped, forcePower, POWER, writtenFields } from "./recorded-amt.ts";
import { Replay, withoutFraming } from "./replay.ts";
import { isBody } from "./resources.ts";

interface WsmanExchange {
  readonly asked: WsmanRequest;
  readonly recorded: RecordedExchange;
  /** The answers to the Pull requests that followed an Enumerate. */
  readonly parts: RecordedExchange[];
}

/** Recorded exchanges with Intel AMT, replayed by the rules of `Replay`. */
export class AmtReplay {
  readonly #replay: Replay;
  readonly #changes: readonly WsmanRequest[];
  readonly #speed: number;
  readonly #machine: SimulatedMachine;
  /** The remaining parts of enumerations, by context. */
  readonly #parts = new Map<string, RecordedExchange[]>();
  #enumerations = 0;

  /** Replays `speed` times as fast as recorded. After a change of the machine, it shows the state that it showed last. */
  constructor(exchanges: readonly RecordedExchange[], speed: number, machine: SimulatedMachine) {
    const all = withParts(withoutChallenges(exchanges.flatMap(wsmanOf)));
    this.#changes = all.flatMap(({ asked }) => (isRead(asked) ? [] : [asked]));
    this.#speed = speed;
    this.#machine = machine;
    const played = all.map(({ asked, recorded, parts }): RecordedExchange => {
      const { sent: _, body: said, ...rest } = recorded;
      return { ...rest, request: this.#requestOf(asked), body: { said, parts } };
    });
    this.#replay = new Replay(played, speed);
  }

  /** Returns undefined for a request that was not recorded. `carryOut` is called if the change was accepted. */
  play(asked: Asked, carryOut: () => void): Reply | undefined {
    const request = readWsmanRequest(asked.text);
    if (request?.action === "Pull") return this.#pull(asked);
    if (!request) return undefined;
    if (!isRead(request)) this.#settle();
    const played = this.#replay.play(this.#requestOf(request), undefined);
    if (!played) return undefined;
    const { said, parts } = bodyOf(played.answer.body);
    if (!isRead(request) && played.isAccepted && isDone(said)) carryOut();
    const context = request.action === "Enumerate" ? `recorded-${++this.#enumerations}` : undefined;
    if (context !== undefined) this.#parts.set(context, [...parts]);
    return replyTo(asked, played.answer, said, context);
  }

  /** Applies only to reads, because a change is sent with a login. */
  drops(asked: Asked): boolean {
    const request = readWsmanRequest(asked.text);
    if (!request || !isRead(request)) return false;
    return this.#replay.play(this.#requestOf(request), undefined)?.answer.drops !== undefined;
  }

  #pull(asked: Asked): Reply | undefined {
    const context = valueIn(asked.body, "EnumerationContext");
    const next = this.#parts.get(context)?.shift();
    if (!next) return undefined;
    const { status, headers = {}, body, ms, error = "no answer" } = next;
    const delayMs = ms / this.#speed;
    const answer =
      status === undefined ? { status: 0, drops: error } : { status, headers: withoutFraming(headers) };
    return replyTo(asked, { ...answer, delayMs }, body, context);
  }

  /** Returns the recorded request that this one matches, in the replay's form. */
  #requestOf(asked: WsmanRequest): string {
    if (isRead(asked)) return `GET /${asked.action}/${asked.class}`;
    const exact = this.#changes.findIndex((change) => change.input !== undefined && isSame(change, asked));
    const index = exact < 0 ? this.#changes.findIndex((change) => isSame(change, asked)) : exact;
    return `SET /${asked.action}/${asked.class}/${index}`;
  }

  #settle(): void {
    for (const [path, body] of this.#replay.settled()) {
      if (!path.endsWith(`/${POWER}`)) continue;
      const { said, parts } = bodyOf(body);
      const [shown] = [said, ...parts.map((part) => part.body)].flatMap((one) => {
        const { output, instances = [] } = WsmanAnswer.safeParse(one).data ?? {};
        return output ? [output] : instances;
      });
      forcePower(shown, this.#machine);
    }
  }
}

function wsmanOf(recorded: RecordedExchange): WsmanExchange[] {
  const asked =
    recorded.request === WSMAN_REQUEST ? WsmanRequest.safeParse(recorded.sent?.body).data : undefined;
  return asked ? [{ asked, recorded, parts: [] }] : [];
}

/** Removes the challenges, because the device sends its own; a request that was repeated with a login has the actual answer. */
function withoutChallenges(all: readonly WsmanExchange[]): readonly WsmanExchange[] {
  const inOrder = all.toSorted((one, other) => one.recorded.atMs - other.recorded.atMs);
  return inOrder.filter(({ asked, recorded: { status } }, index) => {
    const next = inOrder[index + 1];
    const isSentAgain = next && JSON.stringify(next.asked) === JSON.stringify(asked);
    return status !== 401 || !isSentAgain || next.recorded.status === 401;
  });
}

function withParts(all: readonly WsmanExchange[]): readonly WsmanExchange[] {
  const running = new Map<string, RecordedExchange[]>();
  return all.filter(({ asked, recorded, parts }) => {
    if (asked.action === "Enumerate") running.set(asked.class, parts);
    else if (asked.action === "Pull") running.get(asked.class)?.push(recorded);
    return !["Pull", "Release"].includes(asked.action);
  });
}

function isRead({ action }: WsmanRequest): boolean {
  return ["Get", "Enumerate", "Pull", "Release"].includes(action);
}

/** Whether a request is the recorded one. What the recording lacks or has removed may have any value. */
function isSame(recorded: WsmanRequest, asked: WsmanRequest): boolean {
  if (recorded.action !== asked.action || recorded.class !== asked.class) return false;
  if (recorded.input === undefined) return true;
  const input = asked.input ?? {};
  const names = Object.keys(recorded.input);
  if (names.length !== Object.keys(input).length) return false;
  return Object.entries(recorded.input).every(
    ([name, value]) => name in input && (value === null || isDeepStrictEqual(value, input[name])),
  );
}

/** Returns the body of an exchange in the replay's form. */
function bodyOf(body: unknown): { readonly said: unknown; readonly parts: readonly RecordedExchange[] } {
  return body as { readonly said: unknown; readonly parts: readonly RecordedExchange[] };
}

/** Whether the return value of a method says that it was carried out. */
function isDone(said: unknown): boolean {
  const answer = WsmanAnswer.safeParse(said).data;
  return answer !== undefined && !answer.fault && (answer.output?.["ReturnValue"] ?? "0") === "0";
}

function replyTo(asked: Asked, answer: Answer, said: unknown, context: string | undefined): Reply {
  const { status, headers = {}, delayMs = 0, drops } = answer;
  if (drops !== undefined) return { status: 500, delayMs, drops: true };
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  const parsed = isBody(said) ? WsmanAnswer.safeParse(said).data : undefined;
  const soap = parsed && messageOf(asked, parsed, context)(asked);
  const type = soap ? { "content-type": "application/soap+xml; charset=UTF-8" } : {};
  const body = soap?.body ?? (typeof said === "string" ? said : "");
  return { status, delayMs, body, headers: { ...type, ...Object.fromEntries(lower) } };
}

function messageOf(asked: Asked, answer: WsmanAnswer, context: string | undefined): AmtAnswer {
  const { action, class: resource } = readWsmanRequest(asked.text) ?? { action: "", class: "" };
  const { output, instances, fault: refused } = answer;
  const next = answer.more ? context : undefined;
  if (refused) return fault(escaped(refused.subcode), escaped(refused.reason));
  if (instances)
    return pulled(
      instances.map((one) => instance(resource, writtenFields(one))),
      next,
    );
  if (action === "Enumerate") return enumerated(next);
  if (!output) return envelope("");
  const fields = writtenFields(output);
  return ["Get", "Put"].includes(action) ? envelope(instance(resource, fields)) : outputOf(action, fields);
}
