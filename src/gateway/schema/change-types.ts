import type { InputRef, OutputRef } from '@pothos/core';

import type { Selection } from '../changes/catch-up.ts';
import {
  type Change as RecordedChange,
  changePagesOf,
  cursorOf,
  parseCursor,
  requireKept,
  supportedChanges,
} from '../changes/change-log.ts';
import { AFTER_COST } from '../changes/streams.ts';
import { type CallContext, originOf } from '../context.ts';
import type { Who } from '../database/who.ts';
import { SEARCH_COST } from '../list/filter.ts';
import type { ListArguments } from '../list/listing.ts';
import { lowerFirst, toEnumName, toFieldName } from '../model/words.ts';
import type { Repository } from '../repository.ts';
import { rootPage } from './connections.ts';
import type { InputTypes } from './input-types.ts';
import type { Builder } from './pothos.ts';
import { relatedRow } from './rows.ts';

// The size of a change's cursor if its transaction and its id both have 19 digits, and its time has 13 (until 2286).
const CHANGE_CURSOR_BYTES = 96;

/** Returns the options of a field that says who made a change. */
const whoField = (name: keyof Who, maxBytes: number, what: string) => ({
  nullable: true as const,
  description: `${what}. Null if SQL made the change. Requires the scope \`audit\` if the gateway requires tokens.`,
  extensions: { scope: 'audit', maxBytes },
  resolve: ({ who }: RecordedChange) => who?.[name] ?? null,
});

function defineChange(builder: Builder) {
  const ChangeKind = builder.enumType('ChangeKind', {
    description: 'The kind of change.',
    values: {
      CREATED: { value: 'created', description: 'The object was created.' },
      UPDATED: { value: 'updated', description: 'At least one field changed.' },
      DELETED: { value: 'deleted', description: 'The object was deleted.' },
    } as const,
  });

  return builder.interfaceRef<RecordedChange>('Change').implement({
    description:
      'A change made by a mutation, or by an operator with SQL. One mutation may make several ' +
      'changes.',
    resolveType: ({ type }) => `${type}Change`,
    fields: (t) => ({
      cursor: t.string({
        description: 'The position of the change in the change log, to pass as `after`.',
        extensions: { directives: { cost: { weight: '0.1' } }, maxBytes: CHANGE_CURSOR_BYTES },
        resolve: cursorOf,
      }),
      kind: t.expose('kind', { type: ChangeKind, description: 'The kind of change.' }),
      changedAt: t.expose('changedAt', {
        type: 'DateTime',
        description:
          'The time of the change. The change log is in the order in which transactions started to ' +
          'write, so its times are not always ascending.',
      }),
      // As JSON, each of 255 characters takes six bytes at most. On a WebSocket, a number is added to the id.
      by: t.string(whoField('by', 1532, 'The caller that made the change: the `sub` of its token')),
      requestId: t.string(whoField('requestId', 150, 'The id of the request, as in the log')),
      operationName: t.string(whoField('operationName', 102, 'The name of the operation')),
    }),
  });
}

type ChangeRef = ReturnType<typeof defineChange>;

function followIn(
  context: CallContext,
  { after, ...selection }: Omit<Selection, 'source'> & Pick<ListArguments, 'after'>,
) {
  const { changes, source } = context;
  const stream = originOf(context, 'stream');
  const { lastEventId } = stream;
  if (lastEventId !== undefined) parseCursor(lastEventId, 'Last-Event-ID');
  return changes.follow(stream, { ...selection, source }, lastEventId ?? after);
}

/** @throws InputError with INVALID_CURSOR */
const afterIn = ({ after }: Pick<ListArguments, 'after'>) => {
  if (after != null) parseCursor(after, 'after');
  return after;
};

const afterArgument = (builder: Builder) =>
  builder.args((t) => ({
    after: t.string({
      description:
        'The cursor after which to resume. If omitted, the stream starts with the next change.',
      extensions: { directives: { cost: { weight: String(AFTER_COST) } } },
    }),
  }));

function defineRowChange(
  builder: Builder,
  Change: ChangeRef,
  object: OutputRef<object>,
  { type, words, fromRecorded, byId }: Repository,
) {
  return builder.objectRef<RecordedChange>(`${type}Change`).implement({
    description: `A change to ${words.aSingular}.`,
    interfaces: [Change],
    fields: (t) => ({
      [`${toFieldName(words.idOf)}Id`]: t.exposeID('rowId', {
        description: `The id of the ${words.idOf}.`,
      }),
      [lowerFirst(type)]: t.field({
        type: object,
        nullable: true,
        description: `The current state of the ${words.singular}, or null if it no longer exists.`,
        ...relatedRow(byId, 'rowId'),
      }),
      before: t.field({
        type: object,
        nullable: true,
        description: `The ${words.singular} before the change, or null if the change created it.`,
        resolve: ({ before }) => before && fromRecorded(before),
      }),
      after: t.field({
        type: object,
        nullable: true,
        description: `The ${words.singular} after the change, or null if the change deleted it.`,
        resolve: ({ after }) => after && fromRecorded(after),
      }),
    }),
  });
}

