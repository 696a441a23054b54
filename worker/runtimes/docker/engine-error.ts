import { ownClockNote } from "../../../shared/certificate-clock.ts";
import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { textOf } from "../../../shared/text-of.ts";

interface EngineErrorOptions {
  readonly status?: number;
  readonly cause?: unknown;
  readonly isAway?: boolean;
  readonly wasNotSent?: boolean;
}

export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly class: ErrorClass;
  readonly status: number | undefined;
  /** Nothing listens, or the connection broke. The engine may be restarting. */
  readonly isAway: boolean;
  /** Nothing listened, so the engine has certainly not received the request. */
  readonly wasNotSent: boolean;

  constructor(errorClass: ErrorClass, message: string, options: EngineErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.class = errorClass;
    this.status = options.status;
    this.isAway = options.isAway ?? false;
    this.wasNotSent = options.wasNotSent ?? false;
  }

  static ofStatus(answered: number, message: string, doing: string): EngineError {
    const status = BY_REASON.find(([said]) => said.test(message))?.[1] ?? answered;
    const text = `${doing}: ${message || `HTTP ${status}`}`;
    return new EngineError(classOfRefusal(status, message), text, { status });
  }

  /** `place` is the engine's socket or URL. */
  static ofConnection(thrown: unknown, place: string, doing: string): EngineError {
    const code = errorCode(thrown);
    const options = { cause: thrown, isAway: AWAY.has(code), wasNotSent: ABSENT.has(code) };
    switch (code) {
      case "ENOENT":
        return new EngineError("unreachable", `no container engine: ${place} does not exist`, options);
      case "ECONNREFUSED":
        return new EngineError("unreachable", `no container engine listens on ${place}`, options);
      case "EACCES":
      case "EPERM":
        return new EngineError("internal", `no permission to use ${place}`, options);
    }
    const text = `${doing}: the engine at ${place} failed: ${textOf(thrown)}${ownClockNote(thrown)}`;
    const isTls = /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code);
    return new EngineError(isTls ? "tls" : "unreachable", text, options);
  }
}

const ABSENT = new Set(["ENOENT", "ECONNREFUSED"]);
/** Codes of an engine that is away. While it shuts down, it breaks its connections, and then nothing listens. */
const AWAY = new Set([...ABSENT, "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);

/** Texts for which Podman answers 500, and Docker the documented status. */
const BY_REASON: readonly (readonly [RegExp, number])[] = [
  [/\bname\b.* is already in use/i, 409],
  [/container state improper|cannot remove container .* as it is running/i, 409],
  [/no such container|no container with name or ID/i, 404],
];

/** Texts that engines send with various statuses. */
const BY_TEXT: readonly (readonly [RegExp, ErrorClass])[] = [
  [/network \S+ not found|unable to find network|network not found/i, "usage"],
  [/unable to find (user|group)|no matching entries in (passwd|group) file/i, "usage"],
  [/bind source path does not exist|statfs \S+: no such file or directory/i, "usage"],
  [/executable file .*not found|exec: .*: no such file or directory/i, "usage"],
];

/** Engine API: 400 bad parameter, 404 no such object, 409 conflict, 500 server error, 501 not offered. */
function classOfRefusal(status: number, message: string): ErrorClass {
  const known = BY_TEXT.find(([said]) => said.test(message));
  if (known) return known[1];
  if (status === 400 || status === 404) return "usage";
  if (status === 401 || status === 403) return "auth";
  if (status === 409) return "state";
  if (status === 501) return "unsupported";
  return "internal";
}

function errorCode(thrown: unknown): string {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : "";
}
