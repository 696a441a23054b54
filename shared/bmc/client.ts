import { type Clock, systemClock } from "../clock.ts";
import type { Connection } from "../contract/connection.ts";
import type { PowerState, ProviderName } from "../contract/vocabulary.ts";
import { type Logger, silentLogger } from "../logger.ts";
import { type BootReport, setBoot, UNREAD_OVERRIDE } from "./boot.ts";
import { BmcError } from "./errors.ts";
import { type Access, BmcLink } from "./link.ts";
import { type ManagerResetReport, resetManager } from "./manager.ts";
import { ejectMedia, insertMedia, type MediaReport } from "./media.ts";
import { type NtpReport, setNtp } from "./ntp.ts";
import { type PowerPort, type PowerReport, type PowerRequest, planPower, setPower } from "./power.ts";
import type {
  BmcInfo,
  BmcResetKind,
  BmcUser,
  BootOverride,
  BootRequest,
  Capability,
  Hardware,
  MediaState,
  NtpSettings,
  Screenshot,
  SelEntry,
  Session,
} from "./provider.ts";
import { loadProvider, type ProviderLoader } from "./providers.ts";
import { clearSel, type SelReport } from "./sel.ts";
import { deleteUser, putUser, type UserReport, type UserRequest } from "./users.ts";

export interface BmcClientOptions {
  readonly clock?: Clock;
  readonly log?: Logger;
  readonly loadProvider?: ProviderLoader;
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
  #queue: Promise<unknown> = Promise.resolve();

