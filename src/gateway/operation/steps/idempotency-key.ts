import { collectFields } from '@graphql-tools/utils';
import { type DocumentNode, type FieldNode, getArgumentValues, Kind, visit } from 'graphql';

import { GatewayError, InvalidInput } from '../../contract/gateway-error.ts';
import { parse, Text255 } from '../../contract/parse.ts';
import type { Call, OperationRequest } from '../request.ts';

const ARGUMENT = 'idempotencyKey';
const HEADER = 'Idempotency-Key';

// A string of structured fields (RFC 9651 §3.3.3), as draft-ietf-httpapi-idempotency-key-header requires, or the key
// itself, which most clients send. A comma may come from a proxy that has joined two headers.
const QUOTED = /^"((?:[ !#-[\]-~]|\\["\\])*)"$/;
const BARE = /^[ !#-+\--~]*$/;

function keyInHeader({ req, res }: OperationRequest): string | undefined {
  if (req.headers['idempotency-key'] === undefined) return undefined;
  if (!res) {
    throw new GatewayError(
      'BAD_REQUEST',
      `The ${HEADER} of a WebSocket's handshake would be that of all mutations. Send the key of each mutation in its ` +
        `message, as extensions.${ARGUMENT}.`,
    );
  }
  const [line = '', ...others] = req.headersDistinct['idempotency-key'] ?? [];
  const quoted = QUOTED.exec(line)?.[1];
  if (others.length > 0 || (quoted === undefined && !BARE.test(line))) {
    const message = 'must be one string in quotes, or ASCII characters without quotes and commas.';
    throw new InvalidInput([{ path: [HEADER], message }]);
  }
  return parse(Text255, quoted?.replaceAll(/\\(.)/g, '$1') ?? line, HEADER);
}

function keyInExtensions({ params }: OperationRequest): string | undefined {
  const key: unknown = params.extensions?.[ARGUMENT];
  return key == null ? undefined : parse(Text255, key, 'extensions', ARGUMENT);
}

/** Returns the only mutation of an operation; undefined if there is none. @throws GatewayError if there are several */
function onlyMutation({ operation, coerced = {} }: Call) {
  const { schema } = operation;
  const root = schema.getMutationType();
  if (!root) return undefined;
  const { selectionSet } = operation.node;
  const fragments = Object.fromEntries(operation.fragments);
  const { fields } = collectFields(schema, fragments, coerced, root, selectionSet);
  const mutations = [...fields.values()].flatMap(([node]) => {
    const field = node && root.getFields()[node.name.value];
    return field ? [{ node, field }] : [];
  });
  if (mutations.length > 1) {
    throw new GatewayError(
      'BAD_REQUEST',
      `An idempotency key outside of the document is for one mutation, and the operation has ${mutations.length}. Send each in ` +
        `a request of its own, or pass each its own argument ${ARGUMENT} instead.`,
    );
  }
  return mutations[0];
}

const withArgument = (document: DocumentNode, field: FieldNode, key: string): DocumentNode =>
  visit(document, {
    Field: (node) => {
      if (node !== field) return undefined;
      const others = field.arguments?.filter(({ name }) => name.value !== ARGUMENT) ?? [];
      const name = { kind: Kind.NAME, value: ARGUMENT } as const;
      const value = { kind: Kind.STRING, value: key } as const;
      return { ...field, arguments: [...others, { kind: Kind.ARGUMENT, name, value }] };
    },
  });

/**
 * Returns the document of a mutation to execute: the key that the request has in its header or `extensions` becomes the
 * argument of the only field. A request whose key can't be used is rejected, because its caller relies on the key to
 * repeat it.
 * @throws GatewayError
 */
export function withIdempotencyKey(call: Call): DocumentNode {
  const { document } = call.operation;
  const header = keyInHeader(call);
  const extension = keyInExtensions(call);
  const key = header ?? extension;
  const mutation = key === undefined ? undefined : onlyMutation(call);
  if (key === undefined || !mutation) return document;
  const { node, field } = mutation;
  if (!field.args.some(({ name }) => name === ARGUMENT)) {
    const message = `${field.name} takes no idempotency key. Send the request without one, and only once.`;
    throw new GatewayError('BAD_REQUEST', message);
  }
  const argument: unknown = getArgumentValues(field, node, call.coerced)[ARGUMENT] ?? undefined;
  if ([extension, argument].some((other) => other !== undefined && other !== key)) {
    const message = `The ${HEADER}, extensions.${ARGUMENT} and the argument ${ARGUMENT} must not differ. Send only one.`;
    throw new GatewayError('BAD_REQUEST', message);
  }
  return argument === undefined ? withArgument(document, node, key) : document;
}
