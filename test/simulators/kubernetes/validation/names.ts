import type { FieldErrors } from "./field-errors.ts";

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const ANNOTATIONS_LIMIT = 256 * 1024;

const NAME_PART =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_RULE =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** RFC 1123 label: at most 63 characters. */
export function checkLabelName(errors: FieldErrors, field: string, name: string): void {
  if (name.length > 63) errors.invalid(field, name, "must be no more than 63 bytes");
  if (!LABEL.test(name)) errors.invalid(field, name, LABEL_RULE);
}

/** RFC 1123 subdomain: at most 253 characters. */
export function checkSubdomainName(errors: FieldErrors, field: string, name: string): void {
  if (name.length > 253) errors.invalid(field, name, "must be no more than 253 bytes");
  if (!SUBDOMAIN.test(name)) errors.invalid(field, name, SUBDOMAIN_RULE);
}

export function checkLabels(
  errors: FieldErrors,
  field: string,
  labels: Readonly<Record<string, string>> = {},
): void {
  for (const [key, value] of Object.entries(labels)) {
    checkQualifiedName(errors, field, key);
    if (value.length > 63) errors.invalid(field, value, "must be no more than 63 bytes");
    if (!LABEL_VALUE.test(value))
      errors.invalid(
        field,
        value,
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
      );
  }
}

export function checkAnnotations(
  errors: FieldErrors,
  annotations: Readonly<Record<string, string>> = {},
): void {
  let size = 0;
  for (const [key, value] of Object.entries(annotations)) {
    checkQualifiedName(errors, "metadata.annotations", key.toLowerCase() === key ? key : lowerName(key));
    size += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (size > ANNOTATIONS_LIMIT) errors.tooLong("metadata.annotations", ANNOTATIONS_LIMIT);
}

/** A key with an optional prefix: the rule for labels, annotations, finalizers and extended resources. */
export function checkQualifiedName(errors: FieldErrors, field: string, key: string): void {
  const parts = key.split("/");
  const [name = "", prefix] = parts.length === 1 ? [parts[0]] : [parts[1], parts[0]];
  if (parts.length > 2) {
    errors.invalid(field, key, `a valid label key must have one '/' at most between its prefix and its name`);
    return;
  }
  if (prefix !== undefined) {
    if (prefix === "") errors.invalid(field, key, "prefix part must be non-empty");
    else if (!SUBDOMAIN.test(prefix) || prefix.length > 253)
      errors.invalid(field, key, `prefix part ${SUBDOMAIN_RULE}`);
  }
  if (name === "") errors.invalid(field, key, "name part must be non-empty");
  else if (name.length > 63) errors.invalid(field, key, "name part must be no more than 63 bytes");
  if (!QUALIFIED.test(name)) errors.invalid(field, key, NAME_PART);
}

/** Annotation keys may be of any case in their name, which the API lowers before the check. */
function lowerName(key: string): string {
  const slash = key.indexOf("/");
  return slash < 0 ? key.toLowerCase() : `${key.slice(0, slash)}${key.slice(slash).toLowerCase()}`;
}
