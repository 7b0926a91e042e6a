/**
 * What a pair of admit and settle costs without any decision: the same commands on keys of the same kinds, with
 * values and arguments of the same size, and answers of the same length. No gate that keeps a lease, a job's ledger,
 * a batch's and a host's state in Redis can be faster than this.
 */
const HOST = 'h'.repeat(200);
const BATCH = 'b'.repeat(190);
const JOB = 'j'.repeat(150);
const DAY_MS = 86_400_000;

export const FLOOR_ADMIT = `
local now = redis.call('TIME')[1] * 1000
redis.call('GET', KEYS[1])
redis.call('GET', KEYS[2])
redis.call('GET', KEYS[3])
redis.call('ZCOUNT', KEYS[5], '-inf', '(500000000000003')
redis.call('ZCOUNT', KEYS[4], '(1796124004416', '+inf')
redis.call('SET', KEYS[3], '${HOST}', 'PX', ${DAY_MS})
redis.call('ZADD', KEYS[4], now, ARGV[1])
redis.call('PEXPIRE', KEYS[4], ${DAY_MS})
redis.call('ZREM', KEYS[6], ARGV[1])
redis.call('SET', KEYS[2], '${BATCH}')
redis.call('SET', KEYS[1], '${JOB}')
return { 'admitted', ARGV[1], 1, 0, 0, 0, '', 35000, now, 1, 1, 0, 0, now, now, 0, 0, 0, 0, '', 5 }
`;

export const FLOOR_SETTLE = `
local now = redis.call('TIME')[1] * 1000
redis.call('GET', KEYS[1])
redis.call('GET', KEYS[3])
redis.call('ZREM', KEYS[4], ARGV[1])
redis.call('ZCOUNT', KEYS[4], '(1796124004422', '+inf')
redis.call('GET', KEYS[2])
redis.call('ZREM', KEYS[9], ARGV[1])
redis.call('SET', KEYS[1], '${JOB}', 'PX', ${DAY_MS})
redis.call('SET', KEYS[2], '${BATCH}')
redis.call('SET', KEYS[3], '${HOST}', 'PX', ${DAY_MS})
redis.call('ZCARD', KEYS[5])
redis.call('SET', KEYS[10], '${'a'.repeat(40)}', 'PX', 60000)
return { 'settled', '', now, '', '', 0, 'closed', 0, '0' }
`;

/** As many keys and arguments as the gate's two scripts take, and of their length. */
export function floorCall(job: string, host: string): { readonly keys: string[]; readonly args: string[] } {
  const keys = [
    'job',
    'batch',
    'host',
    'leases',
    'lane',
    'called',
    'wheel',
    'trail',
    'deadlines',
    'reply',
  ].map((kind) => `{floor}:${kind}:${kind === 'job' || kind === 'reply' || kind === 'trail' ? job : host}`);
  return { keys, args: [job, ...Array.from({ length: 40 }, (_, n) => String(n * 1_000))] };
}
