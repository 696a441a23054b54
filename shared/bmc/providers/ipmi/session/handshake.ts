import { randomBytes } from "node:crypto";
import { BmcError } from "../../../../contract/bmc-error.ts";
import type { Logger } from "../../../../logger.ts";
import { TimeoutReached } from "../../../../timeout.ts";
import type { Privilege } from "../commands/command.ts";
import { closeSession } from "../commands/command.ts";
import type { Credentials } from "../commands/credentials.ts";
import { type CipherSuite, type CipherSuiteId, type SuitePlan, suite3Remedy } from "./cipher-suite.ts";
import { HandshakeLink, type HandshakeOptions, matchAnswer } from "./handshake-link.ts";
import {
  forgotSession,
  handshakeError,
  refusesSuite,
  STATUS_INSUFFICIENT_RESOURCES,
  STATUS_INVALID_INTEGRITY_CHECK,
  STATUS_OK,
} from "./handshake-status.ts";
import { buildLanRequest } from "./message.ts";
import { type Opened, Opening } from "./opening.ts";
import { passwordForms } from "./quirks.ts";
import {
  buildRakp1,
  buildRakp3,
  deriveKeys,
  parseRakp2,
  provesKeys,
  provesPassword,
  type Rakp2,
  type Rakp3Role,
  type RakpExchange,
  roleByte,
  type SessionKeys,
} from "./rakp.ts";
import { waitAfterCopyMs } from "./retransmission.ts";
import { PayloadType } from "./rmcp.ts";
import { sealMessage } from "./sealed-packet.ts";

export interface HandshakeRequest {
  readonly credentials: Credentials;
  readonly privilege: Privilege;
  readonly suites: SuitePlan;
  /** The time limit of the whole handshake, including repetitions. */
  readonly limitMs: number;
}

/** A session that both sides have proven to each other. It begins at privilege level USER. */
export interface Established {
  readonly suite: CipherSuite;
  readonly consoleId: number;
  readonly bmcId: number;
  readonly keys: SessionKeys;
  /** The number of round trips. */
  readonly flights: number;
  /** The suite to begin with next time; undefined if this one was chosen because of silence, which may be chance. */
  readonly preferredSuite: CipherSuiteId | undefined;
}

/** Pauses before the handshakes that follow one that the BMC has forgotten. After them, the BMC's answer counts. */
const FORGOTTEN_PAUSES_MS = [100, 300, 900] as const;

interface ShakeHandsOptions extends HandshakeOptions {
  readonly log: Logger;
}

/**
 * Performs Open Session and RAKP 1 to 4 in three round trips (IPMI 2.0 section 13.15), and starts again if a message is
 * lost. Throws `BmcError`s. A failed handshake frees the BMC's session slot.
 */
export async function shakeHands(
  request: HandshakeRequest,
  options: ShakeHandsOptions,
): Promise<Established> {
  const { log } = options;
  const link = new HandshakeLink(options, request.limitMs);
  const opening = new Opening(link, log, request.privilege, request.suites);
  let doubted: BmcError | undefined;
  let counts: Rakp3Role = "whole";
  try {
    for (let attempt = 0, forgotten = 0; ; attempt += 1) {
      const opened = await opening.open();
      const outcome = await new Authentication(link, log, request, { opened, attempt, counts }).run();
      if (outcome instanceof HandshakeDoubted) {
        const { doubt, refusal } = outcome;
        log.debug({ attempt, doubt, reason: refusal.message }, "IPMI handshake refused, trying another form");
        const hasOther = doubt === "suite" ? opening.leave(opened.suite) : counts === "whole";
        if (!hasOther) throw refusal;
        if (doubt === "suite") doubted = refusal;
        else counts = "level";
        continue;
      }
      if (outcome instanceof HandshakeLost) {
        log.debug({ attempt, reason: outcome.message }, "IPMI handshake lost, restarting");
        // A lost message has already taken its whole wait. A BMC that answers immediately would be asked forever.
        if (!outcome.refusal) continue;
        const pauseMs = FORGOTTEN_PAUSES_MS[forgotten];
        forgotten += 1;
        if (pauseMs === undefined || pauseMs >= link.leftMs) throw outcome.refusal;
        await options.clock.sleep(pauseMs, options.signal);
        continue;
      }
      const keys = outcome;
      const { suite, consoleId, bmcId } = opened;
      const preferredSuite = opening.preferred(suite);
      return { suite, consoleId, bmcId, keys, flights: link.flights, preferredSuite };
    }
  } catch (thrown) {
    await opening.settle();
    // The other suite did not help, so the BMC's answer about the first one counts.
    if (doubted && BmcError.from(thrown).class === "unsupported") throw doubted;
    throw thrown instanceof TimeoutReached ? link.timedOut(thrown) : thrown;
  }
}

