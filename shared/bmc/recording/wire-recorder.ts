import { BmcError } from "../../contract/bmc-error.ts";
import type { Anonymiser } from "../../recording/anonymise.ts";
import {
  type RecordedCommand,
  type RecordedExchange,
  WSMAN_REQUEST,
  type WsmanAnswer,
  type WsmanRequest,
} from "../../recording/recording.ts";
import { textOf } from "../../text-of.ts";
import type { TappedHttp, TappedIpmi, TlsFacts, WireTap } from "../../tracing/wire-tap.ts";
import { anonymousSdrs, commandAnonymiser } from "./anonymous-command.ts";
import {
  anonymousAnswer,
  anonymousRequest,
  collectMessage,
  readWsmanAnswer,
  readWsmanRequest,
} from "./wsman-message.ts";

const MOST_EXCHANGES = 5_000;
const LONGEST_BODY = 1_048_576;

/** Records all exchanges, including secrets; `anonymous` returns what may be written. */
export class WireRecorder implements WireTap {
  tls: TlsFacts | undefined;
  readonly #http: TappedHttp[] = [];
  readonly #ipmi: TappedIpmi[] = [];

  connected(facts: TlsFacts): void {
    this.tls ??= facts;
  }

  http(exchange: TappedHttp): void {
    if (this.#http.length < MOST_EXCHANGES) this.#http.push(withOwnPath(exchange));
  }

  ipmi(exchange: TappedIpmi): void {
    // A cancelled request says nothing about the BMC; only its silence does.
    const isAnswered = exchange.error === undefined || isSilence(exchange.error);
    if (isAnswered && this.#ipmi.length < MOST_EXCHANGES) this.#ipmi.push(exchange);
  }

  /** Parts of a recording. */
  anonymous(anonymiser: Anonymiser): { exchanges?: RecordedExchange[]; commands?: RecordedCommand[] } {
    const startMs = Math.min(...[...this.#http, ...this.#ipmi].map(({ startedMs }) => startedMs));
    const times = ({ startedMs, endedMs }: { startedMs: number; endedMs: number }) => ({
      atMs: Math.round(startedMs - startMs),
      ms: Math.round(endedMs - startedMs),
    });
    const http = this.#http.filter(({ path }) => !isLogin(path));
    const commandOf = commandAnonymiser(anonymiser, anonymousSdrs(this.#ipmi, anonymiser));
    return {
      ...(http.length > 0 && {
        exchanges: http.map((one) => ({ ...exchangeOf(one, anonymiser), ...times(one) })),
      }),
      ...(this.#ipmi.length > 0 && {
        commands: this.#ipmi.map((one) => ({ ...commandOf(one), ...times(one) })),
      }),
    };
  }

  /** Collects everything that identifies the machine, before anything is written. */
  collect(anonymiser: Anonymiser): void {
    for (const exchange of this.#http) {
      const asked = wsmanIn(exchange);
      const answered = asked && wsmanAnswerIn(exchange, asked);
      for (const message of [asked, answered]) if (message) collectMessage(message, anonymiser);
      if (asked) continue;
      anonymiser.collect(jsonOf(exchange.body));
      anonymiser.collect(jsonOf(exchange.answer?.body));
    }
  }
}

function isSilence(error: unknown): boolean {
  return ["timeout", "unreachable"].includes(BmcError.from(error).class);
}

/**
 * Replaces the BMC's own address in a `Location` by that of the recording. Another address, for example behind a router, is
 * kept, because it shows the BMC's behaviour.
 */
function withOwnPath(exchange: TappedHttp): TappedHttp {
  const { origin, answer } = exchange;
  const given = answer?.headers["location"];
  const url = given === undefined ? null : URL.parse(given, origin);
  if (!answer || url?.origin !== origin) return exchange;
  const location = url.pathname + url.search;
  return { ...exchange, answer: { ...answer, headers: { ...answer.headers, location } } };
}

/** Whether a request is a login or logout, which a replay makes itself. */
function isLogin(path: string): boolean {
  return /\/Sessions(\/[^/]*)?$/i.test(path);
}

function exchangeOf(exchange: TappedHttp, anonymiser: Anonymiser) {
  const { method, path, headers, connection, answer, error } = exchange;
  const { sent, received } = bodiesOf(exchange, anonymiser);
  return {
    request: `${method} ${anonymiser.path(path)}`,
    sent: { headers: anonymiser.headers(headers), ...(sent !== undefined && { body: sent }) },
    connection,
    ...(answer && {
      status: answer.status,
      headers: anonymiser.headers(answer.headers),
      body: received,
    }),
    ...(error !== undefined && { error: anonymiser.text(textOf(error)) }),
  };
}

function bodiesOf(exchange: TappedHttp, anonymiser: Anonymiser) {
  const { body, answer } = exchange;
  const asked = wsmanIn(exchange);
  const answered = asked && wsmanAnswerIn(exchange, asked);
  return {
    sent: asked ? anonymousRequest(asked, anonymiser) : anonymiser.value(jsonOf(body)),
    received: answered ? anonymousAnswer(answered, anonymiser) : answer && answerBody(answer, anonymiser),
  };
}

/** The content of a request to Intel AMT; undefined for other requests. */
function wsmanIn({ method, path, body = "" }: TappedHttp): WsmanRequest | undefined {
  return `${method} ${path}` === WSMAN_REQUEST ? readWsmanRequest(body) : undefined;
}

function wsmanAnswerIn({ answer }: TappedHttp, asked: WsmanRequest): WsmanAnswer | undefined {
  return answer && readWsmanAnswer(answer.body.toString("utf8"), asked);
}

const LONGEST_REASON = 300;
/** A sentence without digits, so that it is no page, dump, serial number, address or token. */
const SENTENCE = /^[A-Za-z .,:;'"()/_-]+$/;

/**
 * A body that is not JSON may contain anything, so only its existence is recorded. The reason of a refusal is kept, like
 * messages in JSON, because the next request depends on it.
 */
function answerBody(
  { body, status }: { readonly body: Buffer; readonly status: number },
  anonymiser: Anonymiser,
) {
  if (body.length === 0) return undefined;
  const json = jsonOf(body);
  if (json !== undefined) return anonymiser.value(json);
  const text = body.length <= LONGEST_REASON ? body.toString().trim() : "";
  return status >= 400 && SENTENCE.test(text) ? anonymiser.text(text) : "";
}

function jsonOf(body: string | Buffer | undefined): unknown {
  if (body === undefined || body.length > LONGEST_BODY) return undefined;
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
