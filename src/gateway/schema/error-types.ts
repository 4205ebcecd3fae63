import { type ErrorCodes, ERRORS, withGatewayErrors } from '../contract/error-codes.ts';
import {
  Forbidden,
  IdempotencyConflict,
  InvalidId,
  InvalidInput,
  type Issue,
  type ErrorKind,
  type GatewayError,
  Unauthenticated,
} from '../contract/gateway-error.ts';
import type { Builder, StoreTypes } from './builder-types.ts';

/** A class of errors of a store that mutations return as data. */
export interface ErrorType {
  readonly kind: ErrorKind;
  readonly name: string;
  // The arguments of the constructors differ.
  // oxlint-disable-next-line typescript/no-explicit-any
  new (...args: any[]): GatewayError;
}

const GATEWAY_TYPES = [
  [Unauthenticated, 'UNAUTHENTICATED'],
  [Forbidden, 'FORBIDDEN'],
  [InvalidId, 'INVALID_ID'],
  [InvalidInput, 'INVALID_INPUT'],
  [IdempotencyConflict, 'IDEMPOTENCY_CONFLICT'],
] as const;

/** Returns the codes of the errors of a store. */
export const codesOf = (types: readonly ErrorType[]): ErrorCodes =>
  Object.fromEntries(
    types.map(({ kind: { code, status, description } }) => [code, { status, description }]),
  );

/** Defines the interface `Error`, and the types of the errors that mutations return. */
export function defineErrors<Types extends StoreTypes>(
  builder: Builder<Types>,
  types: readonly ErrorType[],
): void {
  const all = withGatewayErrors(codesOf(types));
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

  const described = [
    ...GATEWAY_TYPES.map(([type, code]) => [type, ERRORS[code].description] as const),
    ...types.map((type) => [type, type.kind.description] as const),
  ];
  for (const [type, description] of described) {
    builder.objectType(type, { name: type.name, description, interfaces: [ErrorInterface] });
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
