import { type Clock, systemClock } from "../clock.ts";
import { BmcError } from "../contract/bmc-error.ts";
import type { Connection } from "../contract/connection.ts";
import type { PowerState, ProviderName } from "../contract/vocabulary.ts";
import { type Logger, silentLogger } from "../logger.ts";
import { withTimeout } from "../timeout.ts";
import { type Tracer, untraced } from "../tracing/tracer.ts";
import { type Access, BmcLink } from "./link/link.ts";
import { type BootReport, setBoot, UNREAD_OVERRIDE } from "./operations/boot.ts";
import { type ManagerPort, type ManagerResetReport, resetManager } from "./operations/manager.ts";
import { ejectMedia, insertMedia, type MediaPort, type MediaReport, planMedia } from "./operations/media.ts";
import { type NmiPort, type NmiReport, planNmi, sendNmi } from "./operations/nmi.ts";
import { type NtpPort, type NtpReport, planNtp, setNtp } from "./operations/ntp.ts";
import {
  assuming,
  type PowerPort,
  type PowerReport,
  type PowerRequest,
  planPower,
  setPower,
  waitForPower,
} from "./operations/power.ts";
import { planPutUser, putUser } from "./operations/put-user.ts";
import { clearSel, planClearSel, type SelPort, type SelReport } from "./operations/sel.ts";
import { deactivateSol, planSolDeactivation, type SolPort, type SolReport } from "./operations/sol.ts";
import {
  deleteUser,
  planDeleteUser,
  type UserPort,
  type UserReport,
  type UserRequest,
} from "./operations/users.ts";
import type {
  BmcInfo,
  BmcResetKind,
  BmcUser,
  BootOverride,
  BootRequest,
  Capability,
  Hardware,
  MediaState,
  NtpRequest,
  NtpSettings,
  Offer,
  OfferedCapability,
  Screenshot,
  SelEntry,
  Session,
} from "./provider.ts";
import { loadProvider, type ProviderLoader } from "./providers/load.ts";
import { describeSession, type SessionDescription } from "./session-description.ts";

export interface BmcClientOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly loadProvider?: ProviderLoader;
  /** False, for whoever wants to know what works now, takes silence for an answer. Default true. */
  readonly retriesSilence?: boolean;
  /** Is told of every provider that is opened and every request. */
  readonly tracer?: Tracer;
}

/** What would be sent, and the state it would meet. */
export interface Plan<State> {
  readonly before: State;
  readonly steps: readonly string[];
}

/**
 * One BMC. The first operation opens a session with the first provider that answers; sessions are kept until
 * `close`, which must always be called. Operations run one at a time. All errors are `BmcError`s whose message
 * begins with the provider it comes from; an aborted signal rejects with class `cancelled`. What none of the
 * providers can do is `unsupported`, before anything is changed.
 */
export class BmcClient {
  readonly #connection: Connection;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #link: BmcLink;
  /** Resolves when every operation so far has ended; never rejects. */
  #queue: Promise<void> = Promise.resolve();

