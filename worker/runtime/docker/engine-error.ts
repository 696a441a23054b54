import type { ErrorClass } from "../../../shared/contract/error-class.ts";
import { textOf } from "../../../shared/text-of.ts";

export class EngineError extends Error {
  override readonly name = "EngineError";
  readonly class: ErrorClass;
  readonly status: number | undefined;

  constructor(errorClass: ErrorClass, message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.class = errorClass;
    this.status = options.status;
  }

  static ofStatus(status: number, message: string, doing: string): EngineError {
    return new EngineError(classOfStatus(status), `${doing}: ${message || `HTTP ${status}`}`, { status });
  }

  static ofConnection(thrown: unknown, socketPath: string, doing: string): EngineError {
    const options = { cause: thrown };
    switch (errorCode(thrown)) {
      case "ENOENT":
        return new EngineError("unreachable", `no container engine: ${socketPath} does not exist`, options);
      case "ECONNREFUSED":
        return new EngineError("unreachable", `no container engine listens on ${socketPath}`, options);
      case "EACCES":
      case "EPERM":
        return new EngineError("internal", `no permission to use ${socketPath}`, options);
    }
    const text = `${doing}: the engine at ${socketPath} failed: ${textOf(thrown)}`;
    return new EngineError("unreachable", text, options);
  }
}

/** Engine API: 400 bad parameter, 404 no such object, 409 conflict, 500 server error, 501 not offered. */
function classOfStatus(status: number): ErrorClass {
  if (status === 400 || status === 404) return "usage";
  if (status === 401 || status === 403) return "auth";
  if (status === 409) return "state";
  if (status === 501) return "unsupported";
  return "internal";
}

function errorCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && "code" in thrown ? String(thrown.code) : undefined;
}
