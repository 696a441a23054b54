import type { Cause } from "../api/failure.ts";

/** What is wrong with an object, field by field, in the words of the API's field errors. */
export class FieldErrors {
  readonly causes: Cause[] = [];

  required(field: string, detail?: string): void {
    this.#add(
      "FieldValueRequired",
      field,
      detail === undefined ? "Required value" : `Required value: ${detail}`,
    );
  }

  invalid(field: string, value: unknown, detail: string): void {
    this.#add("FieldValueInvalid", field, `Invalid value: ${JSON.stringify(value ?? null)}: ${detail}`);
  }

  unsupported(field: string, value: unknown, supported: readonly string[]): void {
    const list = supported.map((one) => JSON.stringify(one)).join(", ");
    this.#add(
      "FieldValueNotSupported",
      field,
      `Unsupported value: ${JSON.stringify(value)}: supported values: ${list}`,
    );
  }

  duplicate(field: string, value: unknown): void {
    this.#add("FieldValueDuplicate", field, `Duplicate value: ${JSON.stringify(value)}`);
  }

  notFound(field: string, value: unknown): void {
    this.#add("FieldValueNotFound", field, `Not found: ${JSON.stringify(value)}`);
  }

  forbidden(field: string, detail: string): void {
    this.#add("FieldValueForbidden", field, `Forbidden: ${detail}`);
  }

  tooLong(field: string, limit: number): void {
    this.#add("FieldValueTooLong", field, `Too long: may not be more than ${limit} bytes`);
  }

  /** A number that counts something. */
  notNegative(field: string, value: number | undefined): void {
    if (value !== undefined && value < 0) this.invalid(field, value, "must be greater than or equal to 0");
  }

  within(field: string, value: number | undefined, low: number, high: number): void {
    if (value !== undefined && (value < low || value > high))
      this.invalid(field, value, `must be between ${low} and ${high}, inclusive`);
  }

  oneOf(field: string, value: string | undefined, supported: readonly string[]): void {
    if (value !== undefined && !supported.includes(value)) this.unsupported(field, value, supported);
  }

  #add(reason: string, field: string, message: string): void {
    this.causes.push({ reason, message, field });
  }
}
