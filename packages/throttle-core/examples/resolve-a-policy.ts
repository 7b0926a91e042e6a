import { hostRulesOf } from '@holdoff/throttle-core';
import { hostKeyOf, parsePolicyFile, printProblem, resolvePolicy } from '@holdoff/throttle-core/policy-file';

const text = `
preset: balanced
groups:
  shop: { hosts: [shop.example, '*.shop.example'], concurrency: 2, pace: { rate: 30/m } }
hosts:
  api.shop.example: { attempts: { max_total: 3 } }
`;

const parsed = parsePolicyFile(text, 'policy.yaml');
if (parsed.kind === 'invalid') throw new Error(parsed.problems.map(printProblem).join('\n'));

const { hostKey, policy, origins } = resolvePolicy(parsed.file, 'api.shop.example');
console.log(hostKey, hostKeyOf('https://SHOP.example.:8443/', parsed.file));
// shop shop
console.log(policy.attempts.totalMax, origins['attempts.max_total']);
// 3 { layer: 'api.shop.example', line: 6 }
console.log(hostRulesOf(policy).paceIntervalMs, origins['pace.interval'].layer);
// 2000 group shop
