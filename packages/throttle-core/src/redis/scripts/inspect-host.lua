-- inspect-host: everything known of a host, at one instant. Changes nothing.
--
-- KEYS  1 host string  2 leases zset  3 lane zset  4 called zset  5 wheel zset
-- ARGV  1 host part  2 time (ms; '': Redis TIME)
-- Reply {} when unknown, else now, waiting, called, look at|'', state as field value pairs (learner under `pace:`),
--       live leases as member score pairs

-- @include clock
-- @include packed
-- @include flatten

local now = clock(ARGV[2])
local h = packed_read(KEYS[1], {})
if not h.meta.known then return {} end
return {
  now, redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]), redis.call('ZSCORE', KEYS[5], ARGV[1]) or '',
  flatten(h.pace or {}, 'pace:', flatten(h, '', {})),
  redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. string.format('%.17g', now), '+inf', 'WITHSCORES'),
}
