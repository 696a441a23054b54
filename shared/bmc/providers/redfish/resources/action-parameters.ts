import * as z from "zod/mini";
import { missingProperties } from "../service/missing-properties.ts";
import { ActionInfo, lenient, Values } from "../service/schema.ts";
import type { Service } from "../service/service.ts";
import type { WriteRequest, Writer } from "./writer.ts";

const ALLOWABLE = "@Redfish.AllowableValues";

/** An action in a resource, with the allowed values of its parameters by name. */
export const ListedAction = z.pipe(
  z.looseObject({ target: lenient(z.string()), "@Redfish.ActionInfo": lenient(z.string()) }),
  z.transform(({ target, "@Redfish.ActionInfo": info, ...others }) => ({
    target,
    info,
    values: new Map(
      Object.entries(others).flatMap(([name, listed]) => {
        const values = name.endsWith(ALLOWABLE) ? Values.safeParse(listed).data : undefined;
        return values ? [[name.slice(0, -ALLOWABLE.length), values] as const] : [];
      }),
    ),
  })),
);
export type ListedAction = z.infer<typeof ListedAction>;

/** Parameters that some vendors require although the schema does not, with the value for the action's purpose. */
export type MakersParameters = Readonly<Record<string, string>>;

/**
 * The parameters that the BMC lists for an action, or requires in its ActionInfo (DSP0266 section 7.8.3), which costs a
 * request.
 */
export async function listedParameters(
  service: Service,
  { values, info }: ListedAction,
  known: MakersParameters,
  signal: AbortSignal,
): Promise<MakersParameters> {
  const path = service.localPath(info);
  const found = path === undefined ? undefined : await service.find(path, ActionInfo, signal);
  const required = found?.value.Parameters.filter(({ Required }) => Required) ?? [];
  const parameters = [
    ...values,
    ...required.map(({ Name = "", AllowableValues }) => [Name, AllowableValues] as const),
  ];
  return Object.fromEntries(
    parameters.flatMap(([name, allowed]) => {
      const value = known[name];
      if (value !== undefined && (allowed?.includes(value) ?? true)) return [[name, value]];
      const [only, ...more] = allowed ?? [];
      return only !== undefined && more.length === 0 ? [[name, only]] : [];
    }),
  );
}

/** Sends an action, and again with the parameters that a refusal names as missing. */
export async function writeAction(
  { writer, service }: { readonly writer: Writer; readonly service: Service },
  request: WriteRequest & { readonly body: MakersParameters },
  known: MakersParameters,
  signal: AbortSignal,
): Promise<void> {
  const answer = await writer.attempt(request, signal);
  if (answer.status < 300) return;
  const lacking = missingProperties(
    answer,
    Object.keys(known).filter((name) => !(name in request.body)),
  );
  if (lacking.length === 0) throw service.refusal(answer, request);
  const more = Object.fromEntries(Object.entries(known).filter(([name]) => lacking.includes(name)));
  await writer.write({ ...request, body: { ...request.body, ...more } }, signal);
}
