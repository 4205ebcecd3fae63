import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { Member } from '../support/patroni-member.ts';
import { type Cluster, hasPatroni, startCluster } from '../support/patroni.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';
import { startTcpProxy, through } from '../support/proxies.ts';
import { ordersOf, send, startReaders, startWriters } from '../support/replicated-gateway.ts';

// How long a gateway may take to accept writes once a replica has become the primary: in the median, because this
// machine runs all servers, and at most.
const MEDIAN_DELAY_MS = 700;
const MAX_DELAY_MS = 3000;

describe.skipIf(!hasPatroni)(
  "the cluster of deploy/patroni (needs Debian's packages patroni, etcd-server and haproxy)",
  () => {
    let cluster: Cluster;
    let gateways: Program[];
    let petId: string;
    /** The ids of all acknowledged orders. */
    const placed: string[] = [];
    /** For each failover and gateway, the time from the promotion to the first acknowledged order, in milliseconds. */
    const delays: number[] = [];

    const start = (variables = {}): Promise<Program> =>
      startProgram({ ...cluster.environment, SAMPLE_STORE: 'false', ...variables });
    /** Starts a gateway that never learns of a failover. */
    async function startStale({ url }: { url: string }) {
      const route = await startTcpProxy([url]);
      const variables = { DATABASE_URL: through(route, url), STATEMENT_TIMEOUT_MS: '2000' };
      return { route, stale: await start(variables) };
    }

    beforeAll(async () => {
      cluster = await startCluster();
      await cluster.settle();
      gateways = await Promise.all([start(), start()]);
      const [gateway] = gateways as [Program];
      const create = `mutation {
        createCategory(input: { name: "Cats" }) { ... on Category { id } } }`;
      const categoryId = (await send(gateway, create)).data.createCategory.id;
      const created = await send(
        gateway,
        `mutation { createPet(input: { name: "Cleo", categoryId: "${categoryId}", quantity: 1000000 }) {
          ... on Pet { id } } }`,
      );
      petId = created.data.createPet.id;
    });
    afterAll(async () => {
      await killPrograms();
      await cluster.stop();
    });

    /** Expects the primary to have each acknowledged order exactly once, and to have taken its units from the stock. */
    async function expectAllPlaced(primary: Member): Promise<void> {
      expect(new Set(placed).size).toBe(placed.length);
      const orders = await ordersOf(primary.url);
      expect(placed.filter((id) => !orders.has(id))).toEqual([]);
      expect(orders.size).toBe(placed.length);
      const [gateway] = gateways as [Program];
      const stock = `{ inventoryItem(petId: "${petId}") { quantity } }`;
      const { data } = await send(gateway, stock, 'any');
      expect(data.inventoryItem.quantity).toBe(1_000_000 - placed.length);
    }

    it.each<[string, (primary: Member) => unknown, (former: Member) => unknown]>([
      ['is killed', (primary) => primary.kill(), (former) => former.start()],
      ['is replaced by an operator', (primary) => primary.switchOver(), () => undefined],
      ['freezes', (primary) => primary.freeze(), (former) => former.thaw()],
    ])('fails no read and loses no order when the primary %s', async (_, begin, end) => {
      const former = await cluster.settle();
      const path = `/pets/${petId}`;
      const query = `{ pet(id: "${petId}") { name inventory { quantity } } }`;
      const readers = gateways.map((gateway) =>
        startReaders(gateway, query, { concurrency: 3, path }),
      );
      // They also expect each read with the position of an order to return it.
      const writers = gateways.map((gateway) => startWriters(gateway, petId, { concurrency: 3 }));
      const goOn = (): Promise<unknown> =>
        Promise.all([...readers, ...writers].map((callers) => callers.more(30)));
      await goOn();
      const replicas = cluster.members.filter((one) => one !== former);
      const [{ primary, at }] = await Promise.all([cluster.promoted(replicas), begin(former)]);
      await goOn();
      await end(former);
      await cluster.settle();
      await goOn();
      await Promise.all([...readers, ...writers].map((callers) => callers.stop()));

      placed.push(...writers.flatMap(({ ids }) => ids));
      await expectAllPlaced(primary);
      for (const { times } of writers) {
        const next = times.find((time) => time > at) ?? Infinity;
        expect(next - at).toBeLessThan(MAX_DELAY_MS);
        delays.push(next - at);
      }
    });

    it('fails no read when a replica freezes or is killed', async () => {
      const primary = await cluster.settle();
      const [one, other] = cluster.members.filter((member) => member !== primary);
      const readers = startReaders(gateways[0] as Program, `{ pet(id: "${petId}") { name } }`, {
        concurrency: 6,
        path: `/pets/${petId}`,
      });
      await readers.more(100);
      one?.freeze();
      await readers.more(100);
      await other?.kill();
      await readers.more(100);
      one?.thaw();
      await other?.start();
      await cluster.settle();
      await expect(readers.stop()).resolves.toBeUndefined();
    });

    it('accepts writes within 0.7 s of the promotion, in the median', () => {
      expect(delays.toSorted((a, b) => a - b)[Math.floor(delays.length / 2)]).toBeLessThan(
        MEDIAN_DELAY_MS,
      );
    });

    it('never writes to a former primary that was frozen, even if a gateway still has a route to it', async () => {
      const former = await cluster.settle();
      const { route, stale } = await startStale(former);
      const writers = startWriters(stale, petId, { concurrency: 6 });
      await writers.more(30);
      former.freeze();
      const replicas = cluster.members.filter((one) => one !== former);
      const { primary } = await cluster.promoted(replicas);
      former.thaw();
      await cluster.settle();
      const rename = `mutation { updatePet(id: "${petId}", input: { name: "Rex" }) { ... on Pet { name } } }`;
      expect((await send(stale, rename)).code).toBe('SERVICE_UNAVAILABLE');
      route.targets = [primary.url];
      await writers.more(30);
      await writers.stop();
      placed.push(...writers.ids);
      await expectAllPlaced(primary);
      await stale.stop();
      await route.close();
    });

    it.each([
      ['synchronous', true],
      ['asynchronous', false],
    ])(
      'loses no order of after the promotion when the primary is cut off, with %s replication',
      async (_, isSynchronous) => {
        const [anyone] = cluster.members;
        await anyone?.setSynchronous(isSynchronous);
        const former = await cluster.settle(isSynchronous);
        // A gateway that never learns of the failover, and one behind HAProxy.
        const { route, stale } = await startStale(former);
        const path = `/pets/${petId}`;
        const [gateway] = gateways as [Program];
        const readers = startReaders(gateway, `{ pet(id: "${petId}") { name } }`, {
          concurrency: 2,
          path,
        });
        const options = { concurrency: 3, mayLose: !isSynchronous };
        const writers = [gateway, stale].map((one) => startWriters(one, petId, options));
        const [behindHaproxy, atFormer] = writers as [(typeof writers)[0], (typeof writers)[0]];
        await Promise.all(writers.map((callers) => callers.more(30)));
        const cutAt = performance.now();
        former.cutOff();
        const replicas = cluster.members.filter((one) => one !== former);
        const { primary, at } = await cluster.promoted(replicas);
        // Patroni has demoted it before, so there are never two primaries.
        expect(await former.isPrimary()).toBe(false);
        await Promise.all([readers.more(30), behindHaproxy.more(30)]);
        former.rejoin();
        await cluster.settle(isSynchronous);
        await behindHaproxy.more(30);
        expect(
          await send(stale, `mutation { deletePet(id: "${petId}") { __typename } }`),
        ).toMatchObject({
          code: 'SERVICE_UNAVAILABLE',
        });
        route.targets = [primary.url];
        await atFormer.more(30);
        await readers.stop();
        await behindHaproxy.stop();
        await atFormer.stop();
        await stale.stop();
        await route.close();

        const kept = await ordersOf(primary.url);
        const acknowledged = writers.flatMap(({ ids, times }) =>
          ids.map((id, index) => ({ id, time: times[index] ?? 0 })),
        );
        const lost = acknowledged.filter(({ id }) => !kept.has(id));
        expect(lost.filter(({ time }) => time > at)).toEqual([]);
        expect(lost.length > 0).toBe(!isSynchronous);
        // A replica is at most a second behind.
        expect(lost.filter(({ time }) => time < cutAt - 1000)).toEqual([]);
      },
    );
  },
);