/** Internal: the BMC is silent or has forgotten the session. */
class HandshakeLost extends Error {
  /** The BMC's answer; undefined if it was silent. */
  readonly refusal: BmcError | undefined;

  constructor(message: string, refusal?: BmcError) {
    super(message);
    this.refusal = refusal;
  }
}

/** Internal: the BMC refuses something that it may accept with another suite, or with another form of the role. */
class HandshakeDoubted extends Error {
  readonly doubt: "suite" | "role";
  readonly refusal: BmcError;

  constructor(doubt: "suite" | "role", refusal: BmcError) {
    super(refusal.message);
    this.doubt = doubt;
    this.refusal = refusal;
  }
}

interface Attempt {
  readonly opened: Opened;
  /** Counts from 0. */
  readonly attempt: number;
  readonly counts: Rakp3Role;
}

/** RAKP 1 to 4 over one opened slot. */
class Authentication {
  readonly #link: HandshakeLink;
  readonly #log: Logger;
  readonly #request: HandshakeRequest;
  readonly #opened: Opened;
  readonly #counts: Rakp3Role;
  readonly #windowMs: number;

  constructor(
    link: HandshakeLink,
    log: Logger,
    request: HandshakeRequest,
    { opened, attempt, counts }: Attempt,
  ) {
    this.#link = link;
    this.#log = log;
    this.#request = request;
    this.#opened = opened;
    this.#counts = counts;
    // A RAKP message is not repeated; the handshake begins again instead. A slow BMC therefore gets the time that it has needed
    // so far, and more with every attempt.
    this.#windowMs = Math.max(waitAfterCopyMs(attempt), 3 * opened.answeredAfterMs);
  }

