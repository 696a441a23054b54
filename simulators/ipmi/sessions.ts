import { randomBytes, randomInt } from "node:crypto";
import { LEVELS, type UserRow, type UserTable } from "./users.ts";
import { AES_CBC_128, mac, SUITES, type SuiteAlgorithms } from "./wire.ts";

export interface SessionsOptions {
  readonly users: UserTable;
  readonly suites: readonly (3 | 17)[];
  readonly kg: Buffer | undefined;
  readonly guid: Buffer;
  readonly slots: number;
  readonly rakp3Role?: "level" | undefined;
  /** How long a session may be idle before it is closed. */
  readonly idleMs: number;
}

/** A slot of the session table, in use from Open Session on. */
export interface SimulatedSession {
  readonly id: number;
  readonly consoleId: number;
  readonly suite: SuiteAlgorithms;
  readonly suiteId: 3 | 17;
  state: "opened" | "challenged" | "active";
  lastUsedMs: number;
  /** The highest level that the session may reach, and its current level. */
  limit: number;
  level: number;
  /** The user of an active session. */
  username: string;
  k1: Buffer;
  k2: Buffer;
  outgoing: number;
  readonly seen: Set<number>;
  challenge: Challenge | undefined;
}

interface Challenge {
  readonly user: UserRow;
  readonly consoleRandom: Buffer;
  readonly bmcRandom: Buffer;
  readonly role: number;
  readonly name: Buffer;
}

const NO_SLOT = 0x01;
const INVALID_SESSION = 0x02;
const UNAUTHORISED_ROLE = 0x0a;
const UNAUTHORISED_NAME = 0x0d;
const WRONG_CHECK_VALUE = 0x0f;
const NO_SUITE = 0x11;
const USER_LEVEL = 2;

