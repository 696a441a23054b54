import { randomUUID } from "node:crypto";
import { escapeXml } from "./xml.ts";

/** Messages of WS-Management over SOAP 1.2 (DSP0226), as far as power and boot need them. */
const SOAP = "http://www.w3.org/2003/05/soap-envelope";
const ADDRESSING = "http://schemas.xmlsoap.org/ws/2004/08/addressing";
const WSMAN = "http://schemas.dmtf.org/wbem/wsman/1/wsman.xsd";
const TRANSFER = "http://schemas.xmlsoap.org/ws/2004/09/transfer";
const ENUMERATION = "http://schemas.xmlsoap.org/ws/2004/09/enumeration";
const ANONYMOUS = `${ADDRESSING}/role/anonymous`;
const CIM = "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2";
const AMT = "http://intel.com/wbem/wscim/1/amt-schema/1";
const IPS = "http://intel.com/wbem/wscim/1/ips-schema/1";

export const WSMAN_PATH = "/wsman";
/** Longer than a call takes right after a power transition, and shorter than AMT's own timeout. */
const OPERATION_TIMEOUT = "PT60S";

export type ResourceClass = `CIM_${string}` | `AMT_${string}` | `IPS_${string}`;

/** One instance of a class, by its keys. */
export interface InstanceReference {
  readonly class: ResourceClass;
  readonly keys: Readonly<Record<string, string>>;
}

export type InputValue = string | number | InstanceReference;

export function getMessage(resource: ResourceClass): string {
  return envelope(`${TRANSFER}/Get`, resource, "");
}

/** Builds a Put. Fields keep the order in which the device sent them. */
export function putMessage(
  resource: ResourceClass,
  fields: readonly (readonly [name: string, value: string])[],
): string {
  const content = fields.map(([name, value]) => `<p:${name}>${escapeXml(value)}</p:${name}>`).join("");
  const body = `<p:${resource} xmlns:p="${uriOf(resource)}">${content}</p:${resource}>`;
  return envelope(`${TRANSFER}/Put`, resource, body);
}

export function enumerateMessage(resource: ResourceClass): string {
  return envelope(`${ENUMERATION}/Enumerate`, resource, `<Enumerate xmlns="${ENUMERATION}"/>`);
}

export function pullMessage(resource: ResourceClass, context: string): string {
  const content = `<EnumerationContext>${escapeXml(context)}</EnumerationContext><MaxElements>999</MaxElements>`;
  return envelope(`${ENUMERATION}/Pull`, resource, `<Pull xmlns="${ENUMERATION}">${content}</Pull>`);
}

/** Calls a method of a class that has only one instance. */
export function invokeMessage(
  resource: ResourceClass,
  method: string,
  input: Readonly<Record<string, InputValue>>,
): string {
  const uri = uriOf(resource);
  const content = Object.entries(input).map(([name, value]) => `<p:${name}>${inputOf(value)}</p:${name}>`);
  const body = `<p:${method}_INPUT xmlns:p="${uri}">${content.join("")}</p:${method}_INPUT>`;
  return envelope(`${uri}/${method}`, resource, body);
}

function uriOf(resource: ResourceClass): string {
  const schema = { CIM, AMT, IPS }[resource.slice(0, 3)];
  return `${schema}/${resource}`;
}

function envelope(action: string, resource: ResourceClass, body: string): string {
  const header = [
    `<a:Action s:mustUnderstand="true">${action}</a:Action>`,
    `<a:To s:mustUnderstand="true">${WSMAN_PATH}</a:To>`,
    `<w:ResourceURI s:mustUnderstand="true">${uriOf(resource)}</w:ResourceURI>`,
    `<a:MessageID s:mustUnderstand="true">uuid:${randomUUID()}</a:MessageID>`,
    `<a:ReplyTo><a:Address>${ANONYMOUS}</a:Address></a:ReplyTo>`,
    `<w:OperationTimeout>${OPERATION_TIMEOUT}</w:OperationTimeout>`,
  ].join("");
  return `<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="${SOAP}" xmlns:a="${ADDRESSING}" xmlns:w="${WSMAN}"><s:Header>${header}</s:Header><s:Body>${body}</s:Body></s:Envelope>`;
}

function inputOf(value: InputValue): string {
  if (typeof value !== "object") return escapeXml(String(value));
  const parameters = `<w:ResourceURI>${uriOf(value.class)}</w:ResourceURI>${selectorSet(value.keys)}`;
  return `<a:Address>${ANONYMOUS}</a:Address><a:ReferenceParameters>${parameters}</a:ReferenceParameters>`;
}

function selectorSet(keys: InstanceReference["keys"]): string {
  const selectors = Object.entries(keys).map(
    ([name, value]) => `<w:Selector Name="${escapeXml(name)}">${escapeXml(value)}</w:Selector>`,
  );
  return `<w:SelectorSet>${selectors.join("")}</w:SelectorSet>`;
}
