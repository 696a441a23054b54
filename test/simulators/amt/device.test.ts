import { request } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { authorize, parseChallenge } from "../../../shared/bmc/providers/amt/digest.ts";
import { uriOf } from "../../../simulators/amt/answers.ts";
import { type AmtDevice, type AmtDeviceOptions, startAmtDevice } from "../../../simulators/amt/device.ts";

const TRANSFER = "http://schemas.xmlsoap.org/ws/2004/09/transfer";
const ENUMERATION = "http://schemas.xmlsoap.org/ws/2004/09/enumeration";
const ASSOCIATION = "CIM_AssociatedPowerManagementService";

async function start(options: AmtDeviceOptions = {}): Promise<AmtDevice> {
  const device = await startAmtDevice({ tls: "http", ...options });
  onTestFinished(() => device.close());
  return device;
}

/** Sends one message as any client would: header fields in any order and with prefixes of its own. */
async function call(device: AmtDevice, action: string, resource: string, body = "", selectors = "") {
  const header = `<q:MessageID>uuid:7</q:MessageID><q:Action>${action}</q:Action><m:ResourceURI>${uriOf(resource)}</m:ResourceURI>${selectors}`;
  const message = `<Envelope><Header>${header}</Header><Body>${body}</Body></Envelope>`;
  const send = (authorization = "") =>
    request(`${device.http.url}/wsman`, { method: "POST", headers: { authorization }, body: message });
  const refused = await send();
  await refused.body.dump();
  const challenge = parseChallenge(String(refused.headers["www-authenticate"]));
  if (!challenge) throw new Error("no challenge");
  // Intel's own client counts the refused request, too.
  const answer = await send(authorize(challenge, device, { method: "POST", uri: "/wsman", count: 2 }));
  const text = await answer.body.text();
  const [, context] = /<e:EnumerationContext>([^<]*)</.exec(text) ?? [];
  return { status: answer.statusCode, text, context };
}

test("an answer names the request, its action and the class, whose namespace the instance has", async () => {
  const { status, text } = await call(await start(), `${TRANSFER}/Get`, "AMT_BootSettingData");

  const uri = "http://intel.com/wbem/wscim/1/amt-schema/1/AMT_BootSettingData";
  expect(status).toBe(200);
  expect(text).toContain("<b:RelatesTo>uuid:7</b:RelatesTo>");
  expect(text).toContain(`<b:Action a:mustUnderstand="true">${TRANSFER}/GetResponse</b:Action>`);
  expect(text).toContain(`<c:ResourceURI>${uri}</c:ResourceURI>`);
  expect(text).toContain(`<g:AMT_BootSettingData xmlns:g="${uri}">`);
});

test("a method's output is in the namespace of the class that has it", async () => {
  const uri = uriOf("CIM_PowerManagementService");
  const action = `${uri}/RequestPowerStateChange`;
  const body =
    "<p:RequestPowerStateChange_INPUT><p:PowerState>8</p:PowerState></p:RequestPowerStateChange_INPUT>";
  const device = await start();

  const { text } = await call(device, action, "CIM_PowerManagementService", body);
  const elsewhere = await call(
    device,
    `${uriOf("CIM_BootService")}/RequestPowerStateChange`,
    "CIM_BootService",
    body,
  );

  expect(text).toContain(`${action}Response</b:Action>`);
  expect(text).toContain(
    `<g:RequestPowerStateChange_OUTPUT xmlns:g="${uri}"><g:ReturnValue>0</g:ReturnValue>`,
  );
  expect(device.machine.count("off")).toBe(1);
  expect(elsewhere.text).toContain("b:ActionNotSupported");
});

test("an enumeration gives one item per pull unless more is asked for, and its context is good for its class alone", async () => {
  const device = await start();
  const pull = (context = "", more = "", resource = "CIM_BootSourceSetting") =>
    call(
      device,
      `${ENUMERATION}/Pull`,
      resource,
      `<Pull><EnumerationContext>${context}</EnumerationContext>${more}</Pull>`,
    );

  const { context } = await call(device, `${ENUMERATION}/Enumerate`, "CIM_BootSourceSetting");
  const wrong = await pull(context, "", ASSOCIATION);
  const first = await pull(context);
  const rest = await pull(context, "<MaxElements>999</MaxElements>");
  const after = await pull(context);

  expect(wrong).toMatchObject({ status: 400, text: expect.stringContaining("e:InvalidEnumerationContext") });
  expect(first.text.match(/<g:InstanceID>/g)).toHaveLength(1);
  expect(first.context).toBe(context);
  expect(rest.text.match(/<g:InstanceID>/g)).toHaveLength(2);
  expect(rest.text).toContain("<e:EndOfSequence></e:EndOfSequence></e:PullResponse>");
  expect(after.text).toContain(`${ENUMERATION}/fault</b:Action>`);
});

test("references are enumerated where they are asked for", async () => {
  const device = await start();
  const mode = "<Enumerate><w:EnumerationMode>EnumerateEPR</w:EnumerationMode></Enumerate>";

  const { context } = await call(device, `${ENUMERATION}/Enumerate`, "CIM_ComputerSystem", mode);
  const body = `<Pull><EnumerationContext>${context}</EnumerationContext><MaxElements>9</MaxElements></Pull>`;
  const { text } = await call(device, `${ENUMERATION}/Pull`, "CIM_ComputerSystem", body);

  expect(text.match(/<b:EndpointReference>/g)).toHaveLength(2);
  expect(text).toContain(`<c:ResourceURI>${uriOf("CIM_ComputerSystem")}</c:ResourceURI>`);
  expect(text).toContain('<c:Selector Name="Name">ManagedSystem</c:Selector>');
});

test("Get of a class with several instances needs the selectors of one", async () => {
  const device = await start();
  const get = (selectors: string) => call(device, `${TRANSFER}/Get`, "CIM_BootSourceSetting", "", selectors);
  const selector = (name: string) =>
    `<w:SelectorSet><w:Selector Name="InstanceID">Intel(r) AMT: ${name}</w:Selector></w:SelectorSet>`;

  expect((await get("")).text).toContain("c:InvalidSelectors");
  expect((await get(selector("Force Nothing"))).text).toContain("c:InvalidSelectors");
  expect((await get(selector("Force PXE Boot"))).text).toContain("CIM:Network:1");
});

test.each([
  [false, 'qop="auth"'],
  [true, 'qop="auth-int, auth"'],
])("auth-int %s is offered as %s", async (authInt, qop) => {
  const device = await start({ authInt });

  const { headers, body } = await request(`${device.http.url}/wsman`, { method: "POST" });
  await body.dump();

  expect(headers["www-authenticate"]).toContain(qop);
  expect((await call(device, `${TRANSFER}/Get`, ASSOCIATION)).status).toBe(200);
});