/** The types of changes, and the fields that read and follow the change log. */
export class ChangeTypes {
  readonly #builder: Builder;
  readonly #inputs: InputTypes;
  readonly #Change: ChangeRef;

  constructor(builder: Builder, inputs: InputTypes) {
    this.#builder = builder;
    this.#inputs = inputs;
    this.#Change = defineChange(builder);
  }

  /** Defines the type of a table's changes, and the subscription to them. */
  add(object: OutputRef<object>, repository: Repository): void {
    const builder = this.#builder;
    const { type, words, toRecorded } = repository;
    const about = `Conditions for changes to ${words.aSingular}. The ${words.singular} must meet all of them before the change, or all of them after it.`;
    const RowFilter = this.#inputs.filterOf(`${type}ChangeFilter`, about, 'changes', repository);
    const RowChange = defineRowChange(builder, this.#Change, object, repository);
    const read = (args: ListArguments) => ({
      after: afterIn(args),
      filter: args.filter == null ? undefined : toRecorded(args.filter),
    });
    builder.subscriptionField(`${lowerFirst(words.prefix)}Changed`, (t) =>
      t.field({
        type: RowChange,
        description: `Changes to ${words.plural}.`,
        args: {
          ...(RowFilter && {
            filter: t.arg({
              type: RowFilter,
              description: `Only changes to ${words.plural} that meet these conditions.`,
            }),
          }),
          ...afterArgument(builder),
        },
        extensions: { read },
        subscribe: (_root, args, context) => followIn(context, { types: [type], ...read(args) }),
        resolve: (change) => change,
      }),
    );
  }

  /** Defines `Query.changes` and `Subscription.changed` once the types of all changes are defined. */
  defineLog(repositories: readonly Repository[]): void {
    const types = repositories.map(({ type }) => type);
    const ChangedType = this.#builder.enumType('ChangedType', {
      description: 'The type of an object whose changes are recorded.',
      values: Object.fromEntries(
        repositories.map(({ type, words }) => [
          toEnumName(type),
          { value: type, description: `Changes to ${words.plural}.` },
        ]),
      ),
    });
    this.#defineQuery(ChangedType, types);
    this.#builder.subscriptionField('changed', (t) =>
      t.field({
        type: this.#Change,
        description: 'Changes to objects of several types, in one stream.',
        args: {
          types: t.arg({
            type: [ChangedType],
            description:
              'Only changes to objects of these types; all types by default. An empty list matches ' +
              'nothing.',
          }),
          ...afterArgument(this.#builder),
        },
        extensions: { read: afterIn },
        subscribe: (_root, args, context) =>
          followIn(context, { types: args.types ?? types, filter: undefined, after: args.after }),
        resolve: (change) => change,
      }),
    );
  }

  #defineQuery(ChangedType: InputRef<string>, types: readonly string[]): void {
    const builder = this.#builder;
    const Change = this.#Change;
    const ChangeFilter = builder.inputType('ChangeFilter', {
      description: 'Conditions for a list of changes.',
      fields: (t) => ({
        types: t.field({
          type: [ChangedType],
          description: 'Only changes to objects of these types. An empty list matches nothing.',
          extensions: { directives: { cost: { weight: SEARCH_COST } } },
        }),
      }),
    });
    const page = rootPage(changePagesOf(supportedChanges(types)));
    builder.queryField('changes', (t) =>
      t.connection(
        {
          type: Change,
          description:
            'The change log, in the order in which transactions started to write. Changes are kept ' +
            'for a day, unless the operator has configured another period. A change becomes visible ' +
            'once no open transaction can add an earlier change. To follow the log, repeat the ' +
            'query, and pass the last non-null `endCursor` as `after`.',
          args: {
            filter: t.arg({
              type: ChangeFilter,
              description: 'Only changes that meet these conditions.',
            }),
          },
          extensions: {
            // Operations that select changes are not compiled to one statement, so all of their fields take longer.
            directives: { ...page.extensions.directives, cost: { weight: '150' } },
            read: (args: ListArguments) => {
              if (args.after != null) parseCursor(args.after, 'after');
              if (args.before != null) parseCursor(args.before, 'before');
              return page.extensions.read(args);
            },
          },
          resolve: async (root, args, context) => {
            const { db } = context.source;
            if (args.before != null) await requireKept(db, args.before, 'before');
            const result = await page.resolve(root, args, context);
            if (args.after != null) await requireKept(db, args.after, 'after');
            return result;
          },
        },
        { name: 'ChangeConnection' },
        { name: 'ChangeEdge' },
      ),
    );
  }
}
