import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { answerError } from "../../../../../shared/bmc/providers/redfish/service/errors.ts";
import { HttpClient } from "../../../../../shared/bmc/providers/redfish/service/http-client.ts";
import { readRefusal } from "../../../../../shared/bmc/providers/redfish/service/refusal.ts";
import { Secret } from "../../../../../shared/secret.ts";
import { neverAborts } from "./open-session.ts";

const GENERAL = "A general error has occurred. See ExtendedInfo for more information.";
const general = { MessageId: "Base.1.8.GeneralError", Message: GENERAL };
const unreachable = {
  MessageId: "IDRAC.2.8.RAC0904",
  Message: "The remote file location is not accessible or reachable.",
};
const error = (...messages: readonly unknown[]) => ({
  error: { code: "Base.1.8.GeneralError", message: GENERAL, "@Message.ExtendedInfo": messages },
});
const quoted = "The remote file location is not accessible or reachable. (IDRAC.2.8.RAC0904)";
const textOf = (body: unknown, text?: string) =>
  readRefusal(text === undefined ? { body } : { body, text }).text;

describe("a refusal is quoted", () => {
  test.each<[string, unknown, string]>([
    ["by the message with an ID of its own", error(general, unreachable), quoted],
    ["once for messages that are the same", error(unreachable, unreachable), quoted],
    [
      "with all messages that differ",
      error(unreachable, { MessageId: "A.1.0.B", Message: "More." }),
      `${quoted}; More. (A.1.0.B)`,
    ],
    [
      "by a general message with words of its own",
      error({ MessageId: "Base.1.8.GeneralError", Message: "No license." }),
      "No license. (Base.1.8.GeneralError)",
    ],
    [
      "by the error's message where the extended information is only an ID",
      {
        error: {
          code: "Base.1.0.GeneralError",
          message: "The image is not an ISO.",
          "@Message.ExtendedInfo": [{ MessageId: "Base.1.0.GeneralError" }],
        },
      },
      "The image is not an ISO. (Base.1.0.GeneralError)",
    ],
    [
      "by the error's message with the ID that says more than the code",
      {
        error: {
          code: "iLO.0.10.ExtendedInfo",
          message: "Not now.",
          "@Message.ExtendedInfo": [{ MessageId: "iLO.0.10.ServerBusy" }],
        },
      },
      "Not now. (iLO.0.10.ServerBusy)",
    ],
    [
      "by its arguments and ID where there are no words",
      {
        error: {
          code: "iLO.0.10.ExtendedInfo",
          message: "See @Message.ExtendedInfo for more information.",
          "@Message.ExtendedInfo": [{ MessageId: "Base.0.10.PropertyUnknown", MessageArgs: ["Inserted"] }],
        },
      },
      "Inserted (Base.0.10.PropertyUnknown)",
    ],
    [
      "by the general message where there is nothing else",
      error(general),
      `${GENERAL} (Base.1.8.GeneralError)`,
    ],
    ["by the code alone", { error: { code: "Base.1.0.GeneralError" } }, "(Base.1.0.GeneralError)"],
    ["from extended information beside the error", { "@Message.ExtendedInfo": [unreachable] }, quoted],
    [
      "from extended information of a property",
      { "Image@Message.ExtendedInfo": [unreachable], Image: null },
      quoted,
    ],
    [
      "from extended information of a nested property",
      { Boot: { "BootSourceOverrideTarget@Message.ExtendedInfo": [unreachable] } },
      quoted,
    ],
    [
      "from a single message that is not in a list",
      { error: { "@Message.ExtendedInfo": unreachable } },
      quoted,
    ],
    ["although other messages are broken", error(null, 7, { Message: 7 }, unreachable), quoted],
    [
      "with the arguments of a template, each once",
      error({
        MessageId: "Base.1.8.PropertyUnknown",
        Message: "The property %1 is not in the list of %2, %3.",
        MessageArgs: ["%2", 5],
      }),
      "The property %2 is not in the list of 5, %3. (Base.1.8.PropertyUnknown)",
    ],
    [
      "with a resolution that helps",
      error({ ...unreachable, Resolution: "Check that the iDRAC can connect to the network address." }),
      `${quoted}, resolution: Check that the iDRAC can connect to the network address.`,
    ],
    ["without the resolution None", error({ ...unreachable, Resolution: "None." }), quoted],
    [
      "without the resolution to send it again",
      error({ ...unreachable, Resolution: "Correct the value and resubmit the request." }),
      quoted,
    ],
    ["without a long resolution", error({ ...unreachable, Resolution: "Read this. ".repeat(20) }), quoted],
    ["as nothing where it says nothing", { error: "no" }, ""],
  ])("%s", (_, body, text) => {
    expect(textOf(body)).toBe(text);
  });

  test.each([
    [
      "as it is",
      "Virtual media is disabled\n by the administrator.\r\n",
      "Virtual media is disabled by the administrator.",
    ],
    [
      "by the words of a page",
      "<html><head><title>404</title><style>p { color: red }</style></head><body><!-- x --><h1>Not Found</h1><p>No &lt;license&gt; &amp; no media</p><script>alert(1)</script></body></html>",
      "Not Found No <license> & no media",
    ],
    ["by the title of a page without other words", "<title>503 Busy</title><body></body>", "503 Busy"],
    ["with comparisons, which are no tags", "1 < 2 > 1", "1 < 2 > 1"],
  ])("from a body that is text %s", (_, text, words) => {
    expect(textOf(undefined, text)).toBe(words);
  });

  test("within limits, on one line, printable", () => {
    const hostile = `\u001b[31m\u202e${"x".repeat(100_000)}`;
    const messages = Array.from({ length: 10_000 }, (_, index) => ({
      MessageId: `A.${index}.${"i".repeat(1_000)}`,
      Message: `${index}\n${hostile}`,
    }));

    const texts = [
      textOf(error(...messages)),
      textOf(undefined, `<${"<".repeat(100_000)}`),
      textOf(undefined, hostile),
    ];

    expect(texts.map((text) => text.length <= 1_300)).toEqual([true, true, true]);
    expect(texts[2]?.length).toBe(200);
    for (const text of texts) expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  test("without the request's secrets, wherever the BMC quotes them", () => {
    const password = "correct-horse";
    const request = { method: "PATCH", path: "/a", body: { Password: new Secret(password) } } as const;
    const bodies = [
      { body: error({ MessageId: "A.1.B", Message: "%1 is weak", MessageArgs: [password] }) },
      { body: error({ ...unreachable, Resolution: `Change ${password}.` }) },
      { body: { error: { code: "A", message: `${"x".repeat(292)}${password}` } } },
      { body: undefined, text: `<p title="${password}">${password}</p>` },
      { body: undefined, text: `${"x ".repeat(96)}${password}` },
    ];

    const messages = bodies.map(
      (body) => answerError({ status: 400, headers: {}, path: "/a", ...body }, request, 0).message,
    );

    for (const message of messages) expect(message).not.toContain("correct");
    expect(messages.filter((message) => message.includes("[redacted]")).length).toBeGreaterThan(2);
  });
});

describe("the class follows the MessageIds", () => {
  test.each<[string, unknown, string]>([
    ["below the error", error({ MessageId: "Base.1.8.ResourceInUse" }), "busy"],
    [
      "of any place",
      { "Password@Message.ExtendedInfo": [{ MessageId: "Base.1.8.InsufficientPrivilege" }] },
      "auth",
    ],
    [
      "although another message is quoted",
      error(unreachable, { MessageId: "Base.1.8.ActionNotSupported" }),
      "unsupported",
    ],
    ["of the code", { error: { code: "IDRAC.2.8.SYS518", message: "Starting." } }, "busy"],
    ["and not the words", error({ MessageId: "A.1.B", Message: "ResourceInUse" }), "bmc"],
  ])("%s", (_, body, errorClass) => {
    const answer = { status: 400, headers: {}, path: "/a", body };

    expect(answerError(answer, { method: "POST", path: "/a" }, 0).class).toBe(errorClass);
  });
});

test.each([
  ["text/plain", "Media service is stopped.", "Media service is stopped."],
  ["text/html; charset=utf-8", "<h1>Media service</h1> is stopped.", "Media service is stopped."],
  ["application/json", "Media service is stopped.", "Media service is stopped."],
  ["application/json", '{"error": {"mess', undefined],
  ["application/octet-stream", "Media service is stopped.", undefined],
  ["text/plain", "\u0000\u0001\u0002", undefined],
])("over HTTP, a refusal of type %s that holds %j says %j", async (type, body, words) => {
  const server = createServer((_, response) => response.writeHead(500, { "content-type": type }).end(body));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const http = new HttpClient({
    ...{
      scheme: "http",
      host: "127.0.0.1",
      port: Object(server.address()).port,
      tls: { verify: true, fallback: false },
    },
    ...{ connectTimeoutMs: 5_000, requestTimeoutMs: 5_000, identityEncoding: true },
  });
  onTestFinished(async () => {
    await http.close();
    server.close();
  });
  const request = { method: "POST", path: "/insert" } as const;

  const answer = await http.exchange(request, neverAborts());

  expect(answerError(answer, request, 0).message).toBe(
    `POST /insert answered 500${words ? `: ${words}` : ""}`,
  );
});
