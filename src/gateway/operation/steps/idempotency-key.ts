import { collectFields } from '@graphql-tools/utils';
import { getArgumentValues } from 'graphql';

import { GatewayError, InvalidInput } from '../../contract/gateway-error.ts';
import { parse, Text255 } from '../../contract/parse.ts';
import type { Call, OperationRequest } from '../request.ts';

const ARGUMENT = 'idempotencyKey';
const HEADER = 'Idempotency-Key';

// A string of structured fields (RFC 9651 §3.3.3), as draft-ietf-httpapi-idempotency-key-header requires, or the key
// itself, which most clients send. A comma may come from Node.js or a proxy that has joined two headers.
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
const BARE = /^[ !#-+\--~]*$/;

function keyInHeader({ req, res }: OperationRequest): string | undefined {
  const line = req.headers['idempotency-key'];
  if (typeof line !== 'string') return undefined;
  if (!res) {
    throw new GatewayError(
      'BAD_REQUEST',
      `The ${HEADER} of a WebSocket's handshake would be that of all mutations. Send the key of each mutation in its ` +
        `message, as extensions.${ARGUMENT}.`,
    );
  }
  const quoted = QUOTED.exec(line)?.[1];
  if (quoted === undefined && !BARE.test(line)) {
    const message = 'must be one string in quotes, or ASCII characters without quotes and commas.';
    throw new InvalidInput([{ path: [HEADER], message }]);
  }
  return parse(Text255, quoted?.replaceAll(/\\(.)/g, '$1') ?? line, HEADER);
}

function keyInExtensions({ params }: OperationRequest): string | undefined {
  const key: unknown = params.extensions?.[ARGUMENT];
  return key == null ? undefined : parse(Text255, key, 'extensions', ARGUMENT);
}

/** Returns the key that the request has in its header or `extensions`. @throws GatewayError if it can't be used */
export function findIdempotencyKey(call: Call): string | undefined {
  const header = keyInHeader(call);
  const extension = keyInExtensions(call);
  const key = header ?? extension;
  const { schema, node, fragments } = call.operation;
  const root = schema.getMutationType();
  if (key === undefined || !root) return undefined;
  const named = Object.fromEntries(fragments);
  const { fields } = collectFields(schema, named, call.coerced ?? {}, root, node.selectionSet);
  const mutations = [...fields.values()].flatMap(([one]) => {
    const field = one && root.getFields()[one.name.value];
    return field ? [{ field, args: getArgumentValues(field, one, call.coerced) }] : [];
  });
  if (mutations.length > 1) {
    throw new GatewayError(
      'BAD_REQUEST',
      `An idempotency key outside of the document is for one mutation, and the operation has ${mutations.length}. Send each in ` +
        `a request of its own, or pass each its own argument ${ARGUMENT} instead.`,
    );
  }
  for (const { field, args } of mutations) {
    if (!field.args.some(({ name }) => name === ARGUMENT)) {
      const message = `${field.name} takes no idempotency key. Send the request without one, and only once.`;
      throw new GatewayError('BAD_REQUEST', message);
    }
    if ([extension ?? key, args[ARGUMENT] ?? key].some((other) => other !== key)) {
      const message = `The ${HEADER}, extensions.${ARGUMENT} and the argument ${ARGUMENT} must not differ. Send only one.`;
      throw new GatewayError('BAD_REQUEST', message);
    }
  }
  return key;
}
