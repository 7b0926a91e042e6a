-- inspect-host: everything known of a host, at one instant. Changes nothing.
--
-- KEYS  1 host hash  2 leases zset  3 lane zset  4 called zset  5 wheel zset
-- ARGV  1 host part  2 time (ms; '': Redis TIME)
-- Reply {} when unknown, else now, interval (text), waiting, called, look at|'', host hash as field value pairs,
--       live leases as member score pairs

-- @include clock
-- @include pace
-- @include host-state

local now = clock(ARGV[2])
local h = host_read(KEYS[1])
if not h.known then return {} end
return {
  now, string.format('%.17g', h.interval), redis.call('ZCARD', KEYS[3]), redis.call('ZCARD', KEYS[4]),
  redis.call('ZSCORE', KEYS[5], ARGV[1]) or '', redis.call('HGETALL', KEYS[1]),
  redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. string.format('%.17g', now), '+inf', 'WITHSCORES'),
}
