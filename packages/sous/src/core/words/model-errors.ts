/** Every way in which a model fails, and which failures are tried again. */

/** The kinds of failure of a provider. The first five are tried again, `output_schema` without the schema of the output. */
export type ModelErrorKind =
  | "rate_limit"
  | "overloaded"
  | "network"
  | "interrupted"
  | "output_schema"
  | "auth"
  | "spend_limit"
  | "context_length"
  | "invalid_request"
  | "unknown";

/** True for those that are tried again. */
const TRIED_AGAIN: Readonly<Record<ModelErrorKind, boolean>> = {
  rate_limit: true,
  overloaded: true,
  network: true,
  interrupted: true,
  output_schema: true,
  auth: false,
  spend_limit: false,
  context_length: false,
  invalid_request: false,
  unknown: false,
};

/** Every `ModelErrorKind`, in the order of the type. */
export const MODEL_ERROR_KINDS = Object.keys(TRIED_AGAIN) as readonly ModelErrorKind[];

export function isTriedAgain(kind: ModelErrorKind): boolean {
  return TRIED_AGAIN[kind] === true;
}
