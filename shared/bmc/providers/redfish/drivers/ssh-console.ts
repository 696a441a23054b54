import { createHash } from "node:crypto";
import { createConnection, type Socket } from "node:net";
import ssh2, { type AuthHandlerMiddleware, type Client, type ClientChannel } from "ssh2";
import { BmcError } from "../../../../contract/bmc-error.ts";
import { connectionLine, type NameOption } from "../../../../contract/name-option.ts";
import { foldLine } from "../../../../contract/result.ts";
import { shortened } from "../../../../printable.ts";
import type { Secret } from "../../../../secret.ts";
import { authority } from "../../../http/endpoint.ts";
import type { ConsoleSink } from "../../../operations/console-port.ts";

export interface SshTarget {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  readonly password: Secret;
  /** Time for the login, and again for opening the console. */
  readonly connectTimeoutMs: number;
  /** The fingerprint of the only trusted key. Without one, no key is trusted. */
  readonly hostKey: string | undefined;
  /** The command that leads to the console on the BMC's command line. */
  readonly entryCommand?: string | undefined;
  readonly nameOption: NameOption | undefined;
}

const KEEP_ALIVE_MS = 15_000;
/** The connection counts as lost after this many unanswered requests in a row. */
const LOST_KEEP_ALIVES = 3;
/** Time to disconnect, for which the BMC's answer is optional. */
const CLOSE_MS = 2_000;

/**
 * Opens a console over SSH. Resolves when `until` has aborted and the connection is closed. Sends the password only to a
 * host with the pinned key, and only once. Rejects with `unsupported` if no key is pinned, `tls` if the key is a different
 * one, `auth` if SSH refuses the user, and `timeout` if the console is lost.
 */
export async function watchSsh(
  target: SshTarget,
  sink: ConsoleSink,
  until: AbortSignal,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const client: Client = new ssh2.Client();
  // An own socket is needed: after `end`, ssh2's `destroy` does nothing, and the other side decides when the connection closes.
  const socket = createConnection({ host: target.host, port: target.port });
  const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
  const aborted = Promise.withResolvers<"until">();
  const onUntil = () => aborted.resolve("until");
  const onSignal = () => aborted.reject(signal.reason);
  aborted.promise.catch(() => undefined);
  until.addEventListener("abort", onUntil, { once: true });
  signal.addEventListener("abort", onSignal, { once: true });
  if (until.aborted) onUntil();
  try {
    const opened = open(client, socket, target, sink);
    opened.lost.catch(() => socket.destroy());
    await Promise.race([opened.lost, aborted.promise]);
  } finally {
    until.removeEventListener("abort", onUntil);
    signal.removeEventListener("abort", onSignal);
    client.end();
    const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }
}

/** Opens the channel. `lost` never resolves; it only rejects. */
function open(
  client: Client,
  sock: Socket,
  target: SshTarget,
  sink: ConsoleSink,
): { readonly lost: Promise<never> } {
  const lost = Promise.withResolvers<never>();
  const fail = (error: BmcError) => lost.reject(error);
  let keyProblem: BmcError | undefined;
  client.on("error", (error) => fail(keyProblem ?? describe(error, target)));
  client.on("close", () => fail(keyProblem ?? new BmcError("timeout", "the SSH connection was closed")));
  client.on("ready", () => {
    const silent = new BmcError("timeout", "the BMC does not answer the request to open a console over SSH");
    const timer = setTimeout(() => fail(silent), target.connectTimeoutMs);
    client.shell({ term: "dumb" }, (error, channel) => {
      clearTimeout(timer);
      if (error) fail(new BmcError("busy", `the BMC opens no console over SSH: ${reasonOf(error)}`));
      else carry(channel, target, sink, fail);
    });
  });
  client.connect({
    sock,
    username: target.username,
    readyTimeout: target.connectTimeoutMs,
    keepaliveInterval: KEEP_ALIVE_MS,
    keepaliveCountMax: LOST_KEEP_ALIVES,
    authHandler: onePassword(target),
    hostVerifier: (key: Buffer) => {
      keyProblem = hostKeyProblem(key, target);
      return keyProblem === undefined;
    },
  });
  return { lost: lost.promise };
}

function carry(
  channel: ClientChannel,
  { entryCommand }: SshTarget,
  sink: ConsoleSink,
  fail: (error: BmcError) => void,
): void {
  channel.on("data", (bytes: Buffer) => sink.output(bytes));
  channel.stderr.on("data", () => undefined);
  channel.on("error", (error: Error) =>
    fail(new BmcError("timeout", `the console was lost: ${reasonOf(error)}`)),
  );
  channel.on("close", () => fail(new BmcError("timeout", "the BMC has ended the console")));
  // The command is for the BMC's own command line, and is the only text that is ever written.
  if (entryCommand !== undefined) channel.write(`${entryCommand}\r`);
  sink.opened();
}

function hostKeyProblem(key: Buffer, target: SshTarget): BmcError | undefined {
  const { hostKey, nameOption = connectionLine } = target;
  const found = `SHA256:${createHash("sha256").update(key).digest("base64").replace("=", "")}`;
  if (found === hostKey) return undefined;
  const peer = authority(target);
  const accept = `; if that is the BMC's own key, accept it with ${nameOption("redfish.sshHostKey", found)}`;
  return hostKey === undefined
    ? new BmcError("unsupported", `the SSH host key of ${peer} is not known (fingerprint ${found})${accept}`)
    : new BmcError("tls", `the SSH host key of ${peer} is ${found}, not the pinned ${hostKey}${accept}`);
}

/** Asks for the available methods, and sends the password with one of them only once, because accounts lock. */
function onePassword({ username, password }: SshTarget): AuthHandlerMiddleware {
  let isSent = false;
  let isAnswered = false;
  return (methods, _partialSuccess, next) => {
    // ssh2 passes null the first time.
    const offered: readonly string[] | null = methods;
    if (offered === null) return next({ type: "none", username });
    if (isSent) return next(false as never);
    isSent = true;
    if (offered.includes("password"))
      return next({ type: "password", username, password: password.reveal() });
    if (offered.includes("keyboard-interactive")) {
      return next({
        type: "keyboard-interactive",
        username,
        prompt: (_name, _instructions, _language, prompts, answer) => {
          // If the server asks again, the password was wrong.
          answer(prompts.map(({ echo }) => (echo || isAnswered ? "" : password.reveal())));
          isAnswered = true;
        },
      });
    }
    return next(false as never);
  };
}

function describe(error: Error & { readonly level?: string }, target: SshTarget): BmcError {
  const peer = authority(target);
  const cause = { cause: error };
  const text = `SSH with ${peer} failed: ${reasonOf(error)}`;
  switch (error.level) {
    case "client-authentication":
      // Redfish has just accepted user and password.
      return new BmcError("auth", `${peer} refuses the user over SSH`, { ...cause, refused: "right" });
    case "client-timeout":
      return new BmcError("timeout", text, cause);
    case "client-socket":
    case "client-dns":
      return new BmcError("unreachable", text, cause);
    default:
      return new BmcError("protocol", text, cause);
  }
}

const reasonOf = (error: Error) => shortened(foldLine(error.message), 200);
