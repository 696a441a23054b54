import { BmcError } from "../../contract/bmc-error.ts";
import { defined } from "../../defined.ts";
import type { Plan } from "./access.ts";
import { awaitState, caught, type Delays, READ_BACK_MS } from "./read-back.ts";
import {
  type BmcUser,
  findUser,
  HalfDone,
  isGone,
  type PasswordTrial,
  type UserChange,
  type UserPort,
  type UserReport,
  type UserRequest,
} from "./user-port.ts";

/** The state of the user at the BMC. */
interface Sight {
  readonly user?: BmcUser | undefined;
  /** A deleted user whose name the BMC has kept. It is reused like any other user. */
  readonly husk?: BmcUser | undefined;
  /** The result of a login with the new password; absent if none was tried. */
  readonly password?: PasswordTrial | undefined;
  /** What differs from the request. */
  readonly shortfall?: string | undefined;
}

/**
 * Creates or changes a user and verifies it: the list shows it, and the BMC accepts its password where it offers a way to try
 * one. Sends only what differs. After anything was sent, an error is certain only if the password is known not to be in force.
 * Every other error is `uncertain`, so that the caller keeps the new password.
 */
export async function putUser(port: UserPort, request: UserRequest): Promise<UserReport> {
  let sight = await firstSight(port, request);
  const before = sight.user;
  let change = missing(port, request, sight);
  if (isNothing(change)) return report(request, before, sight, false);
  await port.checkRights();
  for (let attempt = 1; ; attempt += 1) {
    const failure = await caught(() => write(port, request, sight, change));
    if (failure && (isBeforeSending(failure) || isPlainRefusal(failure, request))) {
      throw attempt > 1 ? inDoubt(failure) : failure;
    }
    const delaysMs = failure && !failure.uncertain ? AT_ONCE : READ_BACK_MS.account;
    const seen = await look(port, request, delaysMs).catch((thrown: unknown) => {
      throw inDoubt(failure ? unread(failure, thrown) : thrown);
    });
    // After a failure, set a password again if it could not be tried, which is harmless.
    if (seen.shortfall === undefined && !(failure && seen.password === "unknown")) {
      // Some BMCs refuse a password that is already in use, so an earlier call may have set it.
      const isOld = failure && !failure.uncertain && request.mayBeSet === true;
      return report(request, before, seen, !isOld);
    }
    if (!failure) throw inDoubt(new BmcError("verify", seen.shortfall ?? ""));
    const isRefused = !failure.uncertain || (failure instanceof HalfDone && !failure.rest.uncertain);
    if (isRefused || attempt > 1 || (request.mustExist && !seen.user)) {
      throw proven(port, request, seen, failure);
    }
    sight = seen;
    change = missing(port, request, sight);
    if (isNothing(change)) throw inDoubt(failure);
  }
}

/** The error of an incomplete write, which says whether the password is known to be set. */
function proven(
  port: UserPort,
  request: UserRequest,
  { user, password }: Sight,
  failure: BmcError,
): BmcError {
  if (!request.password) return failure;
  if (password === "accepted") return failure instanceof HalfDone ? failure : new HalfDone(failure);
  if (password === "unknown" || (user && password === undefined)) return inDoubt(failure);
  port.disprove();
  return new BmcError(failure.class, failure.message, { cause: failure });
}

/** Whether the write was never sent, or the call was cancelled. */
function isBeforeSending({ class: errorClass }: BmcError): boolean {
  return ["cancelled", "internal", "tls", "usage"].includes(errorClass);
}

/**
 * Whether the BMC simply refuses the value, such as a password that is too short, so that no reading is needed. It is needed if
 * the caller would lose a password that may be in force: after an uncertain answer, or if an earlier call may have set it.
 */
function isPlainRefusal({ class: errorClass, uncertain }: BmcError, { mayBeSet }: UserRequest): boolean {
  return errorClass === "bmc" && !uncertain && mayBeSet === undefined;
}

/** The delays after a refusal. One reading is enough, because nothing is in progress, and each reading costs a login. */
const AT_ONCE = [0] as const;

/** The error of a failed write whose result cannot be read. */
function unread(failure: BmcError, thrown: unknown): BmcError {
  const message = `${failure.message}; whether the BMC has changed the user cannot be read: ${BmcError.from(thrown).message}`;
  return new BmcError(failure.class, message, { cause: failure });
}

export async function planPutUser(port: UserPort, request: UserRequest): Promise<Plan<BmcUser | undefined>> {
  await port.checkUser(request);
  const sight = sightOf(await port.list(), request);
  const { password, role } = missing(port, request, sight);
  const { name } = request;
  const before = sight.user;
  if (password || role) await port.checkRights();
  if (!before) return { before, steps: [`create user ${name} as ${role}`] };
  const changes = [...(password ? ["set its password"] : []), ...(role ? [`make it ${role}`] : [])];
  return { before, steps: changes.map((step) => `user ${name}: ${step}`) };
}

/**
 * Reads the user before anything is sent. If an earlier call was cut off, it may have changed the connection's own password.
 * Only then is a refused login followed by one with the new password.
 */
async function firstSight(port: UserPort, request: UserRequest): Promise<Sight> {
  try {
    await port.checkUser(request);
    return sightOf(await port.list(), request);
  } catch (thrown) {
    const mayHelp = BmcError.from(thrown).class === "auth" && request.mayBeSet && changesOwn(port, request);
    const users = mayHelp ? await listAnew(port, request) : undefined;
    if (!users) throw thrown;
    return { ...sightOf(users, request), password: "accepted" };
  }
}

