import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { settings } from '../../config/index.ts';
import { listMetricNames } from '../monitoring/metric-names.ts';
import { entryFolders } from './compose.ts';
import { deploymentErrors, findKustomize, type Manifest, readManifests, render, schemaErrors, specOf } from './kubernetes.ts';

const root = 'deploy/kubernetes';
/** The manifests of a file. */
const read = (path: string): Manifest[] => readManifests(readFileSync(join(root, path), 'utf8'));
const internalPort = Number(/METRICS_PORT=(\d+)/.exec(readFileSync('Dockerfile', 'utf8'))?.[1]);

describe('deploy/kubernetes', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'));
  for (const file of files.filter((one) => !/(?:kustomization|pod)\.yaml$/.test(one)))
    it(`${file} is valid by the published schemas`, () => {
      // A Deployment is only valid with what it gets from pod.yaml.
      const complete = read(file).filter(({ kind }) => kind !== 'Deployment');
      expect(complete).not.to.deep.equal([]);
      expect(complete.flatMap(schemaErrors)).to.deep.equal([]);
    });

  it('autoscalers use metrics that exist, and the rule for prometheus-adapter in the documents serves them', () => {
    const names = read('components/prometheus/autoscalers.yaml').flatMap(
      (one) => specOf(one).metrics?.map(({ pods }) => pods.metric.name) ?? [],
    );
    expect(new Set(names)).to.deep.equal(new Set(['parlance_sockets', 'nodejs_eventloop_lag_p90_seconds']));
    expect(names.filter((name) => !listMetricNames().has(name))).to.deep.equal([]);
    const rule = /__name__=~"([^"]+)"/.exec(readFileSync('docs/operations/kubernetes.md', 'utf8'))?.[1];
    expect(new Set(rule?.split('|'))).to.deep.equal(new Set(names));
  });
});

describe('deploy/kubernetes/overlays/example, rendered', () => {
  let manifests: Manifest[];
  before(function () {
    const kustomize = findKustomize();
    if (!kustomize) return this.skip();
    manifests = render(kustomize, `${root}/overlays/example`);
  });
  const find = (kind: string, name: string): Manifest | undefined =>
    manifests.find((one) => one.kind === kind && one.metadata.name === name);
  const configOf = (all: readonly Manifest[]): Record<string, string> =>
    (all.find(({ kind }) => kind === 'ConfigMap')?.data ?? {}) as Record<string, string>;
  const errorsOf = (all: readonly Manifest[]): string[] => [
    ...all.flatMap(schemaErrors),
    ...Object.entries(entryFolders).flatMap(([role, entry]) =>
      deploymentErrors(
        role,
        entry,
        all.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === `parlance-${role}`),
        configOf(all),
      ),
    ),
  ];

  it('is valid by the published schemas, and every pod is restricted, probed and has the time to stop', () =>
    expect(errorsOf(manifests)).to.deep.equal([]));

  it('pods get the settings of the ConfigMap', () => {
    const [name] = manifests.filter(({ kind }) => kind === 'ConfigMap').map(({ metadata }) => metadata.name);
    for (const role of Object.keys(entryFolders)) {
      const { containers = [], initContainers = [] } = specOf(find('Deployment', `parlance-${role}`)).template?.spec ?? {};
      for (const { envFrom } of [...containers, ...initContainers]) expect(envFrom).to.deep.equal([{ configMapRef: { name } }]);
    }
  });

  for (const role of Object.keys(entryFolders))
    it(`the Service of ${role} selects its pods, and leads to their ports`, () => {
      const { selector, ports } = specOf(find('Service', `parlance-${role}`));
      const { template } = specOf(find('Deployment', `parlance-${role}`));
      expect(template?.metadata.labels).to.deep.include(selector);
      const open = template?.spec.containers[0]?.ports ?? [];
      expect(ports?.map(({ targetPort }) => targetPort)).to.have.members(open.map(({ name }) => name));
      expect(open.find(({ name }) => name === 'metrics')?.containerPort).to.equal(internalPort);
      for (const { name, containerPort } of open) {
        const setting = { http: 'PORT', gateway: 'GATEWAY_PORT', ops: 'OPS_PORT' }[name];
        if (setting) expect(String(containerPort)).to.equal(settings[setting as 'PORT'].defaultText);
      }
    });

  for (const role of ['api', 'gateway', 'worker'])
    it(`${role} has a disruption budget for its pods, and an autoscaler that sets their number`, () => {
      const { selector, replicas } = specOf(find('Deployment', `parlance-${role}`));
      expect(specOf(find('PodDisruptionBudget', `parlance-${role}`)).selector).to.deep.equal(selector);
      expect(specOf(find('HorizontalPodAutoscaler', `parlance-${role}`)).scaleTargetRef?.name).to.equal(`parlance-${role}`);
      expect(replicas).to.equal(undefined);
    });

  it('the monitor selects the Services of all roles by the port for metrics', () => {
    const { selector, endpoints } = specOf(find('ServiceMonitor', 'parlance'));
    for (const role of Object.keys(entryFolders)) {
      const service = find('Service', `parlance-${role}`);
      expect(service?.metadata).to.have.property('labels').that.deep.includes(selector?.matchLabels);
      expect(specOf(service).ports?.map(({ name }) => name)).to.include(endpoints?.[0]?.port);
    }
  });

  it('one gateway drains before the next is replaced', () =>
    expect(specOf(find('Deployment', 'parlance-gateway')).minReadySeconds).to.be.at.least(30));

  type Pod = NonNullable<ReturnType<typeof specOf>['template']>['spec'];
  const cases: [what: string, change: (api: Pod, spec: Record<string, unknown>) => void, error: RegExp][] = [
    ['an unknown field', (_, spec) => Object.assign(spec, { replcas: 2 }), /unknown field \.spec\.replcas/],
    ['a field of the wrong type', (_, spec) => Object.assign(spec, { minReadySeconds: 'a while' }), /Deployment parlance-api: /],
    ['a missing selector', (_, spec) => delete spec.selector, /Deployment parlance-api: .*selector/s],
    ['another command', (pod) => void pod.containers[0]?.command.push('x'), /api: runs node/],
    ['a missing migration', (pod) => delete pod.initContainers, /api: does not migrate first/],
    ['the user root', (pod) => delete pod.securityContext?.runAsNonRoot, /api: pod is not restricted/],
    ['a writable image', (pod) => delete pod.containers[0]?.securityContext?.readOnlyRootFilesystem, /api parlance: is not locked/],
    ['unlimited memory', (pod) => delete pod.containers[0]?.resources.limits, /api parlance: resources are missing/],
    ['a short time to stop', (pod) => Object.assign(pod, { terminationGracePeriodSeconds: 30 }), /api: is killed before/],
    ['a missing probe', (pod) => delete pod.containers[0]?.livenessProbe, /api: no livenessProbe/],
    ['an unknown setting', (pod) => void pod.containers[0]?.env.push({ name: 'POTR', value: '1' }), /POTR is not a setting/],
    ['a key in the manifest', (pod) => void pod.containers[0]?.env.push({ name: 'APP_KEY', value: 'x' }), /APP_KEY is not from/],
    ['an image without a version', (pod) => Object.assign(pod.containers[0] ?? {}, { image: 'parlance' }), /image parlance is not pinned/],
  ];
  for (const [what, change, error] of cases)
    it(`the check detects ${what}`, () => {
      const changed = structuredClone(manifests);
      const spec = changed.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'parlance-api')?.spec as never;
      change((spec as { template: { spec: Pod } }).template.spec, spec);
      expect(errorsOf(changed).join('\n')).to.match(error);
    });
});
