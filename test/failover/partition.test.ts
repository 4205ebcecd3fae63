import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Cluster, hasPatroni, startCluster } from '../support/patroni.ts';
import { killPrograms, type Program, startProgram } from '../support/program.ts';
import { startTcpProxy, through } from '../support/proxies.ts';
import { ordersOf, send, startReaders, startWriters } from '../support/replicated-gateway.ts';

describe.skipIf(!hasPatroni)(
  "a primary that is cut off from the cluster of deploy/patroni, but not from the gateways (needs Debian's packages patroni, etcd-server and haproxy)",
  () => {
    let cluster: Cluster;
    let gateway: Program;
    let petId: string;
    const start = (variables = {}): Promise<Program> =>
      startProgram({ ...cluster.environment, SAMPLE_STORE: 'false', ...variables });

    beforeAll(async () => {
      cluster = await startCluster();
      await cluster.settle();
      gateway = await start();
      const create = `mutation { createCategory(input: { name: "Cats" }) { ... on Category { id } } }`;
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

    it.each([
      ['synchronous', true],
      ['asynchronous', false],
    ])('loses no order of after the promotion, with %s replication', async (_, isSynchronous) => {
      const [anyone] = cluster.members;
      await anyone?.setSynchronous(isSynchronous);
      const former = await cluster.settle(isSynchronous);
      // A gateway that never learns of the failover, and one behind HAProxy.
      const route = await startTcpProxy([former.url]);
      const stale = await start({
        DATABASE_URL: through(route, former.url),
        STATEMENT_TIMEOUT_MS: '2000',
      });
      const path = `/pets/${petId}`;
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
      const placed = writers.flatMap(({ ids, times }) =>
        ids.map((id, index) => ({ id, time: times[index] ?? 0 })),
      );
      const lost = placed.filter(({ id }) => !kept.has(id));
      expect(lost.filter(({ time }) => time > at)).toEqual([]);
      expect(lost.length > 0).toBe(!isSynchronous);
      // A replica is at most a second behind.
      expect(lost.filter(({ time }) => time < cutAt - 1000)).toEqual([]);
    });
  },
);
