import { BmcError } from "../../contract/bmc-error.ts";
import { count } from "../../count.ts";
import { neverAborted } from "../../never-aborted.ts";
import { defineOperations, type Plan, type Run, type SessionBase } from "./access.ts";
import { type Finding, ok, warning } from "./finding.ts";
import { planPutUser, putUser } from "./put-user.ts";
import { awaitState, caught, READ_BACK_MS } from "./read-back.ts";
import { incompleteList } from "./unread.ts";
import {
  type BmcUser,
  findUser,
  isGone,
  listUsers,
  mayBe,
  type UserDriver,
  type UserPort,
  type UserReport,
  type UserRequest,
  unreadOf,
  userPort,
} from "./user-port.ts";

type UserDrivers = { readonly users: UserDriver };

export const userOperations = defineOperations({
  title: "users",
  methods: (run: Run<UserDrivers>) => ({
    /** Lists the BMC's users. */
    listUsers: (signal: AbortSignal = neverAborted()): Promise<readonly BmcUser[]> =>
      run(signal, (access) => userPort(access, signal).list()),

    /** Creates the user or changes the existing one, and verifies role and password where the BMC allows it. */
    putUser: (request: UserRequest, signal: AbortSignal = neverAborted()): Promise<UserReport> =>
      run(signal, (access) => putUser(userPort(access, signal), request)),

    /** What `putUser` would send. */
    planPutUser: (
      request: UserRequest,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<BmcUser | undefined>> =>
      run(signal, (access) => planPutUser(userPort(access, signal), request)),

    /** Deletes the user, until the list no longer shows it; that there is none is success. */
    deleteUser: (name: string, signal: AbortSignal = neverAborted()): Promise<UserReport> =>
      run(signal, (access) => deleteUser(userPort(access, signal), name)),

    /** What `deleteUser` would send. */
    planDeleteUser: (
      name: string,
      signal: AbortSignal = neverAborted(),
    ): Promise<Plan<BmcUser | undefined>> =>
      run(signal, (access) => planDeleteUser(userPort(access, signal), name)),
  }),
  check: ({ connection: { username }, read }, signal) =>
    read(async (session) => judge(username, session, await listUsers(session.users, username, signal))),
});

const NEEDS = "to change users needs administrator";

/** Judges the connection's rights, because listing users needs fewer rights than changing them. */
function judge(
  ownName: string | undefined,
  { privilege }: Pick<SessionBase, "privilege">,
  users: readonly BmcUser[],
): Finding {
  const read = users.filter(({ unread }) => unread === undefined);
  const gaps = users.length === read.length ? "" : `, ${users.length - read.length} not read`;
  const counted = count(read.length, "user") + gaps;
  const own = users.find(({ name }) => name === ownName);
  if (own && ["operator", "readonly", "none"].includes(own.role)) {
    return warning("auth", `${counted}; ${own.name} is ${own.role}, ${NEEDS}`);
  }
  if (privilege !== undefined && privilege !== "administrator") {
    return warning("auth", `${counted}; the session is ${privilege}, ${NEEDS} (option privilege)`);
  }
  return ok(counted);
}

async function deleteUser(port: UserPort, name: string): Promise<UserReport> {
  const before = await userToDelete(port, name);
  if (!before) return { changed: false, summary: `user ${name} already absent` };
  let left: BmcUser | undefined = before;
  for (let attempt = 1; ; attempt += 1) {
    const target: BmcUser = left;
    const isDone = async () => findUser(await port.list(), name) === undefined;
    const failure = await caught(() => port.remove(target, { isDone }));
    if (failure && ["cancelled", "internal", "tls", "usage"].includes(failure.class)) throw failure;
    left = await userLeft(port, before).catch((thrown: unknown) => {
      throw failure ?? thrown;
    });
    if (left?.unread !== undefined && left.id !== before.id) {
      throw incompleteList(`whether user ${name} is deleted is not known`, unreadOf([left]));
    }
    if (!left) return { before, changed: true, summary: `user ${name} deleted` };
    if (failure && (attempt > 1 || !failure.uncertain)) throw failure;
    if (failure) continue;
    throw new BmcError("verify", `the BMC accepted the deletion of user ${name} and still lists it`);
  }
}

async function planDeleteUser(port: UserPort, name: string): Promise<Plan<BmcUser | undefined>> {
  const before = await userToDelete(port, name);
  return { before, steps: before ? [`delete user ${name}`] : [] };
}

async function userToDelete(port: UserPort, name: string): Promise<BmcUser | undefined> {
  if (name === port.ownName) {
    throw new BmcError(
      "usage",
      `user ${name} is the one this connection logs in as: it does not delete itself`,
    );
  }
  await port.checkUser({ name });
  const existing = findUser(await port.list(), name);
  if (existing) await port.checkRights();
  return existing;
}

/** Finds the user, or an unreadable account that may be this user; undefined if the BMC lists neither. */
async function userLeft(port: UserPort, before: BmcUser): Promise<BmcUser | undefined> {
  const look = async () =>
    (await port.list()).find((user) =>
      user.unread === undefined ? user.name === before.name && !isGone(user) : mayBe(before, user),
    );
  return awaitState(READ_BACK_MS.account, port, look, (left) => !left);
}