/** The session table, and the BMC's side of Open Session and RAKP 1 to 4. */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #table = new Map<number, SimulatedSession>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /** The number of slots in use, including half-open sessions. */
  get used(): number {
    this.#dropIdle();
    return this.#table.size;
  }

  get active(): number {
    this.#dropIdle();
    return [...this.#table.values()].filter(({ state }) => state === "active").length;
  }

  find(id: number): SimulatedSession | undefined {
    this.#dropIdle();
    return this.#table.get(id);
  }

  /** Drops every session without notice, as a restart does. */
  forgetAll(): void {
    this.#table.clear();
  }

  /** Ends a session. Returns false if there is none. */
  end(id: number): boolean {
    return this.#table.delete(id);
  }

  open(request: Buffer): Buffer | undefined {
    if (request.length !== 32) return undefined;
    const tag = request.readUInt8(0);
    const consoleId = request.readUInt32LE(4);
    const refuse = (status: number) => Buffer.concat([Buffer.from([tag, status, 0, 0]), uint32(consoleId)]);
    const suiteId = this.#options.suites.find((id) => {
      const { authentication, integrity } = SUITES[id];
      return request[12] === authentication && request[20] === integrity && request[28] === AES_CBC_128;
    });
    if (suiteId === undefined) return refuse(NO_SUITE);
    if (this.used >= this.#options.slots) return refuse(NO_SLOT);
    const session = this.#admit(consoleId, suiteId);
    const head = Buffer.from([tag, 0, request.readUInt8(1) || LEVELS.administrator, 0]);
    return Buffer.concat([head, uint32(consoleId), uint32(session.id), request.subarray(8)]);
  }

  rakp1(request: Buffer): Buffer | undefined {
    if (request.length < 28) return undefined;
    const tag = request.readUInt8(0);
    const session = this.find(request.readUInt32LE(4));
    if (session?.state !== "opened") return Buffer.from([tag, INVALID_SESSION, 0, 0, 0, 0, 0, 0]);
    const refuse = (status: number) => {
      this.end(session.id);
      return Buffer.concat([Buffer.from([tag, status, 0, 0]), uint32(session.consoleId)]);
    };
    const role = request.readUInt8(24);
    const name = request.subarray(28, 28 + request.readUInt8(27));
    const user = this.#options.users.find(name.toString());
    if (!user) return refuse(UNAUTHORISED_NAME);
    const level = role & 0x0f;
    if (level > user.level) return refuse(UNAUTHORISED_ROLE);
    session.limit = level;
    session.state = "challenged";
    const consoleRandom = Buffer.from(request.subarray(8, 24));
    const bmcRandom = randomBytes(16);
    session.challenge = { user, consoleRandom, bmcRandom, role, name: Buffer.from(name) };
    const { guid } = this.#options;
    const proven = [uint32(session.consoleId), uint32(session.id), consoleRandom, bmcRandom, guid];
    const code = mac(session.suite, user.key, Buffer.concat([...proven, Buffer.of(role, name.length), name]));
    return Buffer.concat([Buffer.from([tag, 0, 0, 0]), uint32(session.consoleId), bmcRandom, guid, code]);
  }

  /** Handles RAKP 3. Returns undefined if no answer is to be sent. */
  rakp3(request: Buffer): Buffer | undefined {
    if (request.length < 8) return undefined;
    const tag = request.readUInt8(0);
    const session = this.find(request.readUInt32LE(4));
    if (!session || session.state === "active") return undefined;
    if (request.readUInt8(1) !== 0) {
      this.end(session.id);
      return undefined;
    }
    if (!session.challenge) return Buffer.from([tag, INVALID_SESSION, 0, 0, 0, 0, 0, 0]);
    const { user, bmcRandom, consoleRandom, role, name } = session.challenge;
    const identity = Buffer.concat([Buffer.of(role, name.length), name]);
    const userKey = user.key;
    const checkedRole = this.#options.rakp3Role === "level" ? role & 0x0f : role;
    const checked = Buffer.concat([Buffer.of(checkedRole, name.length), name]);
    const expected = mac(
      session.suite,
      userKey,
      Buffer.concat([bmcRandom, uint32(session.consoleId), checked]),
    );
    if (!expected.equals(request.subarray(8))) {
      this.end(session.id);
      return Buffer.concat([Buffer.from([tag, WRONG_CHECK_VALUE, 0, 0]), uint32(session.consoleId)]);
    }
    const sik = mac(
      session.suite,
      this.#options.kg ?? userKey,
      Buffer.concat([consoleRandom, bmcRandom, identity]),
    );
    session.k1 = mac(session.suite, sik, Buffer.alloc(20, 1));
    session.k2 = mac(session.suite, sik, Buffer.alloc(20, 2));
    session.state = "active";
    session.username = user.name;
    const check = mac(
      session.suite,
      sik,
      Buffer.concat([consoleRandom, uint32(session.id), this.#options.guid]),
    );
    return Buffer.concat([
      Buffer.from([tag, 0, 0, 0]),
      uint32(session.consoleId),
      check.subarray(0, session.suite.checkLength),
    ]);
  }

  #admit(consoleId: number, suiteId: 3 | 17): SimulatedSession {
    let id: number;
    do id = randomInt(1, 2 ** 32);
    while (this.#table.has(id));
    const session: SimulatedSession = {
      id,
      consoleId,
      suiteId,
      suite: SUITES[suiteId],
      state: "opened",
      lastUsedMs: Date.now(),
      limit: USER_LEVEL,
      level: USER_LEVEL,
      username: "",
      k1: Buffer.alloc(0),
      k2: Buffer.alloc(0),
      outgoing: 0,
      seen: new Set(),
      challenge: undefined,
    };
    this.#table.set(id, session);
    return session;
  }

  #dropIdle(): void {
    const oldestMs = Date.now() - this.#options.idleMs;
    for (const { id, lastUsedMs } of this.#table.values()) if (lastUsedMs < oldestMs) this.end(id);
  }
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
