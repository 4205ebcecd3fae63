import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { Deployment, type IDeployment } from 'kubernetes-models/apps/v1';
import { type IJob, Job } from 'kubernetes-models/batch/v1';
import { type IPodDisruptionBudget, PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, type IConfigMap, type IService, Service } from 'kubernetes-models/v1';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';

import { makeFolder } from '../support/folders.ts';
import { expectExplained } from '../support/standards.ts';
import { settingsOf } from '../support/start.ts';

const DATABASE_URL = 'postgresql://store@db/store';
// How long closing the database may take, after the time for requests.
const CLOSING_MS = 5000;

const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0;

const read = (file: string): string => readFileSync(file, 'utf8');

const imageVariables = Object.fromEntries(
  [...(/^ENV (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '').matchAll(/(\w+)=(\S+)/g)].map(
    ([, name = '', value = '']) => [name, value],
  ),
);
const imageUser = Number(/^USER (\d+):\d+$/m.exec(read('Dockerfile'))?.[1]);

/** Expects a gateway in the image to accept the variables, and to have enough time to stop. */
function expectGateway(variables: Record<string, string>, stopSeconds: number): void {
  const { host, stopDelayMs, stopTimeoutMs } = settingsOf(variables, imageVariables);
  expect(host).not.toBe('127.0.0.1');
  expect(stopSeconds * 1000).toBeGreaterThanOrEqual(stopDelayMs + stopTimeoutMs + CLOSING_MS);
}

type Services = Record<string, Record<string, unknown>>;

const CLUSTER = 'deploy/patroni/compose.yaml';

const servicesOf = (file: string): Services =>
  (
    parse(read(file).replaceAll(/\$\{\w+:\?[^}]*\}/g, 'secret'), { merge: true }) as {
      services: Services;
    }
  ).services;

describe.each([
  { file: 'compose.yaml', images: ['pet-store-gateway'], withCapabilities: ['postgres'] },
  { file: CLUSTER, images: ['pet-store-cluster', 'pet-store-gateway'], withCapabilities: [] },
])('$file', ({ file, images, withCapabilities }) => {
  const services = servicesOf(file);

  it.each(['gateway-1', 'gateway-2', 'migrate'])(
    'sets only variables that %s accepts, and a long enough grace period',
    (name) => {
      const { environment, stop_grace_period: time } = services[name] ?? {};
      expectGateway(environment as Record<string, string>, parseInt(time as string, 10));
    },
  );

  it('builds each image once, because simultaneous builds of one image fail, and starts the gateways after the migration', () => {
    const built = Object.values(services).filter((service) => service['build'] !== undefined);
    expect(built.map((service) => service['image'])).toEqual(images);
    for (const name of ['gateway-1', 'gateway-2']) {
      expect(services[name]).toMatchObject({
        image: 'pet-store-gateway',
        depends_on: { migrate: { condition: 'service_completed_successfully' } },
      });
    }
  });

  it('makes all root file systems read-only, drops the capabilities of all services except a database that needs them, and contains no password', () => {
    expect(Object.values(services).filter((service) => service['read_only'] !== true)).toEqual([]);
    expect(
      Object.keys(services).filter((name) => services[name]?.['cap_drop'] === undefined),
    ).toEqual(withCapabilities);
    const passwords = read(file).match(/^ +\w+_PASSWORD: .*$/gm) ?? [];
    expect(passwords).not.toEqual([]);
    for (const line of passwords) expect(line).toMatch(/\$\{POSTGRES_PASSWORD:\?.*\}$/);
  });
});

describe('deploy/patroni', () => {
  const services = servicesOf(CLUSTER);

  it('leads the two addresses of the gateways through HAProxy to all servers', () => {
    const haproxy = read('deploy/patroni/haproxy.cfg');
    const { environment } = services['gateway-1'] as { environment: Record<string, string> };
    const ports = ['DATABASE_URL', 'DATABASE_REPLICA_URL'].map(
      (name) => new URL(environment[name] ?? '').port,
    );
    expect(haproxy.match(/(?<=bind :)\d+/g)).toEqual(ports);
    const databases = Object.keys(services).filter((name) => name.startsWith('db-'));
    expect(haproxy.match(/(?<=^ {2}server )\S+/gm)).toEqual([...databases, ...databases]);
  });

  it.runIf(hasHaproxy)("passes HAProxy's verification (needs Debian's haproxy package)", () => {
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', 'deploy/patroni/haproxy.cfg'], {
      encoding: 'utf8',
    });
    // Here, the names of the servers lead nowhere.
    const warnings = stderr.split('\n').filter((line) => line.startsWith('[WARNING]'));
    expect(warnings.filter((line) => !line.includes('could not resolve address'))).toEqual([]);
    expect(status).toBe(0);
  });
});