  constructor(connection: Connection, options: BmcClientOptions = {}) {
    this.#connection = connection;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLogger;
    this.#link = new BmcLink(connection, {
      clock: this.#clock,
      log: this.#log,
      loadProvider: options.loadProvider ?? loadProvider,
      retriesSilence: options.retriesSilence ?? true,
      tracer: options.tracer ?? untraced,
    });
  }

  /** The provider that answered last; undefined while none has, also when none does any more. */
  get provider(): ProviderName | undefined {
    return this.#link.provider;
  }

  /** The user that it logs in as. */
  get username(): string | undefined {
    return this.#connection.username;
  }

  /** Requests (or packets) so far that waited for an answer. */
  get roundTrips(): number {
    return this.#link.roundTrips;
  }

  /** What was learned, for the next connection's `hint`; plain JSON, complete once the client is closed. */
  get hint(): unknown {
    return this.#link.hint;
  }

  readPower(signal: AbortSignal): Promise<PowerState> {
    return this.#run(undefined, signal, ({ read }) => read(({ power }) => power.read(signal)));
  }

  setPower(request: PowerRequest, signal: AbortSignal): Promise<PowerReport> {
    return this.#run(undefined, signal, (access) => setPower(this.#powerPort(access, signal), request));
  }

  /** With a state to assume, which something before would bring about, the present one is not read. */
  planPower(request: PowerRequest, signal: AbortSignal, assumed?: PowerState): Promise<Plan<PowerState>> {
    return this.#run(undefined, signal, (access) => {
      const port = this.#powerPort(access, signal);
      return planPower(assumed === undefined ? port : assuming(port, assumed), request);
    });
  }

  /** Waits until something else has brought the machine there; sends nothing. */
  waitForPower(target: "on" | "off", timeoutMs: number, signal: AbortSignal): Promise<PowerReport> {
    return this.#run(undefined, signal, (access) =>
      waitForPower(this.#powerPort(access, signal), target, timeoutMs),
    );
  }

  readBoot(signal: AbortSignal): Promise<BootOverride> {
    return this.#run(undefined, signal, ({ read }) => read(({ boot }) => boot.read(signal)));
  }

  /** `mode: keep` becomes the connection's boot mode where that says more. */
  setBoot(request: BootRequest, signal: AbortSignal): Promise<BootReport> {
    return this.#run(undefined, signal, ({ read, write, sleep }) =>
      setBoot(
        {
          clock: this.#clock,
          unverified: () => read(async ({ boot }) => boot.unverified),
          read: () => read(({ boot }) => boot.read(signal)),
          write: async (asked) => {
            await write(({ boot }) => boot.write(asked, signal));
            this.#log.debug({ ...asked, provider: this.provider }, "boot override sent");
          },
          sleep,
        },
        this.#withMode(request),
      ),
    );
  }

  /** `assumed` as in `planPower`. */
  planBoot(request: BootRequest, signal: AbortSignal, assumed?: BootOverride): Promise<Plan<BootOverride>> {
    return this.#run(undefined, signal, async ({ read }) => {
      const before =
        assumed ??
        (await read(({ boot }) => (boot.unverified ? Promise.resolve(UNREAD_OVERRIDE) : boot.read(signal))));
      const step = await read(({ boot }) => boot.plan(this.#withMode(request), signal));
      return { before, steps: [step] };
    });
  }

  /** Opens a session where none is, which without a hint proves the credentials, and asks for nothing more. */
  open(signal: AbortSignal): Promise<SessionDescription> {
    return this.#run(undefined, signal, ({ read }) => read(async (session) => describeSession(session)));
  }

  /** Whether the BMC has what cannot be tried out without doing it; throws `unsupported` where it has not. */
  readOffer(capability: OfferedCapability, signal: AbortSignal): Promise<Offer> {
    return this.#run(capability, signal, ({ read }) =>
      read((session) => driver(session, capability).offer(signal)),
    );
  }

  /** Raises a non-maskable interrupt once; the machine must be on. */
  sendNmi(signal: AbortSignal): Promise<NmiReport> {
    return this.#run("nmi", signal, (access) => sendNmi(this.#nmiPort(access, signal)));
  }

  planNmi(signal: AbortSignal): Promise<Plan<PowerState>> {
    return this.#run("nmi", signal, (access) => planNmi(this.#nmiPort(access, signal)));
  }

  readMedia(signal: AbortSignal): Promise<MediaState> {
    return this.#run("media", signal, ({ read }) => read((session) => driver(session, "media").read(signal)));
  }

  /** Ejects what is there, inserts the image, and sees that it is in. */
  insertMedia(url: string, signal: AbortSignal): Promise<MediaReport> {
    return this.#run("media", signal, (access) => insertMedia(this.#mediaPort(access, signal), { url }));
  }

  ejectMedia(signal: AbortSignal): Promise<MediaReport> {
    return this.#run("media", signal, (access) => ejectMedia(this.#mediaPort(access, signal)));
  }

  /** What `insertMedia`, or without a URL `ejectMedia`, would send; `assumed` as in `planPower`. */
  planMedia(
    url: string | undefined,
    signal: AbortSignal,
    assumed?: MediaState,
  ): Promise<Plan<MediaState | undefined>> {
    return this.#run("media", signal, (access) => {
      const port = this.#mediaPort(access, signal);
      const read = assumed === undefined ? port.read : async () => assumed;
      return planMedia({ ...port, read }, url === undefined ? undefined : { url });
    });
  }

  listUsers(signal: AbortSignal): Promise<readonly BmcUser[]> {
    return this.#run("users", signal, ({ read }) => read((session) => driver(session, "users").list(signal)));
  }

  /** Creates the user, or changes the one there is. */
  putUser(request: UserRequest, signal: AbortSignal): Promise<UserReport> {
    return this.#run("users", signal, (access) => putUser(this.#userPort(access, signal), request));
  }

  planPutUser(request: UserRequest, signal: AbortSignal): Promise<Plan<BmcUser | undefined>> {
    return this.#run("users", signal, (access) => planPutUser(this.#userPort(access, signal), request));
  }

  /** Deletes the user; that there is none is success. */
  deleteUser(name: string, signal: AbortSignal): Promise<UserReport> {
    return this.#run("users", signal, (access) => deleteUser(this.#userPort(access, signal), name));
  }

  planDeleteUser(name: string, signal: AbortSignal): Promise<Plan<BmcUser | undefined>> {
    return this.#run("users", signal, (access) => planDeleteUser(this.#userPort(access, signal), name));
  }

  readInfo(signal: AbortSignal): Promise<BmcInfo> {
    return this.#run("manager", signal, ({ read }) =>
      read((session) => driver(session, "manager").info(signal)),
    );
  }

  /** The BMC's clock, milliseconds since the epoch; undefined where it tells none. */
  readClock(signal: AbortSignal): Promise<number | undefined> {
    return this.#run("manager", signal, ({ read }) =>
      read((session) => driver(session, "manager").clockMs(signal)),
    );
  }

  /**
   * Restarts the BMC and waits until it answers again, through the provider that took the reset. `onSent` is called
   * once it is on its way.
   */
  resetManager(
    kind: BmcResetKind,
    timeoutMs: number,
    signal: AbortSignal,
    onSent: () => void = () => undefined,
  ): Promise<ManagerResetReport> {
    return this.#run("manager", signal, ({ write, afresh, sleep }) => {
      let through: ProviderName | undefined;
      const port: ManagerPort = {
        clock: this.#clock,
        reset: () =>
          write((session) => {
            through = session.provider;
            return driver(session, "manager").reset(kind, signal);
          }),
        probe: (limitMs) =>
          withTimeout(limitMs, signal, (limit) => afresh(through, limit, ({ power }) => power.read(limit))),
        sleep,
        onSent,
      };
      return resetManager(port, kind, timeoutMs);
    });
  }

  /** What `resetManager` would send, and what the BMC says of itself. */
  planManagerReset(kind: BmcResetKind, signal: AbortSignal): Promise<Plan<BmcInfo>> {
    return this.#run("manager", signal, async ({ read }) => {
      const step = await read((session) => driver(session, "manager").plan(kind, signal));
      return { before: await read((session) => driver(session, "manager").info(signal)), steps: [step] };
    });
  }

  readNtp(signal: AbortSignal): Promise<NtpSettings> {
    return this.#run("ntp", signal, ({ read }) => read((session) => driver(session, "ntp").read(signal)));
  }

  /** Without servers, those there are stay. */
  setNtp(request: NtpRequest, signal: AbortSignal): Promise<NtpReport> {
    return this.#run("ntp", signal, (access) => setNtp(this.#ntpPort(access, signal), request));
  }

  planNtp(request: NtpRequest, signal: AbortSignal): Promise<Plan<NtpSettings>> {
    return this.#run("ntp", signal, (access) => planNtp(this.#ntpPort(access, signal), request));
  }

  /** Oldest first. */
  listSel(signal: AbortSignal): Promise<readonly SelEntry[]> {
    return this.#run("sel", signal, ({ read }) => read((session) => driver(session, "sel").list(signal)));
  }

  /** Number of entries `listSel` would list, in a few round trips. */
  countSel(signal: AbortSignal): Promise<number> {
    return this.#run("sel", signal, ({ read }) => read((session) => driver(session, "sel").count(signal)));
  }

  clearSel(signal: AbortSignal): Promise<SelReport> {
    return this.#run("sel", signal, (access) => clearSel(this.#selPort(access, signal)));
  }

  /** `before`: how many entries there are. */
  planClearSel(signal: AbortSignal): Promise<Plan<number>> {
    return this.#run("sel", signal, (access) => planClearSel(this.#selPort(access, signal)));
  }

  /** Ends serial-over-LAN sessions that somebody left open; that there is none is success. */
  deactivateSol(signal: AbortSignal): Promise<SolReport> {
    return this.#run("sol", signal, (access) => deactivateSol(this.#solPort(access, signal)));
  }

  /** `before`: the instances in use, undefined where the BMC cannot say. */
  planSolDeactivation(signal: AbortSignal): Promise<Plan<readonly number[] | undefined>> {
    return this.#run("sol", signal, (access) => planSolDeactivation(this.#solPort(access, signal)));
  }

  takeScreenshot(signal: AbortSignal): Promise<Screenshot> {
    return this.#run("screenshot", signal, ({ read }) =>
      read((session) => driver(session, "screenshot").take(signal)),
    );
  }

  planScreenshot(signal: AbortSignal): Promise<Plan<undefined>> {
    return this.#run("screenshot", signal, async ({ read }) => {
      const step = await read((session) => driver(session, "screenshot").plan(signal));
      return { before: undefined, steps: [step] };
    });
  }

  readHardware(signal: AbortSignal): Promise<Hardware> {
    return this.#run("inventory", signal, ({ read }) =>
      read((session) => driver(session, "inventory").read(signal)),
    );
  }

  /** Logs out and frees everything, also in the middle of an operation, for good. Never throws. */
  close(): Promise<void> {
    return this.#link.close();
  }

  #powerPort({ read, write, sleep }: Access, signal: AbortSignal): PowerPort {
    return {
      clock: this.#clock,
      read: () => read(({ power }) => power.read(signal)),
      plan: (command) => read(({ power }) => power.plan(command, signal)),
      send: async (command) => {
        await write(({ power }) => power.send(command, signal));
        this.#log.debug({ command, provider: this.provider }, "power command sent");
      },
      sleep,
    };
  }

  #nmiPort({ read, write }: Access, signal: AbortSignal): NmiPort {
    return {
      readPower: () => read(({ power }) => power.read(signal)),
      plan: () => read((session) => driver(session, "nmi").plan(signal)),
      send: () => write((session) => driver(session, "nmi").send(signal)),
    };
  }

  #ntpPort({ read, write, sleep }: Access, signal: AbortSignal): NtpPort {
    return {
      read: () => read((session) => driver(session, "ntp").read(signal)),
      plan: (asked) => read((session) => driver(session, "ntp").plan(asked, signal)),
      write: (asked) => write((session) => driver(session, "ntp").write(asked, signal)),
      sleep,
    };
  }

  #selPort({ read, write, sleep }: Access, signal: AbortSignal): SelPort {
    return {
      list: () => read((session) => driver(session, "sel").list(signal)),
      plan: () => read((session) => driver(session, "sel").plan(signal)),
      clear: () => write((session) => driver(session, "sel").clear(signal)),
      sleep,
    };
  }

  #solPort({ read, write, sleep }: Access, signal: AbortSignal): SolPort {
    return {
      active: () => read((session) => driver(session, "sol").active(signal)),
      deactivate: (instances) => write((session) => driver(session, "sol").deactivate(signal, instances)),
      sleep,
    };
  }

  #mediaPort({ read, write, sleep }: Access, signal: AbortSignal): MediaPort {
    return {
      unverified: () => read(async (session) => driver(session, "media").unverified),
      read: () => read((session) => driver(session, "media").read(signal)),
      plan: (image) => read((session) => driver(session, "media").plan(image, signal)),
      insert: (image) => write((session) => driver(session, "media").insert(image, signal)),
      eject: () => write((session) => driver(session, "media").eject(signal)),
      sleep,
    };
  }

  #userPort({ read, write, sleep, logInWith }: Access, signal: AbortSignal): UserPort {
    return {
      ownName: this.#connection.username,
      checkUser: ({ name, password }) =>
        read(async (session) =>
          driver(session, "users").checkUser?.({ name, ...(password ? { password } : {}) }),
        ),
      checkRights: () => read(async (session) => driver(session, "users").checkRights?.()),
      list: () => read((session) => driver(session, "users").list(signal)),
      create: (user) => write((session) => driver(session, "users").create(user, signal)),
      change: (user, change) => write((session) => driver(session, "users").change(user, change, signal)),
      remove: (user) => write((session) => driver(session, "users").remove(user, signal)),
      tryPassword: (user, password) =>
        read((session) => driver(session, "users").tryPassword(user, password, signal)),
      logInWith,
      sleep,
    };
  }

  #withMode(request: BootRequest): BootRequest {
    return request.mode === "keep" ? { ...request, mode: this.#connection.bootMode } : request;
  }

  /** Operations on one BMC never overlap: they queue, and a cancelled one leaves the queue at once. */
  async #run<T>(
    capability: Capability | undefined,
    signal: AbortSignal,
    operation: (access: Access) => Promise<T>,
  ): Promise<T> {
    const turn = Promise.withResolvers<void>();
    const onAbort = () => turn.reject(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    const before = this.#queue;
    void before.then(turn.resolve);
    const run = turn.promise.then(() => {
      signal.removeEventListener("abort", onAbort);
      signal.throwIfAborted();
      return this.#link.use(capability, signal, operation);
    });
    const over = run.then(
      () => undefined,
      () => undefined,
    );
    // The next one waits for those before as well, also when this one has left the queue.
    this.#queue = Promise.all([before, over]).then(() => undefined);
    try {
      return await run;
    } catch (thrown) {
      throw signal.aborted ? BmcError.ofAbort(signal) : BmcError.from(thrown);
    }
  }
}

/** The driver of a capability; a session may lack what its provider has where this BMC does not offer it. */
function driver<C extends Capability>(session: Session, capability: C): NonNullable<Session[C]> {
  const found = session[capability];
  if (!found) throw new BmcError("unsupported", `this BMC offers no ${capability}`);
  return found as NonNullable<Session[C]>;
}