  /** The session's keys, or the reason why another handshake may succeed. */
  async run(): Promise<SessionKeys | HandshakeLost | HandshakeDoubted> {
    const { suite, consoleId, bmcId } = this.#opened;
    const { credentials, privilege } = this.#request;
    let refusal = STATUS_INSUFFICIENT_RESOURCES;
    let keys: SessionKeys | undefined;
    try {
      const role = roleByte(privilege);
      const mine = { consoleId, bmcId, consoleRandom: randomBytes(16), role, username: credentials.username };
      const { bmcRandom, guid, authCode } = await this.#rakp1(mine);
      const exchange: RakpExchange = { ...mine, bmcRandom, guid };
      if (authCode.every((byte) => byte === 0)) throw new HandshakeDoubted("suite", this.#uselessSuite());
      const kuid = this.#provenPassword(exchange, authCode);
      if (!kuid) {
        refusal = STATUS_INVALID_INTEGRITY_CHECK;
        throw new BmcError("auth", "wrong password (RAKP2 does not match)");
      }
      keys = deriveKeys(suite, credentials.kg ?? kuid, exchange);
      const proof = await this.#rakp3(exchange, kuid);
      if (provesKeys(suite, keys.sik, exchange, proof)) return keys;
      // The password is proven, so only the BMC key can differ. A BMC without one uses the password instead, and accepts Close
      // Session under the resulting keys.
      const withoutKg = deriveKeys(suite, kuid, exchange);
      keys = provesKeys(suite, withoutKg.sik, exchange, proof) ? withoutKg : undefined;
      throw new BmcError("auth", `${wrongKg(credentials.kg, keys)} (RAKP4 does not match)`);
    } catch (thrown) {
      if (keys) this.#closeUnheard(keys);
      this.#link.abandon(bmcId, refusal);
      if (thrown instanceof HandshakeLost || thrown instanceof HandshakeDoubted) return thrown;
      throw thrown;
    }
  }

  async #rakp1(mine: Omit<RakpExchange, "bmcRandom" | "guid">): Promise<Rakp2> {
    const tag = this.#link.nextTag();
    const message = buildRakp1({ ...mine, tag });
    const answer = await this.#ask("RAKP1", tag, PayloadType.rakp1, message);
    const rakp2 = parseRakp2(answer, this.#opened.suite);
    if (!rakp2) throw new BmcError("protocol", "RAKP2: the answer is malformed");
    return rakp2;
  }

  /** The key of the password in the form that the BMC proved to have; undefined if it has another password. */
  #provenPassword(exchange: RakpExchange, authCode: Buffer): Buffer | undefined {
    const { password } = this.#request.credentials;
    for (const { name, key } of passwordForms(password)) {
      const kuid = key(password);
      if (!provesPassword(this.#opened.suite, kuid, exchange, authCode)) continue;
      if (name !== "standard") this.#log.warn({ quirk: name }, "BMC altered the password");
      return kuid;
    }
    return undefined;
  }

  async #rakp3(exchange: RakpExchange, kuid: Buffer): Promise<Buffer> {
    const tag = this.#link.nextTag();
    const message = buildRakp3(this.#opened.suite, kuid, exchange, { tag, counts: this.#counts });
    return this.#ask("RAKP3", tag, PayloadType.rakp3, message);
  }

  /** Sends one message. Returns the payload of its answer, whose type is the next one. */
  async #ask(name: string, tag: number, type: number, message: Buffer): Promise<Buffer> {
    const link = this.#link;
    const { consoleId } = this.#opened;
    const { leftMs } = link;
    const limitMs = Math.min(this.#windowMs, leftMs);
    try {
      const { status, payload } = await link.ask(
        { name, type },
        () => link.send(type, message),
        (datagram) => matchAnswer(datagram, type + 1, { tag, consoleId }),
        { limitMs, repeat: false },
      );
      if (forgotSession(status)) throw new HandshakeLost("forgotten", handshakeError(name, status));
      if (refusesSuite(name, status)) throw new HandshakeDoubted("suite", handshakeError(name, status));
      if (type === PayloadType.rakp3 && status === STATUS_INVALID_INTEGRITY_CHECK)
        throw new HandshakeDoubted("role", refusedProof());
      if (status !== STATUS_OK) throw handshakeError(name, status);
      return payload;
    } catch (thrown) {
      if (thrown instanceof TimeoutReached && limitMs < leftMs) throw new HandshakeLost(`${name}: no answer`);
      throw thrown;
    }
  }

  #uselessSuite(): BmcError {
    const { asked, allowed } = this.#request.suites;
    const isForbidden = asked.some(({ id }) => !allowed.has(id));
    const way = isForbidden ? `; ${suite3Remedy("ipmi")}` : "";
    const reason = `the BMC takes cipher suite ${this.#opened.suite.id}, but its key exchange code is all zeros`;
    return new BmcError("unsupported", `RAKP2: ${reason}${way}`);
  }

  /** Closes a session that the BMC may have: RAKP3 may have arrived, and only RAKP4 may be lost. */
  #closeUnheard(keys: SessionKeys): void {
    const { suite, bmcId } = this.#opened;
    const message = buildLanRequest({ ...closeSession(bmcId), sequence: 0 });
    this.#link.transport.send(sealMessage({ suite, keys, sessionId: bmcId }, 1, message, randomBytes(16)));
  }
}

/** The BMC's refusal of RAKP3. RAKP2 has proven that the BMC knows the password, so it does not concern the password. */
function refusedProof(): BmcError {
  const reason = "the BMC refuses the proof of a password that it has proven itself (status 0x0F)";
  return new BmcError("protocol", `RAKP3: ${reason}`);
}

function wrongKg(given: Buffer | undefined, keysWithoutKg: SessionKeys | undefined): string {
  if (!given) return "the BMC has a key Kg, which is not configured";
  return keysWithoutKg ? "a BMC key Kg is set, but the BMC has none" : "wrong BMC key Kg";
}
