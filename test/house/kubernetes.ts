import { execFileSync } from 'node:child_process';
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Ingress } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Namespace, Service } from 'kubernetes-models/v1';
import { parseAllDocuments } from 'yaml';
import { settings } from '../../config/index.ts';
import { shutdownMs } from '../../lib/base/process.ts';

/** A manifest as YAML has it. */
export type Manifest = Record<string, unknown> & { apiVersion: string; kind: string; metadata: { name: string } };

const models = [Deployment, HorizontalPodAutoscaler, Ingress, PodDisruptionBudget, ConfigMap, Namespace, Service, ServiceMonitor] as {
  apiVersion: string;
  kind: string;
  prototype: { validate(): void };
}[];

/** Reads the manifests in a text. */
export const readManifests = (text: string): Manifest[] => parseAllDocuments(text).map((document) => document.toJS() as Manifest);

/** The program that renders overlays: null where neither `kubectl` nor `kustomize` is on the PATH. */
export function findKustomize(): string[] | null {
  for (const command of [
    ['kubectl', 'kustomize'],
    ['kustomize', 'build'],
  ])
    try {
      execFileSync(command[0] ?? '', [...command.slice(1), '--help'], { stdio: 'ignore' });
      return command;
    } catch {
      // The next one.
    }
  return null;
}

/** Renders an overlay. */
export const render = ([command = '', ...args]: readonly string[], folder: string): Manifest[] =>
  readManifests(execFileSync(command, [...args, folder], { encoding: 'utf8' }));

/** `value` with a record of the fields that are read of it: `unread` gets the path of each field below `path`, and loses it when it is read. */
function trackReads<T>(value: T, path: string, unread: Set<string>): T {
  if (typeof value !== 'object' || value === null) return value;
  const copy = (Array.isArray(value) ? [] : {}) as Record<string, unknown>;
  for (const [key, item] of Object.entries(value)) {
    unread.add(`${path}.${key}`);
    copy[key] = trackReads(item, `${path}.${key}`, unread);
  }
  return new Proxy(copy, {
    get(target, key, receiver): unknown {
      unread.delete(`${path}.${String(key)}`);
      return Reflect.get(target, key, receiver);
    },
  }) as T;
}

/** Errors of a manifest by the published schema of its kind. A schema allows unknown fields; they are those that its validation does not read. */
export function schemaErrors(manifest: Manifest): string[] {
  const name = `${manifest.kind} ${manifest.metadata.name}`;
  const found = models.find(({ apiVersion, kind }) => apiVersion === manifest.apiVersion && kind === manifest.kind);
  if (!found) return [`${name}: no schema of ${manifest.apiVersion}`];
  const unread = new Set<string>();
  try {
    // On the prototype, because the constructor copies the manifest and so reads all of it.
    found.prototype.validate.call(trackReads(manifest, '', unread));
  } catch (error) {
    return [`${name}: ${(error as Error).message}`];
  }
  return [...unread].map((path) => `${name}: unknown field ${path}`);
}

interface Container {
  name: string;
  image: string;
  command: string[];
  ports?: { name: string; containerPort: number }[];
  env: { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string } } }[];
  envFrom: { configMapRef: { name: string } }[];
  resources: { requests?: { cpu?: string; memory?: string }; limits?: { memory?: string } };
  securityContext?: { allowPrivilegeEscalation?: boolean; readOnlyRootFilesystem?: boolean; capabilities?: { drop?: string[] } };
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  lifecycle?: { preStop?: { exec?: { command?: string[] } } };
}
interface Probe {
  httpGet?: { path: string; port: string };
}
interface PodSpec {
  securityContext?: { runAsNonRoot?: boolean; runAsUser?: number; seccompProfile?: { type: string } };
  terminationGracePeriodSeconds?: number;
  automountServiceAccountToken?: boolean;
  initContainers?: Container[];
  containers: Container[];
}
/** What the checks read of the spec of any manifest. */
export interface Spec {
  replicas?: number;
  minReadySeconds?: number;
  selector?: Record<string, unknown>;
  template?: { metadata: { labels: Record<string, string> }; spec: PodSpec };
  ports?: { name: string; targetPort: string }[];
  scaleTargetRef?: { name: string };
  metrics?: { pods: { metric: { name: string } } }[];
  endpoints?: { port: string }[];
}

/** The spec of a manifest. */
export const specOf = (manifest: Manifest | undefined): Spec => manifest?.spec ?? {};

/** Rights, limits and settings of one container that are wrong or missing. */
function containerErrors(name: string, { securityContext, resources, env, image }: Container, config: Record<string, string>): string[] {
  const names = [...env.map((one) => one.name), ...Object.keys(config)];
  const isLocked = securityContext?.allowPrivilegeEscalation === false && securityContext.readOnlyRootFilesystem === true;
  const required = Object.keys(settings).filter((key) => settings[key as keyof typeof settings].defaultText === undefined);
  return [
    ...(isLocked && securityContext.capabilities?.drop?.join() === 'ALL' ? [] : [`${name}: is not locked`]),
    ...(resources?.requests?.cpu && resources.requests.memory && resources.limits?.memory ? [] : [`${name}: resources are missing`]),
    ...names.filter((one) => !(one in settings)).map((one) => `${name}: ${one} is not a setting`),
    ...[...required, 'S3_ENDPOINT', 'S3_BUCKET', 'BASE_URL', 'GATEWAY_URL']
      .filter((one) => !names.includes(one))
      .map((one) => `${name}: ${one} is missing`),
    ...env
      .filter((one) => /KEY|PASSWORD|_URL$/.test(one.name) && one.valueFrom?.secretKeyRef?.name !== 'parlance')
      .map((one) => `${name}: ${one.name} is not from the Secret`),
    ...(/:\d+\.\d+\.\d+$/.test(image) ? [] : [`${name}: image ${image} is not pinned`]),
  ];
}

/** Errors of the Deployment of a role, in pods with the settings `config`. */
export function deploymentErrors(role: string, entry: string, manifest: Manifest | undefined, config: Record<string, string>): string[] {
  const pod = specOf(manifest).template?.spec;
  const [container] = pod?.containers ?? [];
  if (!pod || !container) return [`${role}: missing`];
  const { securityContext, terminationGracePeriodSeconds = 30, initContainers = [] } = pod;
  const [, delaySecs = 0] = container.lifecycle?.preStop?.exec?.command ?? [];
  const isRestricted = securityContext?.runAsNonRoot && securityContext.runAsUser && securityContext.seccompProfile;
  return [
    ...(container.command.join(' ') === `node dist/${entry}/main.js` ? [] : [`${role}: runs ${container.command.join(' ')}`]),
    ...(initContainers.map(({ command }) => command.at(-1)).join() === 'migrate' ? [] : [`${role}: does not migrate first`]),
    ...(isRestricted && pod.automountServiceAccountToken === false ? [] : [`${role}: pod is not restricted`]),
    ...(terminationGracePeriodSeconds >= Number(delaySecs) + shutdownMs / 1000 + 5 ? [] : [`${role}: is killed before it has stopped`]),
    ...(['startupProbe', 'livenessProbe', 'readinessProbe'] as const)
      .filter((probe) => container[probe]?.httpGet?.path !== '/healthz' || container[probe]?.httpGet?.port !== 'metrics')
      .map((probe) => `${role}: no ${probe} on the internal port`),
    ...[container, ...initContainers].flatMap((one) => containerErrors(`${role} ${one.name}`, one, config)),
  ];
}
