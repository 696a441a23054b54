/** The answer to a request. */
export interface Answer {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The delay before the answer is sent. */
  readonly delayMs?: number;
  /** If set, the reason why the connection is closed instead. */
  readonly drops?: string;
}

export const ok = (body: unknown, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 200,
  body,
  headers,
});

export const noContent: Answer = { status: 204 };

/** Makes an error body (DSP0266 section 8.6). */
export function refusal(
  status: number,
  messageId: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const body = {
    error: {
      code: "Base.1.8.GeneralError",
      message: "A general error has occurred. See ExtendedInfo for more information.",
      "@Message.ExtendedInfo": [
        {
          "@odata.type": "#Message.v1_1_1.Message",
          MessageId: messageId,
          Message: message,
          Severity: "Warning",
        },
      ],
    },
  };
  return { status, body, headers };
}

export const preconditionFailed = (header: string) =>
  refusal(412, "Base.1.8.PreconditionFailed", `The ${header} supplied did not match the current resource.`);

export const notFound = (path: string) =>
  refusal(404, "Base.1.8.ResourceMissingAtURI", `The resource at the URI ${path} was not found.`);

export const methodNotAllowed = (method: string) =>
  refusal(405, "Base.1.8.OperationNotAllowed", `The HTTP method ${method} is not allowed on this resource.`);
