import type { Clock } from "../../../clock.ts";
import { BmcError } from "../../../contract/bmc-error.ts";
import type { HttpAnswer, HttpConnection } from "../../http/http-connection.ts";
import { statusError } from "../../http/status-error.ts";
import { leavesOpen, type WriteEffect } from "../../operations/write-proof.ts";
import { authorize, type DigestAccount, type DigestChallenge, parseChallenge } from "./digest.ts";
import { faultError, faultWords } from "./fault.ts";
import {
  enumerateMessage,
  getMessage,
  type InputValue,
  invokeMessage,
  pullMessage,
  putMessage,
  type ResourceClass,
  WSMAN_PATH,
} from "./messages.ts";
import { childOf, childrenOf, findElement, parseXml, type XmlElement } from "./xml.ts";

/** Every enumerated class has at most a dozen instances. */
const MOST_PULLS = 20;

interface Call {
  readonly message: string;
  /** What the call does, for messages. */
  readonly doing: string;
  /** The effect of a write; undefined for a read. */
  readonly effect: WriteEffect | undefined;
}

/** WS-Management to one device with digest authentication. Errors are `BmcError`s, and each call is a single attempt. */
export class WsmanClient {
  readonly #http: HttpConnection;
  readonly #account: DigestAccount;
  readonly #clock: Clock;
  readonly #onAccepted: (() => void) | undefined;
  #challenge: DigestChallenge | undefined;
  /** The number of requests that used the challenge's nonce. */
  #count = 0;

  /** Creates a client. `onAccepted` is called for every change that the device accepts. */
  constructor(http: HttpConnection, account: DigestAccount, clock: Clock, onAccepted?: () => void) {
    this.#http = http;
    this.#account = account;
    this.#clock = clock;
    this.#onAccepted = onAccepted;
  }

  async get(resource: ResourceClass, signal: AbortSignal): Promise<XmlElement> {
    const doing = `Get ${resource}`;
    const body = await this.#call({ message: getMessage(resource), doing, effect: undefined }, signal);
    return this.#expect(body, resource, doing);
  }

  async put(
    resource: ResourceClass,
    fields: readonly (readonly [string, string])[],
    signal: AbortSignal,
  ): Promise<void> {
    const message = putMessage(resource, fields);
    await this.#call({ message, doing: `Put ${resource}`, effect: "setting" }, signal);
    this.#onAccepted?.();
  }

  /** Returns all instances of a class. */
  async enumerate(resource: ResourceClass, signal: AbortSignal): Promise<readonly XmlElement[]> {
    const doing = `Enumerate ${resource}`;
    const started = await this.#call(
      { message: enumerateMessage(resource), doing, effect: undefined },
      signal,
    );
    let context = findElement(started, "EnumerationContext")?.text;
    const instances: XmlElement[] = [];
    for (let pulls = 0; context; pulls++) {
      if (pulls === MOST_PULLS) throw new BmcError("protocol", `${doing} did not finish`);
      const pulled = await this.#call(
        { message: pullMessage(resource, context), doing, effect: undefined },
        signal,
      );
      const response = this.#expect(pulled, "PullResponse", doing);
      instances.push(...childrenOf(childOf(response, "Items"), resource));
      context = childOf(response, "EndOfSequence")
        ? undefined
        : childOf(response, "EnumerationContext")?.text;
    }
    return instances;
  }

  /** Calls a method. Returns its output; the caller checks the `ReturnValue`. */
  async invoke(
    resource: ResourceClass,
    method: string,
    input: Readonly<Record<string, InputValue>>,
    effect: WriteEffect,
    signal: AbortSignal,
  ): Promise<XmlElement> {
    const message = invokeMessage(resource, method, input);
    const body = await this.#call({ message, doing: method, effect }, signal);
    const output = this.#expect(body, `${method}_OUTPUT`, method, true);
    if (childOf(output, "ReturnValue")?.text === "0") this.#onAccepted?.();
    return output;
  }

  #expect(body: XmlElement, name: string, doing: string, isWrite = false): XmlElement {
    const found = childOf(body, name);
    if (found) return found;
    throw new BmcError("protocol", `${doing} was answered without ${name}`, { uncertain: isWrite });
  }

  async #call(call: Call, signal: AbortSignal): Promise<XmlElement> {
    const { doing, effect } = call;
    const isWrite = effect !== undefined;
    const answer = await this.#sendAuthorized(call, signal);
    let body: XmlElement | undefined;
    try {
      body = readBody(answer);
    } catch (thrown) {
      if (answer.status < 300) throw describe(thrown, doing, isWrite);
    }
    const fault = childOf(body, "Fault");
    // A fault says more than its status, which is 400 or 500 for all of them.
    if (fault && ![401, 403, 429, 503].includes(answer.status)) throw faultError(fault, doing, effect);
    if (answer.status >= 300) {
      throw statusError(answer, doing, faultWords(fault), { effect, nowMs: this.#clock.now() });
    }
    if (body) return body;
    throw new BmcError("protocol", `${doing} was answered without a SOAP body`, { uncertain: isWrite });
  }

  /** Sends a call. A refused request was not carried out, so it is sent once more if the refusal requests a new digest. */
  async #sendAuthorized(call: Call, signal: AbortSignal): Promise<HttpAnswer> {
    const used = this.#challenge;
    const answer = await this.#send(call, signal);
    if (answer.status !== 401) return answer;
    this.#challenge = parseChallenge(answer.headers["www-authenticate"]);
    this.#count = 0;
    if (!this.#challenge) {
      throw new BmcError("protocol", `${call.doing} answered 401 without a digest challenge`, {
        uncertain: leavesOpen("http", 401, call.effect),
      });
    }
    if (used && !this.#challenge.stale && this.#challenge.nonce === used.nonce) throw this.#refused(call);
    // The digest was accepted a moment ago, so only the machine shows whether the command was carried out.
    if (used && call.effect === "command") {
      const message = `${call.doing} answered 401: the device asks for a new digest`;
      throw new BmcError("busy", message, { uncertain: true });
    }
    const again = await this.#send(call, signal);
    if (again.status === 401) throw this.#refused(call);
    return again;
  }

  #refused({ doing, effect }: Call): BmcError {
    return new BmcError("auth", `${doing}: the device refused the user name or the password`, {
      uncertain: leavesOpen("http", 401, effect),
    });
  }

  #send({ message, doing, effect }: Call, signal: AbortSignal): Promise<HttpAnswer> {
    const challenge = this.#challenge;
    const authorized = () => {
      if (!challenge) return {};
      const use = { method: "POST", uri: WSMAN_PATH, count: ++this.#count };
      return { authorization: authorize(challenge, this.#account, use) };
    };
    const headers = { "content-type": "application/soap+xml; charset=UTF-8" };
    return this.#http.send(
      {
        method: "POST",
        path: WSMAN_PATH,
        headers,
        authorize: authorized,
        body: message,
        doing,
        isWrite: effect !== undefined,
      },
      signal,
    );
  }
}

/** Returns the SOAP body; undefined if there is none. */
function readBody(answer: HttpAnswer): XmlElement | undefined {
  if (answer.body.length === 0) return undefined;
  const root = parseXml(answer.body.toString("utf8"));
  return root.name === "Envelope" ? childOf(root, "Body") : undefined;
}

function describe(thrown: unknown, doing: string, isWrite: boolean): BmcError {
  const error = BmcError.from(thrown);
  return new BmcError(error.class, `${doing}: ${error.message}`, { cause: error, uncertain: isWrite });
}
