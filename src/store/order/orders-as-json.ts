import sql, { raw } from 'sql-template-tag';

import { MAX_LIST_SIZE, type Session, timeAsText } from '../../gateway/index.ts';

const SHIP_DATE = raw(timeAsText('ship_date'));

// Written for an order with a null that its table should not allow. In JSON, this character occurs only escaped.
const INCOMPLETE = '\u0001';

/** A page of orders as a JSON array. */
export interface OrdersAsJson {
  readonly json: string;
  /** The id of the last order; null if the page is empty. */
  readonly last: bigint | null;
  /** Whether more orders follow. */
  readonly more: boolean;
}

/**
 * Returns at most `limit` orders with ids greater than `after`, sorted by id, in the REST format. PostgreSQL writes
 * the JSON: for a thousand rows, it is ten times as fast as Node.js.
 */
export async function ordersAsJson(
  db: Session,
  after: bigint,
  limit: number,
): Promise<OrdersAsJson> {
  const statement = sql`
    select
      '[' || coalesce(string_agg(coalesce(
        '{"id":' || id || ',"petId":' || pet_id || ',"quantity":' || quantity
          || coalesce(',"shipDate":"' || ${SHIP_DATE} || '"', '')
          || ',"complete":' || complete || '}', ${INCOMPLETE}), ','), '') || ']' as json,
      max(id) as last,
      (select id from orders where id > max(page.id) order by id limit 1) is not null as more
    from (select * from orders where id > ${after} order by id limit ${limit}) as page`;
  // Heavy statements get only some of the connections, so callers that read all orders cannot occupy all connections.
  const load = limit > MAX_LIST_SIZE ? 'heavy' : 'light';
  const [page] = await db.query<OrdersAsJson>(statement, { load });
  if (page?.json.includes(INCOMPLETE)) throw new Error('An order has a null in a required column.');
  return page ?? { json: '[]', last: null, more: false };
}
