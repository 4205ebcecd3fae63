import { type ErrorCodes, ERRORS, withGatewayErrors } from '../contract/error-codes.ts';
import {
  Forbidden,
  ISSUE_CODES,
  type InputError,
  InvalidInput,
  type Issue,
  type ErrorType,
  type GatewayError,
  MAX_ISSUES,
  MAX_MESSAGE_BYTES,
  shorten,
} from '../contract/gateway-error.ts';
import { toWord, upperFirst } from '../model/words.ts';
import { listOf } from './cost-directives.ts';
import { type Builder, COMMON_ERRORS, typeNamed } from './pothos.ts';

const MESSAGE = { maxBytes: MAX_MESSAGE_BYTES };
// The maximum size of the sentence about one invalid value, as JSON.
const SENTENCE_BYTES = 400;
// The maximum length of a path, and the maximum size of a name in it as JSON. Inputs are less nested, and names shorter.
const MAX_PATH = 5;
const NAME_BYTES = 66;

// The constructors take different arguments.
// oxlint-disable-next-line typescript/no-explicit-any
type ErrorClass = new (...args: any[]) => GatewayError;

/** Returns a readable sentence about an invalid value: "Name must …". */
function toSentence({ path, message }: Issue): string {
  const name = path.findLast((part) => !/^\d+$/.test(part)) ?? 'value';
  return shorten(`${upperFirst(toWord(name))} ${message}`, SENTENCE_BYTES);
}

const defineInterface = (builder: Builder) =>
  builder.interfaceRef<GatewayError>('Error').implement({
    description: 'The fields that all errors share.',
    fields: (t) => ({
      // The enum is defined last.
      code: t.expose('code', {
        type: typeNamed('MutationErrorCode'),
        description: 'A machine-readable code.',
      }),
      message: t.exposeString('message', {
        description: 'A human-readable message.',
        extensions: MESSAGE,
      }),
      httpStatus: t.exposeInt('status', {
        description: 'The HTTP status that corresponds to this error.',
      }),
    }),
  });

/** Defines the fields that only some of the gateway's errors have. */
function defineFields(builder: Builder): void {
  const IssueCodeEnum = builder.enumType('InputIssueCode', {
    description: 'The reason why a value is invalid.',
    values: Object.fromEntries(
      Object.entries(ISSUE_CODES).map(([code, description]) => [code, { description }]),
    ),
  });
  const IssueType = builder.objectRef<Issue>('InputIssue').implement({
    description: 'An invalid value.',
    fields: (t) => ({
      path: t.stringList({
        description: 'The path of the value in the arguments, such as ["input", "name"].',
        extensions: { ofOtherRow: false, ...listOf(MAX_PATH), maxBytes: NAME_BYTES },
        resolve: ({ path }) => path.slice(0, MAX_PATH).map((name) => shorten(name, NAME_BYTES)),
      }),
      code: t.field({
        type: IssueCodeEnum,
        description: 'The reason, as a machine-readable code.',
        extensions: { ofOtherRow: false },
        resolve: ({ code }) => code ?? 'INVALID_VALUE',
      }),
      message: t.string({
        description: 'The reason, as a human-readable sentence.',
        extensions: {
          ofOtherRow: false,
          maxBytes: SENTENCE_BYTES,
          directives: { cost: { weight: '3' } },
        },
        resolve: toSentence,
      }),
      line: t.exposeInt('line', {
        nullable: true,
        description:
          'The zero-based index of the entry in `input` that contains the value, or null if the value is not in a list of entries.',
      }),
    }),
  });

  builder.objectFields(InvalidInput, (t) => ({
    message: t.string({
      description: 'A human-readable message about the first ten invalid values.',
      extensions: MESSAGE,
      resolve: ({ issues }: InputError) => shorten(issues.slice(0, 10).map(toSentence).join(' ')),
    }),
    issues: t.field({
      type: [IssueType],
      description: `The first ${MAX_ISSUES} invalid values.`,
      extensions: listOf(MAX_ISSUES),
      resolve: ({ issues }) => [...issues],
    }),
    issueCount: t.exposeInt('issueCount', { description: 'The number of all invalid values.' }),
  }));

  builder.objectField(Forbidden, 'scope', (t) =>
    t.exposeString('scope', {
      description: 'The scope that the token lacks.',
      extensions: MESSAGE,
    }),
  );
}

/** The interface `Error`, and the types of the errors that mutations return. */
export class ErrorTypes {
  readonly #builder: Builder;
  readonly #Error: ReturnType<typeof defineInterface>;
  readonly #ofStore = new Set<ErrorType>();
  readonly #withLine = new Set<ErrorType>();

  constructor(builder: Builder) {
    this.#builder = builder;
    this.#Error = defineInterface(builder);
    for (const [type, code] of COMMON_ERRORS) this.#define(type, ERRORS[code].description);
    defineFields(builder);
  }

  #define(type: ErrorClass, description: string): void {
    this.#builder.objectType(type, { name: type.name, description, interfaces: [this.#Error] });
  }

  /** Defines the types of the errors that a store declares. */
  add(types: readonly ErrorType[]): void {
    for (const type of types) {
      if (!this.#ofStore.has(type)) this.#define(type, type.spec.description);
      this.#ofStore.add(type);
    }
  }

  /** Adds the field `line` to the errors of a mutation with lines, and returns them. */
  withLine(types: readonly ErrorType[]): ErrorType[] {
    for (const type of types) {
      if (this.#withLine.has(type)) continue;
      this.#withLine.add(type);
      this.#builder.objectField(type, 'line', (t) =>
        t.int({
          nullable: true,
          description:
            'The zero-based index of the rejected entry in `input`, or null if `input` is not a list or ' +
            'several entries may be the reason.',
          resolve: (error) =>
            'line' in error && typeof error.line === 'number' ? error.line : null,
        }),
      );
    }
    return [...types];
  }

  /** Defines the enums of error codes once all types are defined. Returns the codes of the store. */
  defineCodes(): ErrorCodes {
    const codes = Object.fromEntries(
      Array.from(this.#ofStore, ({ spec: { code, ...spec } }) => [code, spec]),
    );
    this.#builder.enumType('ErrorCode', {
      description: 'All error codes: those in `extensions.code`, in `Error.code` and in REST.',
      values: withGatewayErrors(codes),
    });
    const ofGateway = Object.fromEntries(COMMON_ERRORS.map(([, code]) => [code, ERRORS[code]]));
    this.#builder.enumType('MutationErrorCode', {
      description: 'The codes of the errors that mutations return as data.',
      values: { ...ofGateway, ...codes },
    });
    return codes;
  }
}