/** The changes to send. Throws `usage` if the request is impossible. */
function missing(port: UserPort, request: UserRequest, sight: Sight): UserChange {
  const { name, password, role, mustExist } = request;
  const { user } = sight;
  if (!user) {
    if (!mustExist && password && role) return { password, role };
    const why = mustExist ? "nothing was changed" : "a new one needs a password and a role";
    throw new BmcError("usage", `there is no user ${name}: ${why}`);
  }
  const newPassword = sight.password === "accepted" ? undefined : password;
  // A role is in force only for an enabled user.
  const newRole = user.role === role && user.enabled ? undefined : role;
  if (newPassword && newRole && changesOwn(port, request)) {
    throw new BmcError(
      "usage",
      `user ${name} is the one this connection logs in as: change its role and its password in two steps`,
    );
  }
  return defined({ password: newPassword, role: newRole });
}

function isNothing({ password, role }: UserChange): boolean {
  return password === undefined && role === undefined;
}

async function write(
  port: UserPort,
  { name }: UserRequest,
  { user, husk }: Sight,
  change: UserChange,
): Promise<void> {
  const existing = user ?? husk;
  if (existing) {
    // Do not try the password before each retry, because failed logins lock accounts.
    const isDone = async () => {
      const found = findUser(await port.list(), name);
      return change.password === undefined && found?.enabled === true && found.role === change.role;
    };
    await port.change(existing, change, { isDone });
  } else if (change.password && change.role) {
    const isDone = async () => findUser(await port.list(), name) !== undefined;
    await port.create({ name, password: change.password, role: change.role }, { isDone });
  }
}

/** Reads the user until it matches the request or the delays are used up. */
async function look(port: UserPort, request: UserRequest, delaysMs: Delays): Promise<Sight> {
  const isDone = ({ shortfall }: Sight) => shortfall === undefined;
  const sight = await awaitState(delaysMs, port, () => glance(port, request), isDone);
  return sight.password === "refused" && changesOwn(port, request) ? ownRefused(port, request) : sight;
}

async function glance(port: UserPort, request: UserRequest): Promise<Sight> {
  const { name, password, role } = request;
  const isOwn = changesOwn(port, request);
  const users = isOwn ? await listAnew(port, request) : await port.list();
  if (!users) return { password: "refused", shortfall: `the BMC refuses the new password of user ${name}` };
  const sight = sightOf(users, request);
  const { user } = sight;
  if (!user) return { ...sight, shortfall: `the BMC accepted user ${name} and does not list it` };
  const trial = password && (isOwn ? "accepted" : await port.tryPassword(user, password));
  return { ...sight, password: trial, shortfall: shortfallOf(user, role, trial) };
}

function shortfallOf(user: BmcUser, role: UserRequest["role"], trial: Sight["password"]): string | undefined {
  const asked = `asked for user ${user.name} as ${role}, the BMC`;
  if (role && user.role !== role) {
    return `${asked} ${user.role === "unknown" ? "shows another role" : `has it as ${user.role}`}`;
  }
  if (role && !user.enabled) return `${asked} keeps it disabled`;
  if (trial !== "refused") return undefined;
  return `the BMC accepted a new password of user ${user.name} and does not have it`;
}

/** Lists the users after a login with the new password; undefined if it is refused, after which the old one is used again. */
async function listAnew(port: UserPort, { password }: UserRequest): Promise<readonly BmcUser[] | undefined> {
  await port.logInWith(password);
  try {
    return await port.list();
  } catch (thrown) {
    if (BmcError.from(thrown).class !== "auth") throw thrown;
    await port.logInWith(undefined);
    return undefined;
  }
}

/** Logs in once with the old password, to find out which one is in force after the connection's own new one was refused. */
async function ownRefused(port: UserPort, request: UserRequest): Promise<Sight> {
  const { name } = request;
  try {
    const sight = sightOf(await port.list(), request);
    const shortfall = `the BMC accepted a new password of user ${name} and keeps the old one`;
    return { ...sight, password: "refused", shortfall };
  } catch (thrown) {
    const error = BmcError.from(thrown);
    if (error.class !== "auth") throw thrown;
    const message = `the BMC accepted a new password of user ${name} and now refuses it and the old one`;
    throw new BmcError("verify", message, { cause: error });
  }
}

function sightOf(users: readonly BmcUser[], { name }: UserRequest): Sight {
  return {
    user: findUser(users, name),
    husk: users.find((user) => user.name === name && isGone(user)),
  };
}

function changesOwn({ ownName }: UserPort, { name, password }: UserRequest): boolean {
  return name === ownName && password !== undefined;
}

function report(
  request: UserRequest,
  before: BmcUser | undefined,
  { user: after, password }: Sight,
  changed: boolean,
): UserReport {
  const { name, role } = request;
  const as = role ? ` as ${role}` : "";
  const proofs = {
    accepted: ", its password works",
    refused: "",
    unknown: ", its password could not be tried",
  };
  const done = !changed ? `already there${as}` : `${before ? "updated" : "created"}${as}`;
  const summary = `user ${name} ${done}${password ? proofs[password] : ""}`;
  return { ...defined({ before, after }), changed, summary };
}

/** Marks an error after a write as uncertain, so that the write is not tried with another provider. */
function inDoubt(thrown: unknown): BmcError {
  const error = BmcError.from(thrown);
  const errorClass = error.class === "unsupported" ? "verify" : error.class;
  return new BmcError(errorClass, error.message, { cause: error, uncertain: true });
}
