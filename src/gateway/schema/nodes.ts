import type { CallContext } from '../context.ts';
import { InvalidId } from '../contract/errors.ts';
import { Id } from '../contract/values.ts';
import type { RowLoader, Store } from '../tables/loaders.ts';
import { builder } from './builder.ts';
import type { FieldSql } from './rows.ts';

const NODE_ID =
  'An id that no other row has, of any type: for caches, and for `node`. Do not take it apart, its form may change.';

/** A type whose rows have global ids: https://relay.dev/graphql/objectidentification.htm */
export const Node = builder.interfaceRef('Node').implement({
  description: 'A row of the store that `node` finds.',
  fields: (t) => ({ nodeId: t.id({ description: NODE_ID }) }),
});

type Load = (store: Store, id: bigint) => Promise<object | null>;

const loads = new Map<string, Load>();

/** Returns the options of the field `nodeId` of a type, and lets `node` find its rows. */
export function nodeId<Row extends object>(
  typeName: string,
  { load }: RowLoader<Row | null>,
  idOf: (row: Row) => bigint,
) {
  loads.set(typeName, load);
  const sql: FieldSql = { kind: 'nodeId', typeName };
  return {
    description: NODE_ID,
    extensions: { sql },
    resolve: (row: Row) => `${typeName}_${idOf(row)}`,
  };
}

/** Returns the function that loads the row. @throws InvalidId */
function parseNodeId(text: string, ...path: string[]) {
  const [typeName = '', digits, ...others] = text.split('_');
  const load = loads.get(typeName);
  const id = Id.safeParse(digits);
  if (!load || !id.success || others.length > 0) {
    throw new InvalidId([{ path, message: 'is not a nodeId of this store.' }]);
  }
  return async (store: Store): Promise<object | null> => {
    const row = await load(store, id.data);
    return row && { ...row, __typename: typeName };
  };
}

const parseNodeIds = (texts: readonly string[]) =>
  texts.map((text, index) => parseNodeId(text, 'nodeIds', String(index)));

builder.queryFields((t) => ({
  node: t.field({
    type: Node,
    nullable: true,
    description: 'The row with this global id, or null if it does not exist.',
    args: { nodeId: t.arg.id({ required: true, description: 'The `nodeId` of the row.' }) },
    extensions: {
      directives: { cost: { weight: '100' } },
      checkArguments: (args: { nodeId: string }) => void parseNodeId(args.nodeId, 'nodeId'),
    },
    resolve: (_root, args, { store }: CallContext) => parseNodeId(args.nodeId, 'nodeId')(store),
  }),
  nodes: t.field({
    type: [Node],
    nullable: { list: false, items: true },
    description:
      'The rows with these global ids in the same order, null for each that does not exist.',
    args: {
      nodeIds: t.arg.idList({
        required: true,
        description: 'The `nodeId` of each row, as many as a page may have.',
      }),
    },
    extensions: {
      directives: {
        // A statement for each type.
        cost: { weight: '400' },
        listSize: {
          assumedSize: 100,
          slicingArguments: ['nodeIds'],
          sizedFields: [],
          requireOneSlicingArgument: false,
        },
      },
      checkArguments: (args: { nodeIds: string[] }) => void parseNodeIds(args.nodeIds),
    },
    resolve: (_root, { nodeIds }, { store }: CallContext) =>
      Promise.all(parseNodeIds(nodeIds).map((load) => load(store))),
  }),
}));
