import { expect, test } from "vitest";
import { HttpListener } from "../../../../simulators/http-listener.ts";
import { json } from "../../../../simulators/rpc/consumer.ts";
import { tracingLab } from "./tracing-lab.ts";

const TIMEOUT = 120_000;
/** Each differs in every form; IPMI takes 16 bytes of a name and 20 of a password. */
const USER = "cn0-user";
const PASSWORD = 'cn1"pass&/+%7f';
const WRONG = 'cn2"wrong&/+%7f';
const NEW_PASSWORD = 'cn3"new&/+%7fAb1';
const TOKEN = "cn4-token";

/** The forms in which a secret may occur, derived independently of the program's own code. */
function formsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text),
    bytes.toString("base64").replace(/=+$/, ""),
    bytes.toString("hex"),
  ];
}

const FORMS = [USER, PASSWORD, WRONG, NEW_PASSWORD, TOKEN, `${USER}:${PASSWORD}`, `${USER}:${WRONG}`].flatMap(
  (text) => formsOf(text),
);

function secretsIn(text: string): readonly string[] {
  return FORMS.filter((form) => text.includes(form));
}

type Lab = Awaited<ReturnType<typeof tracingLab>>;

/** What was sent, without the headers, which carry the collector's own token. */
function sent(lab: Lab): string {
  return lab.collector.exports.map(({ body }) => body.toString("utf8")).join("\n");
}

const HEADERS = { OTEL_EXPORTER_OTLP_HEADERS: `authorization=${TOKEN}` };

test.each(["process", "in-process"])(
  "nothing secret is in a trace of what succeeds, with the runtime %s",
  {
    timeout: TIMEOUT,
  },
  async (runtime) => {
    await using lab = await tracingLab({
      ...{ argv: ["--runtime", runtime], env: HEADERS },
      ...{ user: USER, password: PASSWORD, redfishAuth: "session" },
    });
    lab.start();

    const create = (machine: string) => ({
      ...{ name: "create-user", machine },
      environment: { USER_NAME: "someone", PASSWORD: NEW_PASSWORD, ROLE: "operator" },
    });
    const workflows = [
      lab.submit([{ name: "power-status" }, create("node-01")], "pbnj"),
      lab.submit([{ name: "power-status", machine: "node-02" }, create("node-02")], "other"),
    ];
    await lab.untilOver(...workflows);
    await lab.untilTraced(4);

    const tokens = new Set(lab.redfish.requests.flatMap(({ headers }) => headers["x-auth-token"] ?? []));
    expect(
      workflows.map(({ state }) => state),
      lab.said(),
    ).toEqual(["SUCCESS", "SUCCESS"]);
    expect(tokens.size).toBeGreaterThan(0);
    expect(lab.collector.named("DELETE /redfish/v1/SessionService/Sessions/{id}").length).toBeGreaterThan(0);
    expect([...tokens].flat().filter((token) => sent(lab).includes(token))).toEqual([]);
    expect(secretsIn(sent(lab))).toEqual([]);
  },
);

test.each(["basic", "session"] as const)(
  "nothing secret is in a trace of a refused password, with %s",
  {
    timeout: TIMEOUT,
  },
  async (redfishAuth) => {
    await using lab = await tracingLab({
      ...{ user: USER, password: PASSWORD, givenPassword: WRONG, redfishAuth, env: HEADERS },
    });
    lab.start();

    const workflows = [
      lab.submit([{ name: "power-off" }], "pbnj"),
      lab.submit([{ name: "power-status", machine: "node-02" }], "other"),
    ];
    await lab.untilOver(...workflows);
    await lab.untilTraced(2);

    expect(lab.roots().map(({ attributes }) => attributes["error.type"])).toEqual(["auth", "auth"]);
    expect(secretsIn(sent(lab))).toEqual([]);
  },
);

test("nothing secret is in a trace of a BMC that quotes all that it was sent", {
  timeout: TIMEOUT,
}, async () => {
  const echo = new HttpListener({ tls: "http" }, ({ method, path, headers, body }) => {
    if (method === "GET" && /^\/redfish\/v1\/?$/.test(path)) {
      return json(200, { "@odata.id": "/redfish/v1", Systems: { "@odata.id": "/redfish/v1/Systems" } });
    }
    const decoded = Buffer.from(headers.authorization?.replace(/^Basic /, "") ?? "", "base64").toString();
    const message = `cannot take ${method} ${path} of ${decoded} with ${JSON.stringify(headers)} and ${body}`;
    return json(400, { error: { code: "Base.1.8.GeneralError", message } });
  });
  await echo.listen();
  await using lab = await tracingLab({ user: USER, password: PASSWORD, env: HEADERS });
  lab.start();

  const own = { BMC_HOST: "127.0.0.1", BMC_USERNAME: USER, BMC_PASSWORD: PASSWORD };
  const redfish = { BMC_PROVIDERS: "redfish", REDFISH_SCHEME: "http", REDFISH_PORT: String(echo.port) };
  await lab.untilOver(
    lab.submit([{ name: "power-status", machine: "", environment: { ...own, ...redfish } }]),
  );
  await lab.untilTraced(1);
  await echo.close();

  const action = lab.collector.spans.find(({ service }) => service === "pbnj-worker-action");
  expect(action?.message, lab.said()).toContain("cannot take GET");
  expect(secretsIn(sent(lab))).toEqual([]);
});
