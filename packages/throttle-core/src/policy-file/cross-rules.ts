import type { Field } from './field.ts';
import { type FieldKey, FIELD_KEYS, FIELDS, isSharedScope, type PolicyValues } from './fields.ts';
import { printHostPattern } from './host-pattern.ts';
import type { Layer } from './layer.ts';
import type { PolicyFile } from './parse-policy-file.ts';
import type { Locator, PolicyProblem } from './problem.ts';
import { mergeLayers, resolvePolicy } from './resolve-policy.ts';

interface CrossRule {
  readonly keys: readonly FieldKey[];
  /** What is to be said of `key`, the one of the keys that is reported. */
  rule(key: FieldKey, values: PolicyValues): string;
  broken(values: PolicyValues): boolean;
}

/** Values that are each in range and make no sense together. `null` is "no limit". */
const CROSS_RULES: readonly CrossRule[] = [
  atMost('retry_after.no_hint_pause.base', 'retry_after.no_hint_pause.cap'),
  atMost('retry_after.in_place_max', 'retry_after.defer_over'),
  atMost('retry_after.defer_over', 'retry_after.host_pause_max'),
  atMost('backoff.base', 'backoff.cap'),
  atMost('host_tokens.start', 'host_tokens.cap'),
  atMost('pace.learn.floor', 'pace.learn.start'),
  atMost('pace.learn.start', 'pace.learn.ceiling'),
  atMost('pace.learn.recovery.least', 'pace.learn.recovery.most'),
  atMost('circuit.open', 'circuit.open_max'),
  atMost('body.wire_max', 'body.decoded_max'),
  {
    keys: ['deadline', 'attempt_budget', 'headroom'],
    rule: () => 'leaves no time for an attempt: attempt_budget + headroom must be less than deadline',
    broken: ({ deadline, attempt_budget, headroom }) =>
      typeof deadline === 'number' && attempt_budget + headroom >= deadline,
  },
  {
    keys: ['robots.obey', 'robots.reason', 'robots.expires'],
    rule: () =>
      'needs robots.reason and robots.expires: an exception from robots.txt is granted by someone, until a date',
    broken: (values) =>
      !values['robots.obey'] && (values['robots.reason'] === null || values['robots.expires'] === null),
  },
  {
    keys: ['spend.max_cost', 'spend.price_per_gb', 'spend.price_per_1000_requests'],
    rule: () => 'can never be reached: set spend.price_per_gb or spend.price_per_1000_requests',
    broken: (values) =>
      values['spend.max_cost'] !== null &&
      values['spend.price_per_gb'] === 0 &&
      values['spend.price_per_1000_requests'] === 0,
  },
];

function atMost(smaller: FieldKey, larger: FieldKey): CrossRule {
  return {
    keys: [smaller, larger],
    rule: (key, values) =>
      key === smaller
        ? `must be at most ${larger}, which is ${printed(larger, values)}`
        : `must be at least ${smaller}, which is ${printed(smaller, values)}`,
    broken(values) {
      const [low, high] = [values[smaller], values[larger]];
      return typeof low === 'number' && typeof high === 'number' && low > high;
    },
  };
}

function printed(key: FieldKey, values: PolicyValues): string {
  const field: Field<unknown> = FIELDS[key];
  return field.print(values[key]);
}

/** What is wrong between values and between entries. Each is reported once, where the strongest entry wrote it. */
export function crossProblems(file: PolicyFile, locator: Locator): PolicyProblem[] {
  const found = new Map<string, PolicyProblem>();
  const add = (problem: PolicyProblem): void => {
    found.set(JSON.stringify(problem), problem);
  };
  for (const { layer, valuesThere } of entriesOf(file)) {
    const touched = CROSS_RULES.flatMap((rule) => {
      const key = rule.keys.find((key) => layer.values[key] !== undefined);
      return key === undefined ? [] : [{ rule, key }];
    });
    if (touched.length === 0) continue;
    const values = valuesThere();
    for (const { rule, key } of touched) {
      if (rule.broken(values))
        add(locator.problem([...layer.path, ...key.split('.')], rule.rule(key, values)));
    }
  }
  for (const problem of [...paceTwice(file, locator), ...overlaps(file, locator)]) add(problem);
  return [...found.values()];
}

/** Each entry with the values in force there: its own, and those of the entries under it. */
function entriesOf(file: PolicyFile): { readonly layer: Layer; readonly valuesThere: () => PolicyValues }[] {
  return [
    { layer: file.whole, valuesThere: () => mergeLayers(file, [file.whole]).values },
    ...file.groups.map(({ layer }) => ({
      layer,
      valuesThere: () => mergeLayers(file, [file.whole, layer]).values,
    })),
    ...file.hosts.map(({ pattern, layer }) => ({
      layer,
      valuesThere: () => resolvePolicy(file, printHostPattern(pattern)).values,
    })),
  ];
}

function paceTwice(file: PolicyFile, locator: Locator): PolicyProblem[] {
  const layers = [
    file.whole,
    ...file.groups.map(({ layer }) => layer),
    ...file.hosts.map(({ layer }) => layer),
  ];
  return layers
    .filter((layer) => layer.paceTwice)
    .map((layer) =>
      locator.keyProblem(
        [...layer.path, 'pace', 'rate'],
        'is written as pace.interval too: keep one of the two',
      ),
    );
}

/** Entries that claim the same hosts. */
function overlaps(file: PolicyFile, locator: Locator): PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  const groups = new Map<string, string>();
  for (const { name, members } of file.groups) {
    for (const [index, member] of members.entries()) {
      const printed = printHostPattern(member);
      const other = groups.get(printed);
      groups.set(printed, name);
      if (other === undefined) continue;
      const rule = other === name ? 'is named twice' : `is in the group ${other} already`;
      problems.push(locator.problem(['groups', name, 'hosts', index], rule));
    }
  }
  const entries = new Set<string>();
  for (const { pattern, layer } of file.hosts) {
    const printed = printHostPattern(pattern);
    if (entries.has(printed))
      problems.push(locator.keyProblem(layer.path, `is another spelling of ${printed}`));
    entries.add(printed);
    problems.push(...sharedInGroup(file, pattern.kind === 'exact' ? pattern.host : null, layer, locator));
  }
  return problems;
}

/** A grouped host cannot have limits of its own: the group's would be multiplied. */
function sharedInGroup(
  file: PolicyFile,
  host: string | null,
  layer: Layer,
  locator: Locator,
): PolicyProblem[] {
  const group = host === null ? undefined : file.groupIndex.best(host);
  if (group === undefined) return [];
  return FIELD_KEYS.filter((key) => isSharedScope(key) && layer.values[key] !== undefined).map((key) =>
    locator.problem([...layer.path, ...key.split('.')], `is shared by the group ${group.name}: set it there`),
  );
}
