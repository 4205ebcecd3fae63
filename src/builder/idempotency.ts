/** The description of every argument `idempotencyKey`. */
export const IDEMPOTENCY_KEY =
  'A name for this write, 1 to 255 characters, such as a UUID. The same key with the same input ' +
  'makes nothing anew and answers what was made the first time, as it was then. A key is kept for ' +
  'a day unless the operator chose another time; an error is not kept.';
