import { deleteOldChanges } from '../../src/gateway/changes/change-log.ts';
import { deleteOldKeys } from '../../src/gateway/model/idempotency.ts';
import type { Gateway } from './gateway.ts';

/** An age that every change has, even if PostgreSQL's clock is ahead. */
const ANY_AGE_MS = -3_600_000;

/** Deletes the changes of at least this age, as a gateway does with those older than CHANGES_HOURS; by default all but the last. */
export const deleteChanges = ({ db }: Gateway, ageMs = ANY_AGE_MS): Promise<void> =>
  deleteOldChanges(db, ageMs);

/** Deletes the idempotency keys of at least this age, as a gateway does with those older than IDEMPOTENCY_HOURS. */
export const deleteKeys = ({ db }: Gateway, ageMs: number): Promise<void> =>
  deleteOldKeys(db, ageMs);
