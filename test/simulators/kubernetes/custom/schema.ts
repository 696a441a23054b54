/** The part of a CustomResourceDefinition's structural schema that this server checks. */
export type Schema =
  | ObjectSchema
  | { readonly type: "array"; readonly items: Schema; readonly minItems?: number; readonly maxItems?: number }
  | {
      readonly type: "string";
      readonly enum?: readonly string[];
      readonly minLength?: number;
      readonly maxLength?: number;
      readonly pattern?: string;
      readonly format?: "date-time" | "uri";
      readonly default?: string;
    }
  | {
      readonly type: "integer";
      readonly minimum?: number;
      readonly maximum?: number;
      readonly default?: number;
    }
  | { readonly type: "boolean"; readonly default?: boolean };

export interface ObjectSchema {
  readonly type: "object";
  /** A field whose name ends in `!` is required. */
  readonly fields?: { readonly [field: string]: Schema };
  /** What a map holds. */
  readonly values?: Schema;
  /** Everything in it is kept unseen. */
  readonly open?: true;
  readonly maxProperties?: number;
  /** What the definition says in CEL. */
  readonly rules?: readonly Rule[];
}

export interface Rule {
  readonly message: string;
  holds(self: { readonly [field: string]: unknown }): boolean;
}

export const text = { type: "string" } as const;
export const integer = { type: "integer" } as const;
export const flag = { type: "boolean" } as const;
export const time = { type: "string", format: "date-time" } as const;

export const oneOf = (...values: readonly string[]): Schema => ({ type: "string", enum: values });
export const matching = (pattern: string): Schema => ({ type: "string", pattern });
export const listOf = (items: Schema, limits: { minItems?: number; maxItems?: number } = {}): Schema => ({
  type: "array",
  items,
  ...limits,
});
export const mapOf = (values: Schema): Schema => ({ type: "object", values });
export const object = (
  fields: { readonly [field: string]: Schema },
  more: { maxProperties?: number; rules?: readonly Rule[] } = {},
): ObjectSchema => ({ type: "object", fields, ...more });
/** Holds anything: a part of the definition that nothing here reads or writes. */
export const anything: ObjectSchema = { type: "object", open: true };
