import { beforeAll, expect, it } from 'vitest';

import { useProgram, useProgramStore } from '../../support/databases.ts';
import { ask } from '../../support/program.ts';

// Until 1883, New York was 4:56:02 behind UTC.
const DATES = ['0001-01-01T00:00:00.000Z', '1850-01-01T00:00:00.120Z', '2100-03-01T08:00:00.000Z'];

const store = useProgramStore();
const program = useProgram(store, { TZ: 'America/New_York' });
beforeAll(() =>
  store.run(`
    insert into categories (name) values ('Cats');
    insert into pets (name, category_id) values ('Cleo', 1);
    insert into inventory_items (pet_id, quantity) values (1, 1000);
    insert into orders (pet_id, quantity) values (1, 1)`),
);

it.each(DATES)(
  'a gateway whose time zone is not UTC finds and returns the ship date %s',
  async (date) => {
    await store.run(`insert into orders (pet_id, quantity, ship_date) values (1, 1, '${date}')`);
    const { found } = await ask(
      program,
      `{ found: orders(filter: { shipDate: { from: "${date}", before: "9999-01-01T00:00:00Z" } },
        orderBy: { field: SHIP_DATE, direction: ASC }, first: 1) { nodes { shipDate } } }`,
    );
    expect(found.nodes).toEqual([{ shipDate: date }]);
  },
);
