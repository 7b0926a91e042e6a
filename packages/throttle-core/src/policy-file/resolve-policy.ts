import type { HostKey } from '../core/identifiers.ts';
import type { Policy } from '../core/policy.ts';
import { PRESET_NAMES, type PresetName, PRESETS } from '../core/presets.ts';
import { type FieldKey, FIELD_KEYS, isSharedScope, isSwitchedOff, type PolicyValues } from './fields.ts';
import { canonicalHost } from './host-pattern.ts';
import type { Layer } from './layer.ts';
import type { HostGroup, PolicyFile } from './parse-policy-file.ts';
import {
  type HostSettings,
  policyOf,
  settingsOf,
  type SpendPolicy,
  spendOf,
  valuesOf,
} from './policy-values.ts';

/** Where a value comes from. */
export interface Origin {
  /** `preset balanced`, `file`, `group acme`, `*.shop.test`, `shop.test`. */
  readonly layer: string;
  /** 1-based; null: a preset. */
  readonly line: number | null;
}

/** Everything that applies to one host. Deeply frozen, and the same object for hosts with the same entries. */
export interface ResolvedPolicy {
  readonly policy: Policy;
  readonly settings: HostSettings;
  readonly values: PolicyValues;
  readonly origins: Readonly<Record<FieldKey, Origin>>;
}

/**
 * The policy of a host. Precedence, the strongest first: the exact host, the longest suffix, the host's group, the
 * file, the preset. What a group shares (concurrency, pace, host tokens, circuit, ramp) comes from the group alone.
 */
export function resolvePolicy(
  file: PolicyFile,
  hostname: string,
): ResolvedPolicy & { readonly hostKey: HostKey } {
  const host = canonicalHost(hostname);
  const group = file.groupIndex.best(host);
  return { ...resolvedOf(file, layersFor(file, group, host)), hostKey: (group?.name ?? host) as HostKey };
}

/** The policy of hosts that no group and no host entry is for. */
export function wholeFilePolicy(file: PolicyFile): ResolvedPolicy {
  return resolvedOf(file, [file.whole]);
}

/** What a batch may spend; the same for all hosts. */
export function spendPolicyOf(file: PolicyFile): SpendPolicy {
  return spendOf(wholeFilePolicy(file).values);
}

/**
 * The throttling scope of a URL: its ASCII hostname, lower case, one final dot stripped, or the name of the group
 * it is in. The port and http or https make no difference.
 *
 * @throws TypeError when `url` is not an absolute URL with a host.
 */
export function hostKeyOf(url: string, file: PolicyFile): HostKey {
  const host = canonicalHost(new URL(url).hostname);
  if (host === '') throw new TypeError('a URL without a host has no throttling scope');
  return (file.groupIndex.best(host)?.name ?? host) as HostKey;
}

/** The layers of a host, the weakest first. */
function layersFor(file: PolicyFile, group: HostGroup | undefined, host: string): readonly Layer[] {
  const suffix = file.hostIndex.suffix(host);
  const exact = file.hostIndex.exact(host);
  return [file.whole, group?.layer, suffix?.layer, exact?.layer].filter((layer) => layer !== undefined);
}

/** One object for each combination of entries: as many as the file has, and workers resolve every URL. */
const resolvedByFile = new WeakMap<PolicyFile, Map<string, ResolvedPolicy>>();

function resolvedOf(file: PolicyFile, layers: readonly Layer[]): ResolvedPolicy {
  const known = resolvedByFile.get(file) ?? new Map<string, ResolvedPolicy>();
  resolvedByFile.set(file, known);
  const entries = layers.map(({ level, name }) => `${level} ${name}`).join('\n');
  const resolved = known.get(entries) ?? mergeLayers(file, layers);
  known.set(entries, resolved);
  return resolved;
}

const PRESET_VALUES = forEachPreset((preset) => valuesOf(PRESETS[preset]));
const PRESET_ORIGINS = forEachPreset(presetOrigins);

function forEachPreset<T>(make: (preset: PresetName) => T): Readonly<Record<PresetName, T>> {
  return Object.fromEntries(PRESET_NAMES.map((preset) => [preset, make(preset)])) as Record<PresetName, T>;
}

/** Lays the layers over the preset, the weakest first. */
export function mergeLayers(file: PolicyFile, layers: readonly Layer[]): ResolvedPolicy {
  const values: Record<string, unknown> = { ...PRESET_VALUES[file.preset] };
  const origins = { ...PRESET_ORIGINS[file.preset] };
  const grouped = layers.some(({ level }) => level === 'group');
  for (const layer of layers) {
    for (const key of FIELD_KEYS) {
      const value = layer.values[key];
      if (value === undefined || (grouped && layer.level === 'host' && isSharedScope(key))) continue;
      values[key] = value;
      origins[key] = { layer: layer.name, line: layer.lines[key] ?? null };
    }
  }
  const merged = values as PolicyValues;
  return deepFreeze({ policy: policyOf(merged), settings: settingsOf(merged), values: merged, origins });
}

/** What a preset has switched off has no figures in it: switched on, it begins with those of balanced. */
function presetOrigins(preset: PresetName): Record<FieldKey, Origin> {
  const values = PRESET_VALUES[preset];
  const origins = FIELD_KEYS.map((key): [FieldKey, Origin] => [
    key,
    { layer: `preset ${isSwitchedOff(values, key) ? 'balanced' : preset}`, line: null },
  ]);
  return Object.fromEntries(origins) as Record<FieldKey, Origin>;
}

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === 'object' && part !== null && !Object.isFrozen(part)) deepFreeze(part);
  }
  return Object.freeze(value);
}
