import { BmcError } from "../../../contract/bmc-error.ts";
import type { Connection } from "../../../contract/connection.ts";
import { INPUT_BYTES } from "../../../input-limits.ts";
import { untraced } from "../../../tracing/tracer.ts";
import { serviceEndpoint } from "../../http/endpoint.ts";
import { HttpConnection } from "../../http/http-connection.ts";
import type { ProviderContext } from "../../operations/provider.ts";
import { IronicApi } from "./api.ts";
import { type Authentication, authenticationOf } from "./authentication.ts";

/** The inventory of a large machine with its links and sensors has several hundred kilobytes. */
const MAX_BODY_BYTES = INPUT_BYTES.ironicAnswer;

export interface OpenApi {
  readonly api: IronicApi;
  readonly http: HttpConnection;
  readonly authentication: Authentication;
}

/** Opens the API without sending anything. The caller closes `http`. */
export function openApi(connection: Connection, context: ProviderContext): OpenApi {
  const { requestTimeoutMs, ironic: options } = connection;
  const { clock, tracer = untraced, nameOption, onAccepted } = context;
  if (!options) throw new BmcError("usage", "ironic.url is missing");
  const authentication = authenticationOf(options, connection, context);
  const endpoint = serviceEndpoint(new URL(options.url), connection, nameOption);
  const http = new HttpConnection({ ...endpoint, requestTimeoutMs, maxBodyBytes: MAX_BODY_BYTES, tracer });
  const api = new IronicApi({ http, url: options.url, authentication, clock, onAccepted });
  return { api, http, authentication };
}
