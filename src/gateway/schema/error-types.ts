import { type ErrorCodes, withGatewayErrors } from '../contract/error-codes.ts';
import {
  Forbidden,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  type Issue,
  type GatewayError,
  Unauthenticated,
} from '../contract/gateway-error.ts';
import type { Builder, StoreTypes } from './builder-types.ts';

/** A class of errors that mutations return as data, and the code of its errors. */
// The arguments of the constructors differ.
// oxlint-disable-next-line typescript/no-explicit-any
type ErrorType = readonly [type: new (...args: any[]) => GatewayError, code: string];

/** The errors of a store: all codes, and the types of those that mutations return. */
export interface ErrorTypes {
  readonly codes: ErrorCodes;
  readonly types: readonly ErrorType[];
}

const GATEWAY_TYPES: readonly ErrorType[] = [
  [Unauthenticated, 'UNAUTHENTICATED'],
  [Forbidden, 'FORBIDDEN'],
  [InvalidId, 'INVALID_ID'],
  [InvalidInput, 'INVALID_INPUT'],
  [IdempotencyConflict, 'IDEMPOTENCY_CONFLICT'],
];

/** Defines the interface `Error`, and the types of the errors that mutations return. */
export function defineErrors<Types extends StoreTypes>(
  builder: Builder<Types>,
  { codes, types }: ErrorTypes,
): void {
  const all = withGatewayErrors(codes);
  const ErrorCodeEnum = builder.enumType('ErrorCode', {
    description: 'All error codes, of `Error.code`, of `extensions.code` and of REST.',
    values: all,
  });

  const ErrorInterface = builder.interfaceRef<GatewayError>('Error').implement({
    description: 'The fields that all errors have.',
    fields: (t) => ({
      code: t.expose('code', { type: ErrorCodeEnum, description: 'The error code, for programs.' }),
      message: t.exposeString('message', {
        description: 'A description of the error, for people.',
      }),
      status: t.exposeInt('status', {
        description:
          'The HTTP status of the same error in REST. To select a field `status` of another type too, use an ' +
          'alias: httpStatus: status.',
      }),
    }),
  });

  const IssueType = builder.objectRef<Issue>('InputIssue').implement({
    description: 'An invalid value.',
    fields: (t) => ({
      path: t.exposeStringList('path', {
        description: 'The path of the value in the arguments, such as ["input", "name"].',
      }),
      message: t.exposeString('message', { description: 'Why the value is invalid.' }),
    }),
  });

  for (const [type, code] of [...GATEWAY_TYPES, ...types]) {
    builder.objectType(type, {
      name: type.name,
      description: all[code]?.description ?? '',
      interfaces: [ErrorInterface],
    });
  }

  for (const type of [InvalidId, InvalidInput]) {
    builder.objectField(type, 'issues', (t) =>
      t.field({
        type: [IssueType],
        description: 'The invalid values.',
        resolve: ({ issues }) => [...issues],
      }),
    );
  }

  builder.objectField(Forbidden, 'scope', (t) =>
    t.exposeString('scope', { description: 'The scope that the token lacks.' }),
  );
}