  constructor(connection: Connection, options: BmcClientOptions = {}) {
    this.#connection = connection;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log ?? silentLogger;
    this.#link = new BmcLink(connection, {
      clock: this.#clock,
      log: this.#log,
      loadProvider: options.loadProvider ?? loadProvider,
    });
  }

  /** The provider that answered last; undefined while none has, also when none does any more. */
  get provider(): ProviderName | undefined {
    return this.#link.provider;
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

  planPower(request: PowerRequest, signal: AbortSignal): Promise<Plan<PowerState>> {
    return this.#run(undefined, signal, (access) => planPower(this.#powerPort(access, signal), request));
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

  planBoot(request: BootRequest, signal: AbortSignal): Promise<Plan<BootOverride>> {
    return this.#run(undefined, signal, async ({ read }) => {
      const before = await read(({ boot }) =>
        boot.unverified ? Promise.resolve(UNREAD_OVERRIDE) : boot.read(signal),
      );
      const step = await read(({ boot }) => boot.plan(this.#withMode(request), signal));
      return { before, steps: [step] };
    });
  }

  /** Raises a non-maskable interrupt once; the machine must be on. */
  sendNmi(signal: AbortSignal): Promise<void> {
    return this.#run("nmi", signal, async ({ read, write }) => {
      const power = await read((session) => session.power.read(signal));
      if (power === "off") throw new BmcError("state", "the machine is off: nothing would take the NMI");
      await write((session) => driver(session, "nmi").send(signal));
    });
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

  listUsers(signal: AbortSignal): Promise<readonly BmcUser[]> {
    return this.#run("users", signal, ({ read }) => read((session) => driver(session, "users").list(signal)));
  }

  /** Creates the user, or changes the one there is. */
  putUser(request: UserRequest, signal: AbortSignal): Promise<UserReport> {
    return this.#run("users", signal, (access) => putUser(this.#userPort(access, signal), request));
  }

  /** Deletes the user; that there is none is success. */
  deleteUser(name: string, signal: AbortSignal): Promise<UserReport> {
    return this.#run("users", signal, (access) => deleteUser(this.#userPort(access, signal), name));
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

  /** Restarts the BMC and waits until it answers again. */
  resetManager(kind: BmcResetKind, timeoutMs: number, signal: AbortSignal): Promise<ManagerResetReport> {
    return this.#run("manager", signal, (access) => {
      const port = {
        clock: this.#clock,
        reset: () => access.write((session) => driver(session, "manager").reset(kind, signal)),
        probe: () => access.read((session) => session.power.read(signal)),
        drop: access.drop,
        sleep: access.sleep,
      };
      return resetManager(port, kind, timeoutMs);
    });
  }

  readNtp(signal: AbortSignal): Promise<NtpSettings> {
    return this.#run("ntp", signal, ({ read }) => read((session) => driver(session, "ntp").read(signal)));
  }

  setNtp(settings: NtpSettings, signal: AbortSignal): Promise<NtpReport> {
    return this.#run("ntp", signal, ({ read, write, sleep }) =>
      setNtp(
        {
          read: () => read((session) => driver(session, "ntp").read(signal)),
          write: (asked) => write((session) => driver(session, "ntp").write(asked, signal)),
          sleep,
        },
        settings,
      ),
    );
  }

  /** Oldest first. */
  listSel(signal: AbortSignal): Promise<readonly SelEntry[]> {
    return this.#run("sel", signal, ({ read }) => read((session) => driver(session, "sel").list(signal)));
  }

  clearSel(signal: AbortSignal): Promise<SelReport> {
    return this.#run("sel", signal, ({ read, write, sleep }) =>
      clearSel({
        list: () => read((session) => driver(session, "sel").list(signal)),
        clear: () => write((session) => driver(session, "sel").clear(signal)),
        sleep,
      }),
    );
  }

  /** Ends a serial-over-LAN session that somebody left open; that there is none is success. */
  deactivateSol(signal: AbortSignal): Promise<void> {
    return this.#run("sol", signal, ({ write }) =>
      write((session) => driver(session, "sol").deactivate(signal)),
    );
  }

  takeScreenshot(signal: AbortSignal): Promise<Screenshot> {
    return this.#run("screenshot", signal, ({ read }) =>
      read((session) => driver(session, "screenshot").take(signal)),
    );
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

  #mediaPort({ read, write, sleep }: Access, signal: AbortSignal) {
    return {
      unverified: () => read(async (session) => driver(session, "media").unverified),
      read: () => read((session) => driver(session, "media").read(signal)),
      insert: (image: { readonly url: string }) =>
        write((session) => driver(session, "media").insert(image, signal)),
      eject: () => write((session) => driver(session, "media").eject(signal)),
      sleep,
    };
  }

  #userPort({ read, write }: Access, signal: AbortSignal) {
    return {
      ownName: this.#connection.username,
      list: () => read((session) => driver(session, "users").list(signal)),
      create: (user: Parameters<NonNullable<Session["users"]>["create"]>[0]) =>
        write((session) => driver(session, "users").create(user, signal)),
      change: (user: BmcUser, change: Parameters<NonNullable<Session["users"]>["change"]>[1]) =>
        write((session) => driver(session, "users").change(user, change, signal)),
      remove: (user: BmcUser) => write((session) => driver(session, "users").remove(user, signal)),
    };
  }

  #withMode(request: BootRequest): BootRequest {
    return request.mode === "keep" ? { ...request, mode: this.#connection.bootMode } : request;
  }

  /** Operations on one BMC never overlap: they queue, and a cancelled one leaves the queue. */
  async #run<T>(
    capability: Capability | undefined,
    signal: AbortSignal,
    operation: (access: Access) => Promise<T>,
  ): Promise<T> {
    const before = this.#queue;
    const run = (async () => {
      await before.catch(() => undefined);
      signal.throwIfAborted();
      return this.#link.use(capability, signal, operation);
    })();
    this.#queue = run.catch(() => undefined);
    try {
      return await run;
    } catch (thrown) {
      throw BmcError.from(signal.aborted ? signal.reason : thrown);
    }
  }
}

/** The driver of a capability; a session may lack what its provider has where this BMC does not offer it. */
function driver<C extends Capability>(session: Session, capability: C): NonNullable<Session[C]> {
  const found = session[capability];
  if (!found) throw new BmcError("unsupported", `this BMC offers no ${capability}`);
  return found as NonNullable<Session[C]>;
}