describe('deploy/kubernetes.yaml', () => {
  const objects = parseAllDocuments(read('deploy/kubernetes.yaml')).map((document): unknown =>
    document.toJS(),
  );
  const [configMap, job, deployment, service, budget] = objects as [
    IConfigMap,
    IJob,
    IDeployment,
    IService,
    IPodDisruptionBudget,
  ];

  const pod = deployment.spec?.template.spec;
  const [container] = pod?.containers ?? [];

  it('has the required fields and the types of the API of Kubernetes', () => {
    const models = [
      new ConfigMap(configMap),
      new Job(job),
      new Deployment(deployment),
      new Service(service),
      new PodDisruptionBudget(budget),
    ];
    expect(objects).toHaveLength(models.length);
    for (const model of models) expect(() => model.validate()).not.toThrow();
  });

  it('sets only variables that the gateway and the migration accept, including MIGRATE=false, and allows enough time to shut down', () => {
    const variables = { ...configMap.data, DATABASE_URL };
    expectGateway(variables, pod?.terminationGracePeriodSeconds ?? 30);
    const { migrate, stopDelayMs } = settingsOf(variables, imageVariables);
    expect(migrate).toBe(false);
    expect(stopDelayMs).toBeGreaterThan((container?.readinessProbe?.periodSeconds ?? 10) * 1000);
  });

  it("selects the gateway's pods, and not the migration's pod", () => {
    const selector = deployment.spec?.selector.matchLabels ?? {};
    expect(selector).not.toEqual({});
    expect(service.spec?.selector).toEqual(selector);
    expect(budget.spec?.selector?.matchLabels).toEqual(selector);
    expect(deployment.spec?.template.metadata?.labels).toMatchObject(selector);
    expect(job.spec?.template.metadata?.labels ?? {}).not.toMatchObject(selector);
  });

  it('sets the labels by which prometheus.yaml finds the pods', () => {
    const [, label = ''] = /label: (.*)$/m.exec(read('deploy/prometheus/prometheus.yaml')) ?? [];
    const wanted = Object.fromEntries(label.split(',').map((pair) => pair.split('=')));
    expect(deployment.spec?.template.metadata?.labels).toEqual(wanted);
  });

  it("runs containers without privileges, as the image's user", () => {
    for (const { spec } of [job.spec?.template ?? {}, deployment.spec?.template ?? {}]) {
      expect(spec?.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: imageUser });
      expect(spec?.containers.map(({ securityContext }) => securityContext)).toEqual([
        {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        },
      ]);
    }
  });
});

const UNIT = 'deploy/pet-store-gateway.service';
const unitText = read(UNIT);
const valueOf = (name: string): string =>
  new RegExp(`^${name}=(.*)$`, 'm').exec(unitText)?.[1] ?? '';
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

describe('the systemd unit', () => {
  it('starts the gateway like `npm start`, with a long enough grace period', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    expect(
      valueOf('ExecStart').replace('/opt/pet-store-gateway/', '').replace('/usr/bin/', ''),
    ).toBe(scripts['start']);
    const { stopDelayMs, stopTimeoutMs } = settingsOf({});
    expect(Number(valueOf('TimeoutStopSec')) * 1000).toBeGreaterThanOrEqual(
      stopDelayMs + stopTimeoutMs + CLOSING_MS,
    );
  });

  it.runIf(hasSystemd).each([UNIT, 'docs/examples/webhooks/pet-store-webhooks.service'])(
    "passes systemd's verification, and lacks only the restrictions that docs/standards.md explains: %s",
    (path) => {
      const unit = read(path).replace('/usr/bin/node', process.execPath);
      const file = join(makeFolder(), basename(path));
      writeFileSync(file, unit);
      const { stdout, stderr, status } = spawnSync('systemd-analyze', ['verify', file], {
        encoding: 'utf8',
      });
      expect({ stdout, stderr, status }).toEqual({ stdout: '', stderr: '', status: 0 });
      const options = ['--offline=true', '--threshold=15', '--json=short'];
      const security = execFileSync('systemd-analyze', ['security', ...options, file]);
      const settings = JSON.parse(String(security)) as { name: string; exposure: string | null }[];
      const lacking = settings.filter(({ exposure }) => Number(exposure) > 0);
      expectExplained(
        'systemd-analyze',
        lacking.map(({ name }) => name),
      );
    },
  );
});
